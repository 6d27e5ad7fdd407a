"""The subjects that a consumer listens to, as targets: requests, acknowledgements, flow control.

Plain acknowledgements of a run are one call to the ledger, and so are requests in the same words
that there is a message for; whatever is not plain stops it there and is looked at. Answers follow
when the journal has what they answer, and deliveries after them. A stream that has stopped takes
nothing: what it knows may never be durable.
"""

import functools
import hashlib
import string

from penstock.consumers.ack_message import asks_for_next
from penstock.consumers.consumer import Consumer
from penstock.consumers.pulling import SHARING_MAX
from penstock.consumers.statuses import API_LEVEL, PUSH_BASED
from penstock.kernel.consumers import alike
from penstock.kernel.hub import Frame, picked_frames
from penstock.model.consumer_config import AckPolicy
from penstock.server.jetstream.consumers.live_consumer import LiveConsumer
from penstock.streams import headers
from penstock.streams.versioning import is_level_served

REQUIRED_LEVEL = b"Nats-Required-Api-Level"
NO_DOMAIN = "_"
HASH_LENGTH = 8
_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase


@functools.lru_cache(maxsize=256)
def account_hash(name: str) -> str:
    """How acknowledgements of the second form name an account, as the reference."""
    digest = hashlib.sha256(name.encode()).digest()
    return "".join(_DIGITS[byte % len(_DIGITS)] for byte in digest[:HASH_LENGTH])


def listen(live: LiveConsumer) -> None:
    """Lets a consumer listen."""
    core = live.consumer.core
    names = f"{core.stream}.{core.name}"
    live.listen(Requests(live), f"$JS.API.CONSUMER.MSG.NEXT.{names}")
    if core.config.ack_policy is not AckPolicy.NONE:
        second = f"$JS.ACK.{NO_DOMAIN}.{account_hash(live.parts.account.name)}.{names}.*.*.*.*.*"
        live.listen(Acks(live), f"$JS.ACK.{names}.*.*.*.*.*", second, f"{second}.>")
    if core.config.flow_control:
        live.listen(FlowAnswers(live), f"$JS.FC.{names}.*")


class ConsumerTarget:
    """A target that hands frames to the consumer, one by one."""

    def __init__(self, live: LiveConsumer) -> None:
        self._live = live

    def take(self, start: int, end: int) -> None:
        if not self._live.is_stopped:
            self._take_each(start, end)
            self._live.settle()

    def _take_each(self, start: int, end: int) -> None:
        for frame in picked_frames(self._live.parts.hub, start, end):
            self._live.guarded(self._take_frame, frame)

    def _take_frame(self, consumer: Consumer, frame: Frame, now_ns: int) -> None:
        raise AssertionError("every target has its own")


class Requests(ConsumerTarget):
    """Requests for messages."""

    def take(self, start: int, end: int) -> None:
        live, unlike = self._live, 1
        if live.is_stopped:
            return
        while start < end:
            served = self._take_run(start, min(end, start + SHARING_MAX))
            if served:
                start, unlike = start + served, 1
            else:  # then it is mostly so for those behind it too
                self._take_each(start, min(end, start + unlike))
                start, unlike = start + unlike, unlike * 2
        live.settle()
        pulling = live.consumer.pulling
        if pulling is not None and pulling.priority.orders:
            live.turn_end.wake_later(live)  # a more urgent one may follow

    def _take_run(self, start: int, end: int) -> int:
        """How many requests in the same words, from the first on, had their messages at once."""
        inboxes, body = alike(self._live.parts.hub, start, end)
        if len(inboxes) < 2:
            return 0
        served = 0

        def pull(consumer: Consumer, _: None, now_ns: int) -> None:
            nonlocal served
            if consumer.singles is not None:
                served = consumer.singles.serve(body, inboxes, now_ns)
            if served:
                consumer.wake(now_ns)

        self._live.guarded(pull, None)
        return served

    def _take_frame(self, consumer: Consumer, frame: Frame, now_ns: int) -> None:
        if not frame.reply:
            return
        level = headers.find(frame.headers, REQUIRED_LEVEL) if frame.header_bytes else None
        if level and not is_level_served(level.decode(errors="replace")):
            is_push = consumer.pushing is not None
            consumer.core.outlet.send(frame.reply, PUSH_BASED if is_push else API_LEVEL)
            return
        consumer.pull(frame.body, frame.reply, now_ns)


class FlowAnswers(ConsumerTarget):
    """Answers to flow control."""

    def _take_frame(self, consumer: Consumer, frame: Frame, now_ns: int) -> None:
        consumer.answered(frame.subject, now_ns)


class Acks(ConsumerTarget):
    """Acknowledgements of all kinds. Each is answered before anything that it lets be delivered:
    whoever asked for an answer knows then what a delivery tells."""

    def take(self, start: int, end: int) -> None:
        live = self._live
        while start < end and not live.is_stopped:
            if not live.consumer.acks.are_sampled:
                start = self._take_run(start, end)
            if start < end:
                for frame in picked_frames(live.parts.hub, start, start + 1):
                    if asks_for_next(frame.body):
                        self._answer()
                    live.guarded(self._take_frame, frame)
                start += 1
        self._answer()
        if not live.is_stopped:
            live.guarded(self._wake, None)
            live.settle()

    def _answer(self) -> None:
        if self._live.outlet.replies:
            self._live.record()

    def _take_run(self, start: int, end: int) -> int:
        live = self._live
        position, count, ranges, wants_answers = live.ledger.ack_run(live.parts.hub, start, end)
        if position > start:
            live.consumer.acked(count, ranges, live.now_ns())
        if wants_answers:
            live.answer_run(start, position)
        return position

    def _take_frame(self, consumer: Consumer, frame: Frame, now_ns: int) -> None:
        consumer.ack(frame.subject, frame.body, frame.reply, now_ns)

    def _wake(self, consumer: Consumer, _frame: None, now_ns: int) -> None:
        consumer.wake(now_ns)
