"""Who reads a stream, as far as the stream has to know: its consumers.

They are told of every stored message, and with interest retention they decide whether a message is
kept at all.
"""

from typing import NamedTuple, Protocol

from penstock.kernel.hub import Hub
from penstock.kernel.storage import Copies


class ConsumerBounds(NamedTuple):
    """What a consumer of the stream uses of its `consumer_limits`."""

    name: str
    inactive_threshold_ns: int
    max_ack_pending: int


class Audience(Protocol):
    """Whoever reads a stream."""

    @property
    def count(self) -> int:
        """How many consumers there are."""

    @property
    def wants_everything(self) -> bool:
        """Whether somebody reads every subject."""

    def wants(self, subject: bytes) -> bool:
        """Whether somebody reads this one."""

    def wanted(self, hub: Hub, start: int, end: int) -> int:
        """How many of the picked frames `start..end`, from the first on, somebody reads."""

    def stored_run(self, hub: Hub, start: int, end: int, first: int) -> None:
        """The picked frames `start..end` of the turn were stored from `first` on."""

    def stored(self, subject: bytes, sequence: int) -> None:
        """One message was stored."""

    def stored_copies(self, copies: Copies) -> None:
        """Messages of another stream, or a whole batch, were stored."""

    def purging(self) -> None:
        """Messages are about to be purged: what left before is no part of that."""

    def purged(self, pattern: str) -> None:
        """Messages were purged: all, or those that match."""

    def bounds(self) -> tuple[ConsumerBounds, ...]:
        """What consumers use of the stream's limits for them."""


class Nobody:
    """A stream without consumers."""

    count = 0
    wants_everything = False

    def wants(self, _subject: bytes) -> bool:
        return False

    def wanted(self, _hub: Hub, _start: int, _end: int) -> int:
        return 0

    def stored_run(self, _hub: Hub, _start: int, _end: int, _first: int) -> None:
        pass

    def stored(self, _subject: bytes, _sequence: int) -> None:
        pass

    def stored_copies(self, _copies: Copies) -> None:
        pass

    def purging(self) -> None:
        pass

    def purged(self, _pattern: str) -> None:
        pass

    def bounds(self) -> tuple[ConsumerBounds, ...]:
        return ()
