"""The consumers of all streams, as the API asks for them."""

import secrets
from collections.abc import Mapping
from typing import Protocol

from penstock.server.jetstream.consumers.stream_consumers import StreamConsumers
from penstock.server.jetstream.consumers.turn_end import TurnEnd


class Kept(Protocol):
    """A stream, as far as it concerns this."""

    @property
    def consumers(self) -> StreamConsumers: ...


class ConsumerKeeper:
    """Finds them, up to date with everything that happened."""

    def __init__(self, turn_end: TurnEnd, kept: Mapping[str, Kept], *, strict: bool) -> None:
        self._turn_end = turn_end
        self._kept = kept
        self.strict = strict

    def now_ns(self) -> int:
        return self._turn_end.now_ns()

    def random_number(self) -> int:
        return secrets.randbits(64)

    def find_consumers(self, stream: str) -> StreamConsumers | None:
        self._turn_end.catch_up()
        kept = self._kept.get(stream)
        return None if kept is None else kept.consumers
