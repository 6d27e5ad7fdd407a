"""Redelivery: what is not acknowledged in time comes again, or is given up.

The ledger knows since when each message waits; here is when to look at it next: one moment for the
whole consumer, never later than the nearest deadline.
"""

from penstock.consumers.core import Core
from penstock.model.consumer_config import AckPolicy

DELAYED_LOOK_NS = 10_000_000  # after a delayed negative acknowledgement, as the reference
CHANGED_LOOK_NS = 100_000_000  # after another ack_wait was configured, as the reference
LATE_NS = 1_000_000  # what expires together is taken together, as the reference


class Redelivery:
    """The deadlines of one consumer."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.due_ns: int | None = None

    @property
    def waits_ns(self) -> list[int]:
        """How long after each delivery; the last one holds for all that follow."""
        config = self._core.config
        return [*config.backoff] or [config.ack_wait]

    def delivered(self, now_ns: int) -> None:
        """Something was."""
        if self._core.config.ack_policy is not AckPolicy.NONE:
            self._look_after(now_ns, min(self.waits_ns) + LATE_NS)

    def delayed(self, now_ns: int) -> None:
        """Some deadline may be nearer than before."""
        self._look_after(now_ns, DELAYED_LOOK_NS)

    def configured(self, now_ns: int) -> None:
        self._look_after(now_ns, CHANGED_LOOK_NS)

    def recovered(self) -> None:
        """After a start: deadlines are as old as what waits."""
        self.due_ns = self._core.ledger.next_deadline(self.waits_ns)

    def _look_after(self, now_ns: int, wait_ns: int) -> None:
        due_ns = now_ns + wait_ns
        self.due_ns = due_ns if self.due_ns is None else min(self.due_ns, due_ns)

    def check(self, now_ns: int) -> bool:
        """Returns true if something is to be delivered again, or made room for something new."""
        if self.due_ns is None or now_ns < self.due_ns:
            return False
        core = self._core
        queued, given_up, deadline_ns = core.ledger.expire(
            now_ns, self.waits_ns, self._given_up_at(core.deliveries_max)
        )
        self.due_ns = None if deadline_ns is None else deadline_ns + LATE_NS
        for sequence in given_up:
            core.advise_given_up(sequence)
        return queued > 0 or bool(given_up)

    def expire_all(self, now_ns: int) -> None:
        """Everything is delivered again, whatever it waits for."""
        core = self._core
        core.ledger.expire(now_ns, [0], self._given_up_at(core.deliveries_max))

    @staticmethod
    def _given_up_at(deliveries_max: int) -> int:
        """After how many deliveries a wait that is over is the end.

        As the reference: only a message that may be delivered once is given up then. Others are
        when it is their turn again, and nobody asks for more until there is a request.
        """
        return deliveries_max + 1 if deliveries_max > 1 else deliveries_max
