"""Pauses: until a moment, nothing is delivered; everything else goes on."""

from penstock.consumers.core import Core
from penstock.consumers.versioning import NEVER, is_moment_set
from penstock.model.consumer_config import ConsumerConfig
from penstock.model.timestamps import unix_ns


def pause_ends_ns(config: ConsumerConfig) -> int | None:
    until = config.pause_until
    return unix_ns(until) if until is not None and is_moment_set(until) else None


class Pause:
    """The pause of one consumer, if there is one."""

    def __init__(self, core: Core, now_ns: int) -> None:
        self._core = core
        self.ends_ns: int | None = None
        self._take_over(now_ns)

    def is_on(self, now_ns: int) -> bool:
        return self.ends_ns is not None and now_ns < self.ends_ns

    def configured(self, now_ns: int) -> None:
        """It was changed."""
        self._take_over(now_ns)
        self.advise(now_ns)

    def check(self, now_ns: int) -> bool:
        """Returns true if it is over just now."""
        if self.ends_ns is None or now_ns < self.ends_ns:
            return False
        self.ends_ns = None
        self.advise(now_ns)
        return True

    def advise(self, now_ns: int) -> None:
        until = self._core.config.pause_until or NEVER
        paused = self.is_on(now_ns)
        self._core.advise("PAUSE", "consumer_pause", paused=paused, pause_until=until)

    def _take_over(self, now_ns: int) -> None:
        ends_ns = pause_ends_ns(self._core.config)
        self.ends_ns = ends_ns if ends_ns is not None and ends_ns > now_ns else None
