"""Which of the waiting clients is served: all in turn, or by one of three policies.

Overflow: a request may ask for messages only while there are enough of them, or enough unsettled.
Pinned client: one of the clients gets everything, as long as it keeps asking; the server makes up
the pin, sends it along with every message, and takes it back after a while or when told to.
Prioritized: requests are kept in the order of their priorities.
"""

import enum

from penstock.consumers.core import Core
from penstock.consumers.pull_request import PullRequest
from penstock.consumers.waiting import Waiter, Waiting
from penstock.model.consumer_config import PriorityPolicy

PIN_LENGTH = 22  # as the reference's


class Turn(enum.Enum):
    """What the rules say about the request at the head of the queue."""

    SERVE = enum.auto()
    LATER = enum.auto()
    NEVER = enum.auto()  # it claims a pin that is another's
    NOBODY = enum.auto()  # there is no message to decide about


class Priority:
    """The priority policy of one consumer; the first group is the one in use, as the reference."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.pin = ""
        self.pinned_ns: int | None = None
        self.unpin_at_ns: int | None = None
        self._just_pinned = False

    @property
    def policy(self) -> PriorityPolicy:
        return self._core.config.priority_policy

    @property
    def orders(self) -> bool:
        """Whether requests wait in the order of their priorities."""
        return self.policy is PriorityPolicy.PRIORITIZED

    @property
    def header(self) -> bytes:
        """What every message says about the pin."""
        if self.policy is not PriorityPolicy.PINNED_CLIENT:
            return b""
        return f"Nats-Pin-Id: {self.pin}\r\n".encode()

    def touch(self, request: PullRequest, now_ns: int) -> None:
        """Whoever has the pin keeps it by asking."""
        preference = request.preference
        if self.pin and preference is not None and preference.id == self.pin:
            self.unpin_at_ns = now_ns + self._core.config.priority_timeout

    def run_length(self, waiting: Waiting) -> int:
        """How many messages the head may get before the rules are asked again."""
        head = waiting.head
        assert head is not None
        if self.policy is PriorityPolicy.OVERFLOW and _has_minimum(head):
            return 1
        return waiting.run_length(by_priority=self.orders)

    def turn(self, waiter: Waiter, now_ns: int) -> Turn:
        """Only asked where there is a policy, so that it costs nobody else anything."""
        self._just_pinned = False
        if not self._core.figures.queued and self._core.outlet.next_message() is None:
            return Turn.NOBODY
        match self.policy:
            case PriorityPolicy.PINNED_CLIENT:
                return self._pinned_turn(waiter, now_ns)
            case PriorityPolicy.OVERFLOW:
                return Turn.SERVE if self._overflows(waiter) else Turn.LATER
            case _:
                return Turn.SERVE

    def _pinned_turn(self, waiter: Waiter, now_ns: int) -> Turn:
        if not self.pin:
            if waiter.pin:
                return Turn.NEVER
            self._pin(waiter, now_ns)
            return Turn.SERVE
        if waiter.pin == self.pin:
            return Turn.SERVE
        return Turn.NEVER if waiter.pin else Turn.LATER

    def _pin(self, waiter: Waiter, now_ns: int) -> None:
        if waiter.preference is None or not waiter.preference.group:
            return
        self.pin = waiter.pin = self._core.outlet.unique(PIN_LENGTH)
        self.pinned_ns = now_ns
        self.unpin_at_ns = now_ns + self._core.config.priority_timeout
        self._just_pinned = True
        group = waiter.preference.group
        self._advise("PINNED", "consumer_group_pinned", group=group, pinned_id=self.pin)

    def _overflows(self, waiter: Waiter) -> bool:
        preference, figures = waiter.preference, self._core.figures
        if preference is None or not _has_minimum(waiter):
            return True
        # As the reference: the message that is about to be delivered counts, also a second time.
        pending = self._core.outlet.pending() + bool(figures.queued)
        is_enough = 0 < preference.min_pending <= pending
        return is_enough or 0 < preference.min_ack_pending <= figures.ack_pending

    def refused(self) -> None:
        """The request that was to be served could not be: a pin it was just given is void."""
        if self._just_pinned:
            self._clear()

    def unpin(self, group: str, reason: str) -> None:
        self._clear()
        self._advise("UNPINNED", "consumer_group_unpinned", group=group, reason=reason)

    def _advise(self, kind: str, event: str, **fields: str) -> None:
        self._core.advise(kind, event, account=self._core.outlet.account, **fields)

    def check(self, now_ns: int) -> bool:
        """Takes the pin back from a client that has not asked for long; returns true if so."""
        if self.unpin_at_ns is None or now_ns < self.unpin_at_ns:
            return False
        self.unpin(self._core.config.priority_groups[0], "timeout")
        return True

    def _clear(self) -> None:
        self.pin = ""
        self.pinned_ns = self.unpin_at_ns = None


def _has_minimum(waiter: Waiter) -> bool:
    preference = waiter.preference
    return preference is not None and (preference.min_pending > 0 or preference.min_ack_pending > 0)
