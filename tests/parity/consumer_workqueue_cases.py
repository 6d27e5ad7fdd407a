"""Scenarios of workqueue streams: messages go when the one consumer that gets them is done.

`held` asks for the stream until it has that many messages; then all of its state is compared.
"""

from typing import Any

from tests.parity.consumer_lifecycle_cases import asked, reset
from tests.parity.consumer_steps import (
    MS,
    SECOND,
    Ack,
    Figures,
    Got,
    Leave,
    Reached,
    Scenarios,
    Steps,
    consumer,
    consumer_deleted,
    fetched,
    nak,
    push,
    stored,
    term,
)
from tests.parity.numbered import Pub
from tests.parity.stream_api_cases import grouped, info, made, purge, removed
from tests.parity.streams_peer import Listen, Quiet, Until


def held(messages: int) -> Until:
    return Until("T", messages)


def work(**config: Any) -> Steps:
    return [made(retention="workqueue", **config)]


def told(count: int, kinds: int = 1, **pending: int) -> Steps:
    """Messages, and consumers that have seen that they are there."""
    seen = [Reached({"pending": number}, name) for name, number in pending.items()]
    return [*stored(count, kinds), *seen]


WORK: Scenarios = {
    "kept without consumers": [*work(), *stored(3), held(3)],
    "acknowledged": [
        *work(),
        *stored(4),
        consumer(),
        *fetched(3),
        held(4),
        Ack(1),
        held(3),
        Ack(3),
        held(2),
        info(deleted_details=True),
        Figures(),
    ],
    "terminated": [*work(), *stored(3), consumer(), *fetched(2), term(2), held(2), Figures()],
    "naked": [*work(), *stored(3), consumer(), *fetched(2), nak(1), held(3), *fetched(2), held(3)],
    "answered when it is gone": [
        *work(),
        *stored(2),
        consumer(),
        *fetched(1),
        Ack(1),
        info(),
        Ack(1),
        info(),
    ],
    "given up": [
        *work(),
        *stored(3),
        consumer(max_deliver=1, ack_wait=100 * MS),
        *fetched(2),
        Reached({"ack_pending": 0}),
        held(3),
        Ack(1),
        held(2),
    ],
    "two consumers side by side": [
        *work(),
        *stored(6, 2),
        consumer("A", filter_subject="t.0"),
        consumer("B", filter_subject="t.1"),
        *fetched(2, "A"),
        *fetched(2, "B"),
        Ack(1, consumer="A"),
        Ack(4, consumer="B"),
        held(4),
        info(deleted_details=True),
        Figures("A"),
        Figures("B"),
    ],
    "overlapping consumers": [
        *work(),
        consumer("A", filter_subject="t.0"),
        consumer("B", filter_subject="t.*"),
        consumer("B", filter_subject="t.1"),
        consumer("D"),
        consumer("A", filter_subject="t.1"),
        consumer("A", filter_subject="t.2"),
        consumer("E", filter_subjects=["t.3", "t.1"]),
        consumer("E", filter_subjects=["t.3", "t.4"]),
    ],
    "only one of all": [
        *work(),
        consumer("A"),
        consumer("B"),
        consumer_deleted("A"),
        consumer("B"),
    ],
    "policies": [
        *work(),
        consumer(ack_policy="none"),
        consumer(ack_policy="all"),
        consumer(deliver_policy="new"),
        consumer(deliver_policy="last"),
        consumer(),
    ],
    "kept when the consumer goes": [
        *work(),
        *stored(4),
        consumer(),
        *fetched(3),
        Ack(1),
        consumer_deleted(),
        held(3),
        consumer("B"),
        *fetched(3, "B"),
        Ack(3, consumer="B"),
        held(2),
    ],
    "nobody's subject stays": [
        *work(),
        *stored(4, 2),
        consumer(filter_subject="t.0"),
        *fetched(2),
        Ack(1),
        Ack(3),
        held(2),
        info(deleted_details=True),
    ],
    "limits are a ceiling": [
        *work(max_msgs=3),
        *stored(5),
        held(3),
        consumer(),
        *fetched(2),
        Ack(3),
        held(2),
        *stored(3),
        Reached({"pending": 3}),
        held(3),
        Figures(),
    ],
    "limits with discard new": [
        *work(max_msgs=2, discard="new"),
        *stored(3),
        consumer(),
        *fetched(1),
        Ack(1),
        held(1),
        Pub("t.a", b"3"),
        held(2),
    ],
    "removed and purged": [
        *work(),
        *stored(5),
        consumer(),
        *fetched(3),
        removed(seq=2),
        Reached({"ack_pending": 2}),
        Ack(1),
        purge(keep=1),
        held(1),
        Figures(),
        *fetched(1),
    ],
    "pushed": [
        *work(),
        *stored(2),
        Listen("D.c"),
        push(),
        Got(2),
        Ack(1),
        held(1),
        Leave("D.c"),
        Pub("t.a", b"3"),
        held(2),
    ],
    "next": [*work(), *stored(3), consumer(), *fetched(1), Ack(1, "+NXT", to="n"), Got(1), held(2)],
    "reset": [
        *work(),
        *stored(3),
        consumer(),
        *fetched(2),
        Ack(1),
        asked("RESET"),
        held(2),
        *fetched(2),
    ],
    "reset beyond": [
        *work(),
        *stored(10),
        consumer(),
        *fetched(2),
        Ack(1),
        reset(6),
        Quiet(),
        held(9),
        *fetched(1),
        Ack(6),
        held(8),
        reset(2),
        held(8),
        *fetched(8),
    ],
    "memory": [
        *work(storage="memory"),
        *stored(3),
        consumer(),
        *fetched(2),
        Ack(2),
        held(2),
        info(deleted_details=True),
    ],
    "max_age": [
        *work(max_age=4 * SECOND, duplicate_window=SECOND),
        *stored(2),
        consumer(),
        *fetched(1),
        held(0),
        Reached({"ack_pending": 0, "pending": 0}),
    ],
}

ALL = grouped({"workqueue": WORK})
