"""The turn of the event loop: everything that arrived on all connections, as one vector.

The kernel's poller is one descriptor to the loop. When it is readable, `run` lets the kernel read
and decode, walks the vector group by group (bulk groups go through without a look, the rest frame
by frame), and flushes every output once. A frame that fails through a bug of ours costs its own
connection only.

What the server itself published to subjects that its own targets listen to (a copy that another
stream stores, an advisory) goes through in rounds: what a round publishes is for the next one. They
come before anything is read, so that nobody's answer to such a message overtakes it, and again
before anything is sent. The kernel bounds what a turn takes; the rest makes another turn due.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Protocol

from penstock.kernel.hub import Frame, Hub
from penstock.routing.targets import Targets
from penstock.server.clock import monotonic_ns

LINGERING_NS_MAX = 1_000_000  # what else the loop has to do waits no longer


class FrameHandler(Protocol):
    """What the turn needs of the clients."""

    def frame(self, index: int, frame: Frame) -> None: ...
    def unanswered(self, frame: Frame) -> None: ...
    def failed(self, frame: Frame) -> None: ...
    def ended(self, connection_id: int, ending: int) -> None: ...


class Turns:
    """Runs a turn whenever there is something to read."""

    def __init__(self, loop: asyncio.AbstractEventLoop, hub: Hub, targets: Targets) -> None:
        self._loop = loop
        self._hub = hub
        self._targets = targets
        self._clients: FrameHandler | None = None
        self._next: asyncio.Handle | None = None
        # What must happen once in every turn before anything is sent, such as a commit.
        self.before_flush: list[Callable[[], None]] = []
        # True while the server's own messages must wait, such as for a disk that is behind;
        # whoever ends that flushes.
        self.resting: Callable[[], bool] = lambda: False

    def start(self, clients: FrameHandler) -> None:
        self._clients = clients
        self._loop.add_reader(self._hub.fileno(), self.run)

    def stop(self) -> None:
        self._loop.remove_reader(self._hub.fileno())
        if self._next is not None:
            self._next.cancel()

    def soon(self) -> None:
        """A turn at the next opportunity, though no socket may be readable."""
        self._schedule(0)

    def run(self) -> None:
        until_ns = monotonic_ns() + LINGERING_NS_MAX
        while self._turn():
            if monotonic_ns() > until_ns:
                self._schedule(0)
                return

    def _turn(self) -> bool:
        """True if the next turn has something to read already."""
        hub = self._hub
        if self._next is not None:
            self._next.cancel()
            self._next = None
        try:
            self._walk()
        finally:  # whatever happened, what is left must not wait for another event
            self.flush()
            again_ns = 0 if self._loops_back() else hub.next_turn()
            if again_ns >= 0:
                self._schedule(again_ns)
        return self._next is None and hub.linger()

    def _walk(self) -> None:
        hub, clients = self._hub, self._clients
        assert clients is not None
        self._targets.begin_turn()
        self._loop_back()
        hub.turn(monotonic_ns())
        position = 0
        while (group := hub.next_group(position)) is not None:
            bulk, start, position, runs = group
            if bulk:
                self._bulk(start, position, runs)
            else:
                for index in range(start, position):
                    self._look(index, partial(clients.frame, index))
        self._loop_back()

    def _loop_back(self) -> None:
        """What the server said to its own targets, as far as this turn goes."""
        while self._loops_back() and (runs := self._hub.loopback_runs()):
            self._take(runs)

    def _loops_back(self) -> bool:
        return self._hub.loops_back() and not self.resting()

    def flush(self) -> None:
        """Sends what waits, and tells the clients which connections the kernel gave up."""
        assert self._clients is not None
        for action in self.before_flush:
            action()
        for connection_id, ending in self._hub.flush():
            self._clients.ended(connection_id, ending)
        if self._loops_back():  # this may be no turn, but a timer or the disk
            self.soon()

    def publish(self, index: int) -> None:
        """The careful lane's way out: one publish that Python has looked at."""
        self._bulk(index, index + 1, self._hub.runs(index, index + 1))

    def _bulk(self, start: int, end: int, runs: list[tuple[int, int, int]]) -> None:
        assert self._clients is not None
        hub = self._hub
        while (index := hub.fan_out(start, end)) >= 0:
            self._look(index, self._clients.unanswered)
            start = index + 1
        self._take(runs)

    def _take(self, runs: list[tuple[int, int, int]]) -> None:
        for target, start, end in runs:
            self._targets.take(target, start, end)

    def _look(self, index: int, action: Callable[[Frame], None]) -> None:
        columns = self._hub.frame(index)
        if columns is None:
            return  # its connection was closed or held earlier in this turn
        frame = Frame(*columns)
        try:
            action(frame)
        except Exception:  # a bug of ours must not reach other connections
            assert self._clients is not None
            self._clients.failed(frame)

    def _schedule(self, after_ns: int) -> None:
        if self._next is not None:
            self._next.cancel()
        if after_ns == 0:
            self._next = self._loop.call_soon(self.run)
        else:
            self._next = self._loop.call_later(after_ns / 1e9, self.run)
