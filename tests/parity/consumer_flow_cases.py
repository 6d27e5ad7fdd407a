"""Scenarios of push consumers that time matters to: heartbeats, flow control, and their end.

Flow control begins with a window of 2 MB: a request is sent when half of it is outstanding, and
nothing more when all of it is; each answer doubles the window.
"""

from tests.parity.consumer_push_cases import BOUND, HEARD, UNBOUND
from tests.parity.consumer_steps import (
    MS,
    SECOND,
    Ack,
    Elsewhere,
    Figures,
    Got,
    GotUntil,
    HangUp,
    JoinQueue,
    Leave,
    Missing,
    Pull,
    Reached,
    Scenarios,
    Steps,
    advisories,
    consumer,
    consumer_deleted,
    consumer_info,
    ephemeral,
    fetched,
    nak,
    push,
    stored,
)
from tests.parity.numbered import Pub
from tests.parity.stream_api_cases import grouped, made
from tests.parity.streams_peer import Listen, Pipelined, Quiet

# A heartbeat must not be late, but messages must not wait for one.
SELDOM = {"idle_heartbeat": 60 * SECOND}
OFTEN = {"idle_heartbeat": 100 * MS}
BEAT = "100 Idle Heartbeat"

HEARTBEATS: Scenarios = {
    "of an empty stream": [made(), Listen("D.c"), push(**OFTEN), GotUntil(BEAT), GotUntil(BEAT)],
    "behind messages": [*HEARD, push(**OFTEN), Got(3), GotUntil(BEAT), Figures()],
    "behind messages of others": [
        *HEARD,
        push(filter_subject="t.x", **OFTEN),
        GotUntil(BEAT),
        Figures(),
    ],
    "stalled by max_ack_pending": [
        *HEARD,
        push(max_ack_pending=1, **OFTEN),
        Got(1),
        GotUntil(BEAT),
        Figures(),
    ],
    "not without interest": [
        made(),
        Listen("D.c"),
        push(**OFTEN),
        GotUntil(BEAT),
        Leave("D.c"),
        UNBOUND,
        Listen("never"),
        Listen("D.c"),
        GotUntil(BEAT, ignoring="left"),  # one may come while it leaves
    ],
    "without acknowledgement": [*HEARD, push(ack_policy="none", **OFTEN), Got(3), GotUntil(BEAT)],
    "in a queue": [
        made(),
        JoinQueue("D.c", "q"),
        push(deliver_group="q", **OFTEN),
        GotUntil(BEAT),
    ],
    "after redelivery": [
        *HEARD,
        push(**OFTEN),
        GotUntil("'m3'"),
        nak(1),
        GotUntil(".2.1.4.", ignoring=BEAT),
        GotUntil(BEAT),
    ],
}

BIG = 100_000


def flood(count: int) -> Steps:
    return [Pipelined([Pub("t.a", b"%02d" % n * (BIG // 2)) for n in range(count)])]


FLOW: Scenarios = {
    "asked for at half the window": [
        made(),
        *flood(15),
        Listen("D.c"),
        push(flow_control=True, **SELDOM),
        Got(16),
        Figures(),
    ],
    "stops at the window": [
        made(),
        *flood(30),
        Listen("D.c"),
        push(flow_control=True, ack_policy="none", **SELDOM),
        GotUntil("FlowControl"),
        Reached({"delivered": "21/21"}),
        Got(10),
        Pub("<flow>", b"", acked=False),
        GotUntil("30.30."),
        Figures(),
    ],
    "any answer will do, but only its own": [
        made(),
        *flood(24),
        Listen("D.c"),
        push(flow_control=True, **SELDOM),
        GotUntil("FlowControl"),
        Reached({"delivered": "21/21"}),
        Got(10),
        Pub("$JS.FC.T.C.abcd", b"", acked=False),
        Pub("<flow>", b"whatever", acked=False),
        Got(3),
        Figures(),
    ],
    "stalled heartbeats": [
        made(),
        *flood(24),
        Listen("D.c"),
        push(flow_control=True, **OFTEN),
        GotUntil("FlowControl"),
        GotUntil("Nats-Consumer-Stalled"),
        Figures(),
        Pub("<flow>", b"", acked=False),
        GotUntil(".24.24.", ignoring=BEAT),
        GotUntil(BEAT, ignoring="Stalled"),
        Figures(),
    ],
    "the window grows": [
        made(),
        *flood(60),
        Listen("D.c"),
        push(flow_control=True, ack_policy="none", **SELDOM),
        GotUntil("FlowControl"),
        Reached({"delivered": "21/21"}),
        Pub("<flow>", b"", acked=False),
        GotUntil("FlowControl"),
        Reached({"delivered": "53/53"}),
        GotUntil(".53.53."),
        Pub("<flow>", b"", acked=False),
        GotUntil(".60.60."),
        Figures(),
    ],
    "small messages need none": [*HEARD, push(flow_control=True, **SELDOM), Got(3), Figures()],
    "acknowledgements are no answer": [
        made(),
        *flood(24),
        Listen("D.c"),
        push(flow_control=True, **SELDOM),
        GotUntil("FlowControl"),
        Reached({"delivered": "21/21"}),
        Got(10),
        *(Ack(number) for number in range(1, 22)),
        Figures(),
    ],
    "to nobody": [
        made(),
        Listen("D.c"),
        push(flow_control=True, **SELDOM),
        Pub("$JS.FC.T.C.abcd", b"", acked=False),
        Figures(),
    ],
}

EPHEMERAL: Scenarios = {
    "ends with its interest": [
        advisories("DELETED.>"),
        made(),
        Listen("D.c"),
        ephemeral(deliver_subject="D.c", inactive_threshold=200 * MS),
        Figures(),
        Leave("D.c"),
        Missing(),
        Got(1),
    ],
    "has no interest at all": [
        made(),
        ephemeral(deliver_subject="D.c", inactive_threshold=300 * MS),
        Missing(),
    ],
    "interest returns in time": [
        made(),
        Listen("D.c"),
        ephemeral(deliver_subject="D.c", inactive_threshold=30 * SECOND),
        Leave("D.c"),
        UNBOUND,
        Listen("D.c"),
        BOUND,
        Pub("t.a", b"1"),
        Got(1),
        Figures(),
    ],
    "a durable with a threshold": [
        made(),
        Listen("D.c"),
        push(inactive_threshold=200 * MS),
        Leave("D.c"),
        Missing(),
    ],
    "a durable without stays": [
        made(),
        Listen("D.c"),
        push(),
        Leave("D.c"),
        UNBOUND,
        Quiet(),
        Figures(),
    ],
    "pull, never asked": [made(), ephemeral(inactive_threshold=10 * MS), Missing()],
    "pull, asked": [
        *HEARD,
        ephemeral(inactive_threshold=4 * SECOND),
        *fetched(3),
        *(Ack(number) for number in (1, 2, 3)),
        Missing(),
    ],
    "pull, with messages not acknowledged": [
        *HEARD,
        ephemeral(inactive_threshold=4 * SECOND, ack_wait=300 * MS),
        *fetched(3),
        Missing(),
    ],
    "pull, without acknowledgement": [
        *HEARD,
        ephemeral(inactive_threshold=4 * SECOND, ack_policy="none"),
        *fetched(3),
        Missing(),
    ],
    "pull, a durable with a threshold": [*HEARD, consumer(inactive_threshold=10 * MS), Missing()],
    "pull, waiting": [
        made(),
        ephemeral(inactive_threshold=3 * SECOND),
        Pull({"batch": 1, "expires": 6 * SECOND}),
        Got(1),
        Missing(),
    ],
    "pull, its client goes": [
        made(),
        Elsewhere(ephemeral(inactive_threshold=SECOND)),
        Elsewhere(Pull({"batch": 1})),
        HangUp(),
        Missing(),
    ],
}


def ordered(subject: str, **config: object) -> Steps:
    """As clients make an ordered consumer."""
    fields = {
        "deliver_subject": subject,
        "ack_policy": "none",
        "max_deliver": 1,
        "ack_wait": 22 * 3600 * SECOND,
        "mem_storage": True,
        "num_replicas": 1,
        "flow_control": True,
        "idle_heartbeat": 5 * SECOND,
        "inactive_threshold": 300 * SECOND,
        **config,
    }
    return [ephemeral(subject.replace(".", ""), **fields)]


ORDERED: Scenarios = {
    "then made again at a gap": [
        made(),
        *stored(6),
        Listen("D.one"),
        *ordered("D.one"),
        Got(6),
        Figures("Done"),
        consumer_info("Done"),
        Leave("D.one"),
        consumer_deleted("Done"),
        Listen("D.two"),
        *ordered("D.two", deliver_policy="by_start_sequence", opt_start_seq=4),
        Got(3),
        Figures("Dtwo"),
    ],
    "of headers, the last of each": [
        made(),
        *stored(6, 3),
        Listen("D.one"),
        *ordered(
            "D.one",
            deliver_policy="last_per_subject",
            headers_only=True,
            filter_subject="t.>",
        ),
        Got(3),
        Pub("t.1", b"new", {"KV-Operation": "DEL"}),
        Got(1),
    ],
    "pulled": [
        made(),
        *stored(4),
        ephemeral("one", ack_policy="none", mem_storage=True, inactive_threshold=300 * SECOND),
        *fetched(2, "one"),
        consumer_deleted("one"),
        ephemeral(
            "two",
            ack_policy="none",
            mem_storage=True,
            inactive_threshold=300 * SECOND,
            deliver_policy="by_start_sequence",
            opt_start_seq=3,
        ),
        *fetched(2, "two"),
    ],
}

ALL = grouped(
    {
        "heartbeat": HEARTBEATS,
        "flow": FLOW,
        "ephemeral": EPHEMERAL,
        "ordered": ORDERED,
    }
)
