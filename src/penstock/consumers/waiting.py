"""The pull requests that wait for messages, in the order they are served.

Whoever is served and wants more goes to the end, so that several clients share what there is; with
priorities, to the end of those of the same priority. The queue knows deadlines but no clock, and
interest only through whoever asks it to look.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from enum import Enum, auto

from penstock.consumers.pull_request import Preference, PullRequest

NO_PRIORITY = 2**31  # after every priority, as the reference


class Waiter:
    """One request that waits."""

    __slots__ = (
        "bytes_left",
        "delivered",
        "expires_at_ns",
        "heartbeat_at_ns",
        "heartbeat_ns",
        "inbox",
        "left",
        "no_wait",
        "pin",
        "preference",
    )

    def __init__(self, inbox: bytes, request: PullRequest, now_ns: int) -> None:
        self.inbox = inbox
        self.left = request.batch  # may be 0 or less: one message is delivered all the same
        self.delivered = 0
        self.bytes_left = request.max_bytes
        self.no_wait = request.no_wait
        self.expires_at_ns = now_ns + request.expires_ns if request.expires_ns else None
        self.heartbeat_ns = request.heartbeat_ns
        self.heartbeat_at_ns = now_ns + request.heartbeat_ns if request.heartbeat_ns else None
        self.preference: Preference | None = request.preference
        self.pin = request.preference.id if request.preference else ""

    @property
    def priority(self) -> int:
        return NO_PRIORITY if self.preference is None else self.preference.priority

    @property
    def is_done(self) -> bool:
        return self.left <= 0 and self.delivered > 0

    def is_expired(self, now_ns: int) -> bool:
        return self.expires_at_ns is not None and now_ns >= self.expires_at_ns

    def beat(self, now_ns: int) -> bool:
        """Whether a heartbeat is due; then the next one is set."""
        if self.heartbeat_at_ns is None or now_ns < self.heartbeat_at_ns:
            return False
        self.heartbeat_at_ns = now_ns + self.heartbeat_ns
        return True

    def deadline_ns(self) -> int | None:
        moments = [m for m in (self.expires_at_ns, self.heartbeat_at_ns) if m is not None]
        return min(moments, default=None)


class Fate(Enum):
    """What becomes of a waiter that is looked at."""

    STAYS = auto()
    EXPIRED = auto()
    EMPTY = auto()  # it does not wait, and there is nothing
    UNHEARD = auto()


class Waiting:
    """The queue of one consumer."""

    def __init__(self) -> None:
        self._queue: deque[Waiter] = deque()
        self.due_ns: int | None = None  # no later than the next expiry or heartbeat
        self.impatient = 0  # how many of them do not wait for more than there is

    def __len__(self) -> int:
        return len(self._queue)

    def __iter__(self) -> Iterator[Waiter]:
        return iter(self._queue)

    @property
    def head(self) -> Waiter | None:
        return self._queue[0] if self._queue else None

    def first(self, count: int) -> list[Waiter]:
        return [*itertools.islice(self._queue, count)]

    def add(self, waiter: Waiter, *, by_priority: bool = False) -> None:
        """At the end, or behind everybody of the same or a more urgent priority."""
        position = len(self._queue)
        while by_priority and position and self._queue[position - 1].priority > waiter.priority:
            position -= 1
        self._queue.insert(position, waiter)
        self._added(waiter)

    def _added(self, waiter: Waiter) -> None:
        self.impatient += waiter.no_wait
        deadline_ns = waiter.deadline_ns()
        if deadline_ns is not None and (self.due_ns is None or deadline_ns < self.due_ns):
            self.due_ns = deadline_ns

    def drop(self, waiter: Waiter) -> None:
        self._queue.remove(waiter)
        self.impatient -= waiter.no_wait

    def cycle(self) -> None:
        """The head goes to the end."""
        self._queue.rotate(-1)

    def requeue(self, *, by_priority: bool) -> None:
        """The head was served: it leaves if it has all, else it goes behind its equals."""
        waiter = self._queue.popleft()
        self.impatient -= waiter.no_wait
        if not waiter.is_done:
            self.add(waiter, by_priority=by_priority)

    def rotate(self, served: list[Waiter], index: int) -> None:
        """The first of the queue were served in turn, up to the one whose turn is next."""
        if len(served) == 1 and not served[0].is_done:  # mostly there is one alone
            self._queue.rotate(-index)
            return
        for _ in served:
            self._queue.popleft()
        staying = [waiter for waiter in served[index:] if not waiter.is_done]
        behind = [waiter for waiter in served[:index] if not waiter.is_done]
        self.impatient -= sum(waiter.no_wait for waiter in served if waiter.is_done)
        self._queue.extendleft(reversed(staying))
        self._queue.extend(behind)

    def run_length(self, *, by_priority: bool) -> int:
        """How many messages the head gets before anybody else has a turn."""
        waiter = self._queue[0]
        is_first = (
            by_priority and len(self._queue) > 1 and self._queue[1].priority > waiter.priority
        )
        return max(1, waiter.left) if is_first or len(self._queue) == 1 else 1

    def wanted(self) -> int:
        """How many messages all of them together still want."""
        return sum(waiter.left for waiter in self._queue)

    def look(self, fate: Callable[[Waiter], Fate]) -> list[tuple[Waiter, Fate]]:
        """Removes those that do not stay; returns them, in their order."""
        gone: list[tuple[Waiter, Fate]] = []
        staying: deque[Waiter] = deque()
        for waiter in self._queue:
            if (decided := fate(waiter)) is Fate.STAYS:
                staying.append(waiter)
            else:
                gone.append((waiter, decided))
        self._queue = staying
        self.impatient = sum(waiter.no_wait for waiter in staying)
        return gone

    def is_due(self, now_ns: int) -> bool:
        """Whether one of them expires or wants a heartbeat; sets when to ask again."""
        if self.due_ns is None or now_ns < self.due_ns:
            return False
        deadlines = [waiter.deadline_ns() for waiter in self._queue]
        self.due_ns = min((moment for moment in deadlines if moment is not None), default=None)
        return self.due_ns is not None and now_ns >= self.due_ns


def fate_of(waiter: Waiter, now_ns: int, at_end: bool, is_heard: Callable[[bytes], bool]) -> Fate:
    """What the reference does with a request whenever it looks at all of them.

    One that does not wait ends where the messages do; with an expiry only if it got some.
    """
    if waiter.is_expired(now_ns):
        return Fate.EXPIRED
    if at_end and waiter.no_wait and (waiter.expires_at_ns is None or waiter.delivered > 0):
        return Fate.EMPTY
    return Fate.STAYS if is_heard(waiter.inbox) else Fate.UNHEARD
