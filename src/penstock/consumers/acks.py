"""Acknowledgements that need a look, one at a time.

Runs of plain ones go through the kernel (`Ledger.ack_run`); here are negative ones, those that ask
for more time or for the next messages, terminations, and everything where one is sampled. Which of
them are answered is the reference's: everything that is said about a message that was delivered.
"""

from penstock.consumers.ack_message import (
    Delivery,
    Verb,
    delay_of,
    parse_ack,
    parse_subject,
    reason_of,
)
from penstock.consumers.core import Core
from penstock.consumers.redelivery import Redelivery
from penstock.consumers.sampling import is_sampled
from penstock.model.consumer_config import AckPolicy


class Acks:
    """What clients say about messages of one consumer."""

    def __init__(self, core: Core, redelivery: Redelivery) -> None:
        self._core = core
        self._redelivery = redelivery

    @property
    def are_sampled(self) -> bool:
        """Whether plain ones need a look too."""
        return bool(self._core.config.sample_freq)

    def take(self, subject: bytes, payload: bytes, reply: bytes, now_ns: int) -> bytes | None:
        """Does what one of them says; what it asks for next, if it does."""
        delivery = parse_subject(subject)
        if delivery is None:
            return None
        self._core.active_ns = now_ns
        verb, rest = parse_ack(payload)
        is_answered = delivery.stream_sequence != 0
        match verb:
            case Verb.ACK:
                is_answered = self._ack(delivery, now_ns, sample=True)
            case Verb.NEXT:
                self._ack(delivery, now_ns, sample=True)
                return rest
            case Verb.TERM:
                is_answered = self._term(delivery, reason_of(rest), now_ns)
            case Verb.NAK:
                self._nak(delivery, delay_of(rest), now_ns)
            case Verb.PROGRESS:
                self._core.ledger.progress(delivery.stream_sequence, now_ns)
            case Verb.NOTHING:
                pass
        if reply and is_answered:
            self._core.outlet.answer(reply)
        return None

    def _ack(self, delivery: Delivery, now_ns: int, *, sample: bool) -> bool:
        """Returns true if it is to be answered."""
        if sample and self._core.config.ack_policy is AckPolicy.EXPLICIT:
            self._sample(delivery, now_ns)
        ledger = self._core.ledger
        settled = ledger.ack(delivery.stream_sequence, delivery.consumer_sequence)
        if settled is None:
            return False
        self._core.acked_ns = now_ns
        if settled:
            self._core.outlet.done(settled)
        return True

    def _term(self, delivery: Delivery, reason: str, now_ns: int) -> bool:
        is_answered = self._ack(delivery, now_ns, sample=False)
        advise_terminated(self._core, delivery, reason)
        return is_answered

    def _nak(self, delivery: Delivery, delay_ns: int | None, now_ns: int) -> None:
        ledger, figures = self._core.ledger, self._core.figures
        sequence, consumer_sequence = delivery.stream_sequence, delivery.consumer_sequence
        if delay_ns is None:
            is_pending = ledger.nak(sequence, consumer_sequence)
        elif figures.floor_consumer < consumer_sequence <= figures.delivered_consumer:
            # Its wait is over when the delay is.
            is_pending = ledger.delay(sequence, now_ns - self._core.config.ack_wait + delay_ns)
            self._redelivery.delayed(now_ns)
        else:
            is_pending = False
        if is_pending:
            self._core.advise("MSG_NAKED", "nak", **_told(delivery))

    def _sample(self, delivery: Delivery, now_ns: int) -> None:
        entry = self._core.ledger.entry(delivery.stream_sequence)
        outlet = self._core.outlet
        if entry is None or not is_sampled(self._core.config, outlet.chance()):
            return
        _, since_ns, _, _ = entry
        subject = f"CONSUMER.ACK.{self._core.stream}.{self._core.name}"
        named = {"stream": self._core.stream, "consumer": self._core.name}
        told = _told(delivery)
        deliveries = {"deliveries": told.pop("deliveries")}  # last, as the reference writes it
        waited = {"ack_time": now_ns - since_ns}
        outlet.measure(subject, "consumer_ack", named | told | waited | deliveries)


def advise_terminated(core: Core, delivery: Delivery, reason: str) -> None:
    because = {"reason": reason} if reason else {}
    core.advise("MSG_TERMINATED", "terminated", **_told(delivery), **because)


def _told(delivery: Delivery) -> dict[str, int]:
    return {
        "consumer_seq": delivery.consumer_sequence,
        "stream_seq": delivery.stream_sequence,
        "deliveries": delivery.deliveries,
    }
