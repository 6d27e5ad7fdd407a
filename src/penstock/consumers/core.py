"""What the parts of one consumer share: its configuration, its ledger, and the way out.

The parts (pulling, pushing, acknowledgements, redelivery) decide; the ledger counts; the `Outlet`
is everything outside: who listens, what is sent, what is removed from the stream.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from penstock.consumers.pace import Replay
from penstock.kernel.consumers import Delivered, Figures, Ledger, Stop
from penstock.model.consumer_config import AckPolicy, ConsumerConfig

HINDRANCES = (Stop.CROWDED, Stop.BUSY)  # the next turn may bring more

Range = tuple[int, int]  # of sequences, both ends included
Ask = tuple[bytes, int, int]  # inbox, messages and bytes at most (0: no limit)


class Bounds(NamedTuple):
    """What a delivery has to keep to, for all requests together; 0 is no limit."""

    ack_pending_max: int
    deliveries_max: int
    bytes_soft: int = 0  # stops behind the message that exceeds it
    header: bytes = b""  # a line that every message gets in addition


class Outlet(Protocol):
    """The server as a consumer sees it."""

    account: str  # the name of the stream's

    def send(self, subject: bytes, headers: bytes, reply: bytes = b"") -> None:
        """A status."""

    def answer(self, reply: bytes) -> None:
        """Tells that an acknowledgement is recorded, once it is."""

    def deliver(self, requests: Sequence[Ask], bounds: Bounds, now_ns: int) -> Delivered: ...

    def is_at_end(self, ack_pending_max: int) -> bool:
        """Whether there is nothing to deliver, though something new might be."""

    def pending(self) -> int:
        """How many messages are still to be delivered for the first time."""

    def next_message(self) -> tuple[int, int] | None:
        """Sequence and time of the next of them."""

    def is_heard(self, subject: bytes) -> bool:
        """Whether anybody listens."""

    def advise(self, subject: str, event: str, fields: dict[str, Any]) -> None:
        """An advisory; `event` is the end of its type."""

    def measure(self, subject: str, event: str, fields: dict[str, Any]) -> None:
        """A metric."""

    def done(self, ranges: list[Range]) -> None:
        """The consumer needs these messages no more."""

    def chance(self) -> int:
        """A random number below 100."""

    def unique(self, length: int) -> str:
        """Random letters and digits."""


def messages_of(delivered: Delivered) -> int:
    """How many messages were delivered, to all requests together."""
    served = delivered.served
    return served[0][0] if len(served) == 1 else sum(messages for messages, _ in served)


class Core:
    """One consumer's identity and state."""

    def __init__(
        self, stream: str, name: str, config: ConsumerConfig, ledger: Ledger, outlet: Outlet
    ) -> None:
        self.stream = stream
        self.name = name
        self.config = config
        self.ledger = ledger
        self.outlet = outlet
        self.delivered_ns: int | None = None  # when the last message was
        self.acked_ns: int | None = None
        self.active_ns = 0  # when a client last showed up
        self.held_up_by: Stop | None = None  # more can be delivered in a later turn
        self.replay: Replay | None = None
        self.resume_ns: int | None = None  # when more may leave
        self.spared_below = 0  # what a work queue has below it was not acknowledged
        self.is_written = True  # false if it is gone after a restart
        self._passed = 0  # in vain, when it last looked for messages

    @property
    def figures(self) -> Figures:
        return Figures(*self.ledger.figures())

    @property
    def deliveries_max(self) -> int:
        """0 is no limit."""
        return max(0, self.config.max_deliver)

    @property
    def ack_pending_max(self) -> int:
        """0 is no limit."""
        if self.config.ack_policy is AckPolicy.NONE:
            return 0
        return max(0, self.config.max_ack_pending)

    @property
    def is_at_end(self) -> bool:
        """Requests mostly come before there is something for them: that must cost little."""
        is_at_end = self.replay is None and self.outlet.is_at_end(self.ack_pending_max)
        if is_at_end and not self.is_written:
            self._passed = self.figures.cursor - 1
        return is_at_end

    @property
    def delivered_stream(self) -> int:
        """The last message that was delivered; as the reference, of a consumer in memory that had
        none yet, the last that it has passed over."""
        figures = self.figures
        has_state = figures.delivered_consumer or figures.delivered_stream
        return figures.delivered_stream if has_state else self._passed

    def deliver(
        self, requests: Sequence[Ask], now_ns: int, *, bytes_soft: int = 0, header: bytes = b""
    ) -> Delivered:
        """The next messages, to the requests in turn, as far as they go."""
        needs_acks = self.config.ack_policy is not AckPolicy.NONE
        bounds = Bounds(self.ack_pending_max, self.deliveries_max, bytes_soft, header)
        before = 0 if needs_acks else self.figures.delivered_stream
        delivered = self.outlet.deliver(requests, bounds, now_ns)
        if messages_of(delivered):
            self.delivered_ns = self.active_ns = now_ns
            if not needs_acks:
                self.outlet.done([(before + 1, self.figures.delivered_stream)])
        if delivered.stop == Stop.GIVE_UP:
            self.give_up(delivered.sequence)
        elif delivered.stop == Stop.END and not self.is_written:
            self._passed = self.figures.cursor - 1
        return delivered

    def begin_at(self, sequence: int) -> None:
        """Everything anew, from a sequence on."""
        self.ledger.start(sequence, [])
        self.delivered_ns = self.acked_ns = None
        self._passed = 0

    def allowed(self, now_ns: int) -> int | None:
        """How many messages may leave now; None for any number. With 0, `resume_ns` is set."""
        self.resume_ns = None
        if self.replay is None or (found := self.outlet.next_message()) is None:
            return None
        if self.replay.is_over(found[0]):
            self.replay = None
            return None
        ready_ns = self.replay.ready_ns(found[1])
        if not self.figures.queued and ready_ns > now_ns:
            self.resume_ns = ready_ns
            return 0
        self.replay.left(found[1], now_ns)
        return 1

    def give_up(self, sequence: int) -> None:
        """A message was delivered as often as it may be."""
        self.ledger.give_up(sequence)
        self.advise_given_up(sequence)

    def advise_given_up(self, sequence: int) -> None:
        deliveries = self.deliveries_max
        self.advise("MAX_DELIVERIES", "max_deliver", stream_seq=sequence, deliveries=deliveries)

    def advise(self, kind: str, event: str, **fields: Any) -> None:
        named = {"stream": self.stream, "consumer": self.name}
        self.outlet.advise(f"CONSUMER.{kind}.{self.stream}.{self.name}", event, named | fields)
