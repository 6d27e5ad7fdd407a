"""One timer wheel for the whole server.

Deadlines are rounded up to ticks; a tick's entries fire together. Adding and cancelling are
dictionary operations, and the event loop holds one timer however many deadlines there are. The
wheel itself reads no clock: the server tells it the time.
"""

import heapq
from collections.abc import Callable, Hashable

TICK_NS = 1_000_000


class TimerWheel:
    """Deadlines by key; setting a key again moves it."""

    def __init__(self) -> None:
        self._ticks: dict[int, dict[Hashable, Callable[[], None]]] = {}
        self._order: list[int] = []
        self._tick_of: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self._tick_of)

    def set(self, key: Hashable, deadline_ns: int, callback: Callable[[], None]) -> None:
        self.cancel(key)
        tick = -(-deadline_ns // TICK_NS)
        if tick not in self._ticks:
            self._ticks[tick] = {}
            heapq.heappush(self._order, tick)
        self._ticks[tick][key] = callback
        self._tick_of[key] = tick

    def cancel(self, key: Hashable) -> None:
        tick = self._tick_of.pop(key, None)
        if tick is not None:
            self._ticks[tick].pop(key, None)

    def next_ns(self) -> int | None:
        """When something fires next; ticks whose entries were all cancelled are dropped."""
        while self._order and not self._ticks[self._order[0]]:
            del self._ticks[heapq.heappop(self._order)]
        return self._order[0] * TICK_NS if self._order else None

    def advance(self, now_ns: int) -> None:
        """Fires everything that is due. A callback may set and cancel timers."""
        while (due_ns := self.next_ns()) is not None and due_ns <= now_ns:
            entries = self._ticks[self._order[0]]
            while entries:
                key, callback = next(iter(entries.items()))
                self.cancel(key)
                callback()
