"""Output commit: nothing that depends on a change leaves the server before the change is durable.

This is the one gate. Whoever says something about a journaled stream does it inside `gated`; the
kernel holds it until the log's thread has synced the last entry written so far. A failed sync is
final: what waits is dropped, and `failed` is told once; until another log stands in, whatever is
said inside the gate is dropped as well.
"""

import contextlib
from collections.abc import Callable, Iterator

from penstock.kernel.hub import Hub
from penstock.kernel.storage import Log
from penstock.server.turns import Turns

UNDURABLE_BYTES_MAX = 64 << 20  # written ahead of the disk, by all streams together
HELD_BYTES_MAX = 64 << 20  # said and not sent yet, to all connections together


class Commit:
    """The gate between the commit log and the clients."""

    def __init__(self, log: Log, hub: Hub, turns: Turns, failed: Callable[[str], None]) -> None:
        self.log = log
        self._hub = hub
        self._turns = turns
        self._failed = failed
        self.failure = ""
        self.on_durable: Callable[[int], None] = lambda _durable: None

    @property
    def crowded(self) -> bool:
        """True if the disk is so far behind that nothing more should be taken."""
        return (
            self.log.pending_bytes() > UNDURABLE_BYTES_MAX
            or self._hub.held_bytes() > HELD_BYTES_MAX
        )

    @contextlib.contextmanager
    def gated(self, entry: int | None = None) -> Iterator[None]:
        """What is sent inside waits for everything written to the log so far.

        With `entry` it depends on no later one, and leaves at once if that is durable.
        """
        last = self.log.last()
        is_durable = (last if entry is None else entry) <= self.log.durable() and not self.failure
        if is_durable and not self._hub.held_bytes():  # else it would overtake what waits
            yield
            return
        self._hub.set_gate(max(1, last))
        try:
            yield
        finally:
            self._hub.set_gate(0)
            if self.failure:
                self._hub.drop_held()

    def end_turn(self) -> None:
        """Hands the turn's entries to the log's thread, as one group."""
        self.log.commit()

    def announced(self) -> None:
        """The log's descriptor is readable: more is durable, or nothing will be any more."""
        durable = self.log.acknowledge()
        if (failure := self.log.failure()) is not None:
            if not self.failure:
                self.failure = failure
                self._hub.drop_held()
                self._failed(failure)
            return
        self._hub.release_held(durable)
        self.on_durable(durable)
        self._turns.flush()

    def go_on(self, log: Log) -> None:
        """Another log stands in for the one that failed."""
        self.log = log
        self.failure = ""
