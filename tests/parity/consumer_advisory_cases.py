"""Scenarios of what a consumer tells about itself: advisories, and how long acknowledging took."""

from typing import Any

from tests.parity.consumer_lifecycle_cases import FUTURE, LATER, asked, paused, reset
from tests.parity.consumer_steps import (
    MS,
    SECOND,
    Ack,
    ConsumerStep,
    Figures,
    Got,
    Leave,
    Reached,
    Scenarios,
    Steps,
    advisories,
    consumer,
    consumer_deleted,
    ephemeral,
    fetched,
    nak,
    pull,
    push,
    set_up,
    stored,
    term,
)
from tests.parity.numbered import Pub
from tests.parity.stream_api_cases import grouped, made, purge, removed
from tests.parity.streams_peer import Api, Listen, Pipelined, Quiet

LIFE: Scenarios = {
    "made and deleted": [
        advisories(),
        made(),
        consumer(),
        Got(1),
        consumer(),
        consumer(description="x"),
        consumer_deleted(),
        Got(1),
        ephemeral("E"),
        Got(1),
        Listen("D.c"),
        push("P"),
        Got(1),
        Quiet(),
    ],
    "deleted while requests wait": [
        *set_up(0),
        advisories(),
        pull(1, "a", **LATER),
        pull(1, "b", **LATER),
        consumer_deleted(),
        Got(3),
    ],
    "paused and resumed": [
        *set_up(0),
        advisories(),
        paused(),
        Got(1),
        paused(),
        asked("PAUSE"),
        Got(1),
        asked("PAUSE"),
        paused("2001-01-01T00:00:00Z"),
        Got(1),
        paused("<in 3000ms>"),
        Got(2),
    ],
    "changed while paused": [
        *set_up(0, pause_until=FUTURE),
        advisories(),
        consumer(pause_until=FUTURE, description="x"),
        Got(1),
        Quiet(),
    ],
    "paused from the beginning": [
        advisories(),
        made(),
        consumer(pause_until=FUTURE),
        Got(2),
    ],
    "reset": [*set_up(2), *fetched(2), advisories(), reset(2), Quiet()],
}

MESSAGES: Scenarios = {
    "naked": [
        advisories(),
        *set_up(3),
        Got(1),
        *fetched(2),
        nak(1),
        Got(1),
        nak(1, ' {"delay":60000000000}'),
        Got(1),
        nak(1, " bad"),
        Got(1),
        nak(3),
        *fetched(1),
        nak(1, delivery=1),
        Got(1),
        Ack(1),
        nak(1),
        Figures(),
    ],
    "terminated": [
        advisories(),
        *set_up(3),
        Got(1),
        *fetched(2),
        term(1),
        Got(1),
        term(2, " because of this "),
        Got(1),
        term(2, " again"),
        Got(1),
        term(3),
        Got(1),
        term(9, " not there"),
        Got(1),
        Figures(),
    ],
    "terminated, all up to it": [
        advisories("MSG_TERMINATED.>"),
        *set_up(3, ack_policy="all"),
        *fetched(3),
        term(2),
        Got(1),
        Figures(),
    ],
    "removed": [
        *set_up(4),
        *fetched(3),
        nak(2),
        *fetched(1),
        advisories(),
        removed(seq=2),
        Got(1),
        removed(seq=4),
        Quiet(),
        Figures(),
    ],
    "removed by a limit": [
        made(max_msgs=3),
        *stored(3),
        consumer(),
        *fetched(3),
        advisories(),
        Pub("t.a", b"4"),
        Got(1),
        Reached({"ack_pending": 2, "pending": 1}),
    ],
    "purged": [*set_up(3), *fetched(2), advisories(), purge(), Quiet(), Figures()],
    "removed, and another subject purged with the same write": [
        *set_up(4, kinds=2, filter_subject="t.0"),
        *fetched(2),
        advisories(),
        Pipelined(
            [
                Pub("$JS.API.STREAM.MSG.DELETE.T", {"seq": 1}),
                Pub("$JS.API.STREAM.PURGE.T", {"filter": "t.1"}),
            ]
        ),
        Got(1),
        Reached({"ack_pending": 1, "floor": "1/2"}),
    ],
    "removed by the limit of a subject, which then is rolled up": [
        made(max_msgs_per_subject=2, allow_rollup_hdrs=True),
        *stored(2),
        consumer(),
        *fetched(2),
        Ack(2),
        advisories(),
        Pub("t.0", b"3", {"Nats-Rollup": "sub"}),
        Got(1),
        Reached({"ack_pending": 0, "pending": 1}),
    ],
    "given up": [
        advisories("MAX_DELIVERIES.>"),
        *set_up(1, max_deliver=2, ack_wait=150 * MS),
        *fetched(1),
        pull(2, **LATER),
        Got(2),
        Figures(),
    ],
    "given up, pushed and naked": [
        advisories(),
        made(),
        *stored(1),
        Listen("D.c"),
        push(max_deliver=2),
        Got(2, ordered=False),
        nak(1),
        Got(2),
        nak(1),
        Got(2),
        Figures(),
    ],
    "nobody listens": [*set_up(2), *fetched(2), nak(1), term(2), Figures()],
    "one consumer's only": [
        made(),
        *stored(1),
        consumer("A"),
        consumer("B"),
        Listen("$JS.EVENT.ADVISORY.CONSUMER.MSG_NAKED.T.A"),
        *fetched(1, "A"),
        *fetched(1, "B"),
        nak(1, consumer="B"),
        nak(1, consumer="A"),
        Got(1),
        Leave("$JS.EVENT.ADVISORY.CONSUMER.MSG_NAKED.T.A"),
        Quiet(),
    ],
}

METRICS = Listen("$JS.EVENT.METRIC.>")


def sampled(frequency: str, *steps: ConsumerStep, **config: Any) -> Steps:
    return [METRICS, *set_up(4, sample_freq=frequency, **config), *fetched(3), *steps]


SAMPLES: Scenarios = {
    "of all": sampled("100", Ack(1), Got(1), Ack(3), Got(1), Figures()),
    "written as percent": sampled("100%", Ack(1), Got(1)),
    "of none": sampled("0", Ack(1), Ack(2), Quiet()),
    "not twice": sampled("100", Ack(1), Got(1), Ack(1), Quiet()),
    "of other answers": sampled(
        "100", term(1), nak(2), Ack(3, "+WPI"), Quiet(), Ack(3, "+NXT", to="n"), Got(2)
    ),
    "after a redelivery": sampled("100", nak(1), *fetched(1), Ack(1), Got(1)),
    "acknowledging all": sampled("100", Ack(3), Quiet(), Figures(), ack_policy="all"),
    "turned on and off": [
        METRICS,
        *set_up(3),
        *fetched(3),
        Ack(1),
        consumer(sample_freq="100"),
        Ack(2),
        Got(1),
        consumer(sample_freq="0"),
        Ack(3),
        Quiet(),
    ],
    "after a delay": sampled(
        "100", nak(2, ' {"delay":3000000000}'), pull(2, expires=60 * SECOND), Got(2), Ack(2), Got(1)
    ),
}

ALL = grouped({"life": LIFE, "message": MESSAGES, "sample": SAMPLES})

# The reference sends them through a queue that ends with the stream: at times one is left in it.
DELETED_WITH_STREAM: Steps = [
    advisories(),
    made(),
    consumer("A"),
    consumer("B"),
    Got(2),
    Api("STREAM.DELETE.T"),
    Got(2, ordered=False),
]
