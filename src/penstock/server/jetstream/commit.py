"""Output commit: nothing that depends on a change leaves the server before the change is durable.

This is the one gate. Whoever says something about a journaled stream does it inside `gated`; the
kernel holds it until the log's thread has synced the last entry written so far. A failed sync is
final: what waits is dropped, and `failed` is told once.
"""

import contextlib
from collections.abc import Callable, Iterator

from penstock.kernel.hub import Hub
from penstock.kernel.storage import Log
from penstock.server.turns import Turns


class Commit:
    """The gate between the commit log and the clients."""

    def __init__(self, log: Log, hub: Hub, turns: Turns, failed: Callable[[str], None]) -> None:
        self.log = log
        self._hub = hub
        self._turns = turns
        self._failed = failed
        self._failure = ""

    @contextlib.contextmanager
    def gated(self) -> Iterator[None]:
        """What is sent inside waits for everything written to the log so far."""
        last = self.log.last()
        if last <= self.log.durable():
            yield
            return
        self._hub.set_gate(last)
        try:
            yield
        finally:
            self._hub.set_gate(0)

    def end_turn(self) -> None:
        """Hands the turn's entries to the log's thread, as one group."""
        self.log.commit()

    def announced(self) -> None:
        """The log's descriptor is readable: more is durable, or nothing will be any more."""
        durable = self.log.acknowledge()
        if (failure := self.log.failure()) is not None:
            if not self._failure:
                self._failure = failure
                self._hub.drop_held()
                self._failed(failure)
            return
        self._hub.release_held(durable)
        self._turns.flush()
