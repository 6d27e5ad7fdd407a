"""A consumer: a pure machine in front of one ledger.

Requests, acknowledgements, new messages, removed ones and the passing of time come in; deliveries,
statuses and advisories go out through the outlet. It never waits: `due_ns` says when it wants to be
looked at again, and `is_waiting` whether a new message would change anything.
"""

from penstock.consumers import statuses
from penstock.consumers.ack_message import Delivery
from penstock.consumers.acks import Acks, advise_terminated
from penstock.consumers.activity import Activity
from penstock.consumers.core import Core, Range
from penstock.consumers.pace import Replay
from penstock.consumers.pause import Pause
from penstock.consumers.pulling import Pulling
from penstock.consumers.pushing import Pushing
from penstock.consumers.redelivery import Redelivery
from penstock.consumers.singles import Singles
from penstock.model.consumer_config import AckPolicy, ConsumerConfig, ReplayPolicy

REMOVED = "Unacknowledged message was deleted"  # the reference's words


class Consumer:
    """One consumer of a stream."""

    def __init__(self, core: Core, created_ns: int, payload_bytes_max: int, now_ns: int) -> None:
        self.core = core
        self.created_ns = created_ns
        self.redelivery = Redelivery(core)
        self.acks = Acks(core, self.redelivery)
        self.activity = Activity(core)
        self.pause = Pause(core, now_ns)
        self.pulling: Pulling | None = None
        self.singles: Singles | None = None
        self.pushing: Pushing | None = None
        if core.config.is_push:
            self.pushing = Pushing(core, self.pause, payload_bytes_max, now_ns)
        else:
            self.pulling = Pulling(core, self.pause)
            self.singles = Singles(core, self.pause, self.pulling)

    def begin(self, now_ns: int, sequence_last: int) -> None:
        """After it was made or found on disk, before it listens."""
        if self.core.config.replay_policy is ReplayPolicy.ORIGINAL:
            self.core.replay = Replay(sequence_last)
        self.redelivery.recovered()
        self.activity.begin(now_ns)

    @property
    def is_waiting(self) -> bool:
        """Whether it is to be woken when there is a new message for it."""
        if self.pushing is not None:
            return self.pushing.is_bound
        return self.pulling is not None and len(self.pulling.waiting) > 0

    @property
    def due_ns(self) -> int | None:
        """When it wants to be looked at, though nothing may have happened."""
        moments = [self.redelivery.due_ns, self.activity.due_ns, self.pause.ends_ns]
        moments.append(self.core.resume_ns)
        if self.pulling is not None:
            moments += [self.pulling.waiting.due_ns, self.pulling.priority.unpin_at_ns]
        if self.pushing is not None:
            moments.append(self.pushing.beat_ns)
        return min([moment for moment in moments if moment is not None], default=None)

    def pull(self, body: bytes, inbox: bytes, now_ns: int) -> None:
        """A request for messages; `wake` follows when there are no more."""
        if self.pulling is None:
            self.core.outlet.send(inbox, statuses.PUSH_BASED)
            return
        self.pulling.ask(body, inbox, now_ns)
        if not self.pulling.priority.orders:  # else the most urgent of a turn goes first
            self.wake(now_ns)

    def ack(self, subject: bytes, payload: bytes, reply: bytes, now_ns: int) -> None:
        """One acknowledgement of any kind; `wake` follows when there are no more."""
        asked = self.acks.take(subject, payload, reply, now_ns)
        self._shown(now_ns)
        if asked is not None and reply:
            self.pull(asked, reply, now_ns)

    def acked(self, count: int, ranges: list[Range], now_ns: int) -> None:
        """The ledger took a run of plain ones."""
        self.core.active_ns = now_ns
        if count:
            self.core.acked_ns = now_ns
        if ranges:
            self.core.outlet.done(ranges)
        self._shown(now_ns)

    def _shown(self, now_ns: int) -> None:
        """A client showed up: one that is not listening may be about to."""
        if self.activity.due_ns is not None and self.pushing is not None:
            self.activity.begin(now_ns)

    def answered(self, subject: bytes, now_ns: int) -> None:
        """An answer to flow control."""
        if self.pushing is not None and self.pushing.answered(subject):
            self.wake(now_ns)

    def bind(self, is_bound: bool, now_ns: int) -> None:
        """Somebody listens where a push consumer delivers to, or nobody does any more; `wake`
        follows."""
        assert self.pushing is not None
        self.pushing.is_bound = is_bound
        if is_bound:
            self.activity.stop()
        elif self.activity.due_ns is None:
            self.activity.begin(now_ns)

    def wake(self, now_ns: int) -> None:
        """There may be something to deliver."""
        self.core.held_up_by = None
        if self.pulling is not None:
            self.pulling.serve(now_ns)
        elif self.pushing is not None:
            self.pushing.serve(now_ns)
        if self.core.delivered_ns == now_ns:
            self.redelivery.delivered(now_ns)

    def check(self, now_ns: int) -> bool:
        """Time has passed. Returns true if nobody uses the consumer any more."""
        resume_ns = self.core.resume_ns
        is_due = self.redelivery.check(now_ns) | self.pause.check(now_ns)
        if resume_ns is not None and now_ns >= resume_ns:
            self.core.resume_ns = None
            is_due = True
        if self.pulling is not None:
            is_due |= self.pulling.check(now_ns)
        if self.pushing is not None:
            self.pushing.check(now_ns)
        if is_due:
            self.wake(now_ns)
        return self.activity.is_over(now_ns, lambda: _is_used(self, now_ns))

    def configure(self, config: ConsumerConfig, now_ns: int) -> None:
        """Takes over a configuration that was checked."""
        core, old = self.core, self.core.config
        core.config = config
        filters = [pattern.encode() for pattern in config.filters]
        core.ledger.configure(filters, config.headers_only)
        if config.inactive_threshold != old.inactive_threshold:
            self.activity.begin(now_ns)
        if config.ack_wait != old.ack_wait or config.backoff != old.backoff:
            self.redelivery.configured(now_ns)
        is_told_again = config != old and self.pause.is_on(now_ns)
        if config.pause_until != old.pause_until or is_told_again:
            self.pause.configured(now_ns)
        if self.pushing is not None:
            self.pushing.configure(now_ns)
            if config.deliver_subject != old.deliver_subject:
                self.redelivery.expire_all(now_ns)
        self.wake(now_ns)

    def removed(self, pending: list[tuple[int, int, int]], floor: int, now_ns: int) -> None:
        """Messages left the stream that were delivered and not settled; `floor` was the highest
        sequence up to which everything was."""
        for sequence, consumer_sequence, deliveries in pending:
            # As the reference: a message delivered twice says 1.
            told = Delivery(sequence, consumer_sequence, max(1, deliveries - 1))
            advise_terminated(self.core, told, REMOVED)
        if pending:
            self.core.acked_ns = now_ns
            if self.core.config.ack_policy is AckPolicy.ALL:  # those before it count as settled
                self.core.outlet.done([(floor + 1, pending[-1][0])])
            self.wake(now_ns)

    def reset(self, sequence: int, now_ns: int) -> None:
        """Begins anew at a sequence."""
        self.core.begin_at(sequence)
        self.wake(now_ns)


def _is_used(consumer: Consumer, now_ns: int) -> bool:
    """Whether a request waits that somebody listens for."""
    if consumer.pulling is not None:
        consumer.pulling.look(now_ns, at_end=True)
    return consumer.is_waiting
