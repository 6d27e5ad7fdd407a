"""Consumers that nobody uses go away: ephemerals always, durables if their configuration says so.

A push consumer is in use while somebody listens. A pull consumer is in use while requests wait, for
a while after the last request, delivery or acknowledgement, and as long as acknowledgements may
still be on their way.
"""

from collections.abc import Callable

from penstock.consumers.core import Core

JITTER_NS_MIN = 100_000_000  # so that consumers of a pool do not all go at once, as the reference
JITTER_STEP_NS = 9_000_000  # a hundred of them


class Activity:
    """When one consumer goes."""

    def __init__(self, core: Core) -> None:
        self._core = core
        jitter_ns = JITTER_NS_MIN + core.outlet.chance() * JITTER_STEP_NS
        self._jitter_ns = 0 if core.config.is_push else jitter_ns
        self.due_ns: int | None = None

    @property
    def threshold_ns(self) -> int | None:
        """None if the consumer stays."""
        threshold_ns = self._core.config.inactive_threshold
        return threshold_ns + self._jitter_ns if threshold_ns > 0 else None

    def begin(self, now_ns: int) -> None:
        """From now on it counts: there is no client, or none is known yet."""
        self._core.active_ns = now_ns
        threshold_ns = self.threshold_ns
        self.due_ns = None if threshold_ns is None else now_ns + threshold_ns

    def stop(self) -> None:
        """Somebody listens."""
        self.due_ns = None

    def is_over(self, now_ns: int, is_used: Callable[[], bool]) -> bool:
        """Whether the time has come; if not, the next look is set."""
        threshold_ns = self.threshold_ns
        if self.due_ns is None or threshold_ns is None or now_ns < self.due_ns:
            return False
        if self._core.config.is_push:
            return True
        used_ns = now_ns if is_used() else self._core.active_ns + self._acks_wait_ns()
        self.due_ns = used_ns + threshold_ns
        return now_ns >= self.due_ns

    def _acks_wait_ns(self) -> int:
        """For how long after its delivery a message may still be worked on."""
        config = self._core.config
        if not self._core.figures.ack_pending:
            return 0
        return max(config.backoff, default=config.ack_wait)
