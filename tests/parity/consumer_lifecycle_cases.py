"""Scenarios of the consumer API: how consumers are made, found, paused, set back and deleted."""

from typing import Any

from tests.parity.consumer_steps import (
    MS,
    SECOND,
    Ack,
    Done,
    Figures,
    Got,
    GotUntil,
    Leave,
    Scenarios,
    Steps,
    consumer,
    consumer_deleted,
    consumer_info,
    ephemeral,
    fetched,
    nak,
    pull,
    push,
    set_up,
    stored,
)
from tests.parity.numbered import Pub
from tests.parity.stream_api_cases import BAD_BODIES, LEVEL, grouped, made
from tests.parity.streams_peer import Api, Listen, Quiet

LATER = {"expires": 60 * SECOND}  # beyond the end of any scenario
FUTURE = "2101-01-01T00:00:00Z"


def asked(verb: str, name: str = "C", body: Any = None, stream: str = "T") -> Api:
    return Api(f"CONSUMER.{verb}.{stream}.{name}", body)


def made_at(subject: str, stream: str = "T", **config: Any) -> Api:
    return Api(f"CONSUMER.{subject}", {"stream_name": stream, "config": config})


def paused(until: str = FUTURE, name: str = "C") -> Api:
    return asked("PAUSE", name, {"pause_until": until})


def reset(sequence: int, name: str = "C") -> Api:
    return asked("RESET", name, {"seq": sequence})


MADE: Scenarios = {
    "without a name": [
        made(),
        made_at("CREATE.T", ack_policy="explicit"),
        made_at("CREATE.T", ack_policy="explicit", durable_name="C"),
        made_at("CREATE.T", ack_policy="explicit", name="C"),
    ],
    "as a durable": [
        made(),
        made_at("DURABLE.CREATE.T.C", durable_name="C", ack_policy="explicit"),
        made_at("DURABLE.CREATE.T.D", durable_name="C", ack_policy="explicit"),
        made_at("DURABLE.CREATE.T.D", ack_policy="explicit"),
        made_at("DURABLE.CREATE.T.D", name="D", ack_policy="explicit"),
        Api("CONSUMER.NAMES.T"),
    ],
    "by its name": [
        made(),
        made_at("CREATE.T.C", name="C", ack_policy="explicit"),
        made_at("CREATE.T.D", ack_policy="explicit"),
        made_at("CREATE.T.D", name="E", ack_policy="explicit"),
        made_at("CREATE.T.D", name="E", durable_name="D", ack_policy="explicit"),
        made_at("CREATE.T.D", durable_name="D", ack_policy="explicit"),
        Api("CONSUMER.NAMES.T"),
    ],
    "with its filter": [
        made(),
        made_at("CREATE.T.C.t.0", durable_name="C", filter_subject="t.0", ack_policy="explicit"),
        made_at("CREATE.T.D.t.0", durable_name="D", filter_subject="t.1", ack_policy="explicit"),
        made_at("CREATE.T.D.t.0", durable_name="D", ack_policy="explicit"),
        made_at("CREATE.T.D.t.0", durable_name="D", filter_subjects=["t.0"], ack_policy="explicit"),
        Api("CONSUMER.NAMES.T"),
    ],
    "of another stream": [
        made(),
        made("U"),
        Api("CONSUMER.CREATE.T.C", {"stream_name": "U", "config": {"durable_name": "C"}}),
        Api("CONSUMER.CREATE.T.C", {"config": {"durable_name": "C"}}),
        Api("CONSUMER.CREATE.X.C", {"stream_name": "X", "config": {"durable_name": "C"}}),
        Api("CONSUMER.CREATE.T.C", {"stream_name": "T"}),
    ],
    "malformed": [made(), *(Api("CONSUMER.CREATE.T.C", body) for body in BAD_BODIES)],
    "again": [
        *set_up(3),
        *fetched(2),
        consumer(),
        consumer(action="create"),
        consumer(action="update"),
        consumer(action="create", description="x"),
        consumer(action="update", description="x"),
        consumer(description="y"),
        consumer("D", action="update"),
        consumer("D", action="create"),
        consumer("E", action="x"),
        consumer_info(),
    ],
    "again with what cannot change": [
        *set_up(3),
        consumer(deliver_policy="new"),
        consumer(ack_policy="all"),
        consumer(deliver_subject="D.c"),
        consumer(max_waiting=5),
        consumer(mem_storage=True),
        ephemeral(),
        consumer_info(),
    ],
    "too many": [
        made(max_consumers=2),
        consumer("A"),
        ephemeral("B"),
        consumer("C"),
        consumer("A"),
        consumer_deleted("A"),
        consumer("C"),
    ],
    "after it was deleted": [
        *set_up(3),
        *fetched(2),
        Ack(1),
        consumer_deleted(),
        consumer(),
        *fetched(3),
        Figures(),
    ],
    "required level": [
        made(),
        *(
            Api(subject, "{}", headers={LEVEL: "9"})
            for subject in (
                "CONSUMER.CREATE.T.C",
                "CONSUMER.INFO.T.C",
                "CONSUMER.LIST.T",
                "CONSUMER.NAMES.T",
                "CONSUMER.DELETE.T.C",
                "CONSUMER.PAUSE.T.C",
                "CONSUMER.UNPIN.T.C",
            )
        ),
    ],
}


def numbered_consumers(count: int) -> Steps:
    return [consumer(f"c{number:03}", mem_storage=True) for number in range(count)]


FOUND: Scenarios = {
    "one": [*set_up(2), consumer_info(), consumer_info("X"), consumer_info("C", "X")],
    "one, with a body": [*set_up(0), *(asked("INFO", body=body) for body in BAD_BODIES)],
    "by names": [
        made(),
        Api("CONSUMER.NAMES.T"),
        Api("CONSUMER.NAMES.X"),
        *numbered_consumers(5),
        Api("CONSUMER.NAMES.T"),
        Api("CONSUMER.NAMES.T", {"offset": 2}),
        Api("CONSUMER.NAMES.T", {"offset": 5}),
        Api("CONSUMER.NAMES.T", {"offset": 50}),
        Api("CONSUMER.NAMES.T", {"offset": -1}),
        *(Api("CONSUMER.NAMES.T", body) for body in BAD_BODIES),
        consumer_deleted("c002"),
        Api("CONSUMER.NAMES.T"),
        Api("STREAM.INFO.T"),
    ],
    "in a list": [
        made(),
        Api("CONSUMER.LIST.T"),
        Api("CONSUMER.LIST.X"),
        *stored(2),
        consumer("b", filter_subject="t.0"),
        ephemeral("a", filter_subjects=["t.1", "t.2"]),
        Listen("D.c"),
        push("d", ack_policy="none"),
        Got(2),
        Api("CONSUMER.LIST.T"),
        Api("CONSUMER.LIST.T", {"offset": 1}),
        Api("CONSUMER.LIST.T", {"offset": 3}),
        Api("CONSUMER.LIST.T", {"offset": 30}),
        *(Api("CONSUMER.LIST.T", body) for body in BAD_BODIES),
    ],
    "over several pages": [
        made(),
        *numbered_consumers(300),
        Api("CONSUMER.LIST.T"),
        Api("CONSUMER.LIST.T", {"offset": 256}),
        Api("CONSUMER.LIST.T", {"offset": 299}),
        Api("CONSUMER.NAMES.T"),
        Api("CONSUMER.NAMES.T", {"offset": 290}),
        Api("STREAM.INFO.T"),
    ],
}

DELETED: Scenarios = {
    "once and again": [
        *set_up(2),
        *(asked("DELETE", body=body) for body in ("{}", " ", "x")),
        consumer_deleted(),
        consumer_deleted(),
        consumer_deleted("C", "X"),
        consumer_info(),
        Api("CONSUMER.NAMES.T"),
        Api("STREAM.INFO.T"),
    ],
    "with its stream": [
        *set_up(2),
        Listen("D.c"),
        push("P"),
        Got(2),
        Api("STREAM.DELETE.T"),
        consumer_info(),
        consumer_info("P"),
    ],
    "while messages are pending": [
        *set_up(3),
        *fetched(2),
        consumer_deleted(),
        Ack(1),
        nak(2),
        consumer_info(),
    ],
}

# The reference does not look at waiting requests when it resumes, only when the next one comes.
RESUMED: Steps = [asked("PAUSE"), pull(1, "next", **LATER)]

PAUSED: Scenarios = {
    "answers": [
        *set_up(2),
        paused(),
        consumer_info(),
        paused("2001-01-01T00:00:00Z"),
        consumer_info(),
        asked("PAUSE"),
        consumer_info(),
        paused(),
        asked("PAUSE", body="{}"),
        consumer_info(),
        asked("PAUSE", body="x"),
        asked("PAUSE", body='{"pause_until":"x"}'),
        asked("PAUSE", body='{"pause_until":5}'),
        asked("PAUSE", body="{"),
        asked("PAUSE", body="[]"),
        paused(name="X"),
        asked("PAUSE", "C", {"pause_until": FUTURE}, "X"),
    ],
    "requests wait": [
        *set_up(3),
        paused(),
        pull(1, **LATER),
        Figures(),
        *RESUMED,
        Got(2),
        Figures(),
    ],
    "until a moment": [
        *set_up(2),
        paused("<in 2500ms>"),
        pull(2, **LATER),
        Figures(),
        Got(2),
        Figures(),
    ],
    "from the beginning": [
        *set_up(3, pause_until=FUTURE),
        pull(1, **LATER),
        Figures(),
        *RESUMED,
        Got(2),
    ],
    "requests expire": [*set_up(2), paused(), pull(2, expires=100 * MS), Got(1), Figures()],
    "no_wait is answered": [
        *set_up(2),
        paused(),
        pull(2, no_wait=True),
        Got(1),
        Figures(),
    ],
    "requests that wait for room": [
        *set_up(5, max_ack_pending=2),
        pull(4, no_wait=True, **LATER),
        Got(2),
        paused(),
        Quiet(),
        Figures(),
        asked("PAUSE"),
        Ack(1),
        Got(1),
        Figures(),
    ],
    "in mid-batch": [
        *set_up(1),
        pull(2, **LATER),
        Got(1),
        paused(),
        Pub("t.a", b"2"),
        Quiet(),
        *RESUMED,
        Got(1),
        Figures(),
    ],
    "acknowledgements count": [
        *set_up(3),
        *fetched(2),
        paused(),
        Ack(1),
        nak(2),
        pull(1, **LATER),
        Figures(),
        *RESUMED,
        Got(2),
        Figures(),
    ],
    "heartbeats of a request": [
        *set_up(1),
        paused(),
        pull(1, expires=2 * SECOND, idle_heartbeat=100 * MS),
        GotUntil("408"),
    ],
    "pushed": [
        made(),
        *stored(2),
        Listen("D.c"),
        push(pause_until=FUTURE, idle_heartbeat=100 * MS),
        GotUntil("100 Idle"),
        Figures(),
        asked("PAUSE"),
        GotUntil("'m2'", ignoring="100 Idle"),
    ],
    "not by an update": [
        *set_up(2),
        consumer(pause_until=FUTURE),
        pull(1, **LATER),
        Got(1),
        paused(),
        consumer(),
        consumer_info(),
    ],
    "interest is still looked at": [
        *set_up(1),
        paused(),
        pull(1, "a", **LATER),
        pull(1, "b", **LATER),
        Leave("P.a"),
        Figures(),
        *RESUMED,
        Got(1),
        Figures(),
    ],
}

# Never to the very first: then the reference takes its old position from its file, now and then.
RESET: Scenarios = {
    "to the floor": [
        *set_up(5),
        *fetched(4),
        Ack(1),
        Ack(3),
        asked("RESET"),
        Figures(),
        *fetched(2),
        Figures(),
    ],
    "to a sequence": [
        *set_up(5),
        *fetched(4),
        Ack(1),
        reset(3),
        Figures(),
        *fetched(3),
        Figures(),
        Ack(3),
        Figures(),
    ],
    "forward": [
        *set_up(9),
        *fetched(2),
        reset(8),
        *fetched(2),
        Figures(),
        Ack(1),
        nak(2),
        Figures(),
    ],
    "beyond the end": [*set_up(3), reset(9), Figures(), pull(1, no_wait=True), Got(1)],
    "before the first": [
        *set_up(5),
        *fetched(3),
        Api("STREAM.PURGE.T", {"seq": 4}),
        reset(2),
        Figures(),
        *fetched(2),
        Figures(),
    ],
    "with redeliveries": [
        *set_up(4),
        *fetched(3),
        nak(2),
        *fetched(1),
        nak(3),
        reset(2),
        Figures(),
        *fetched(3),
        Figures(),
    ],
    "while requests wait": [
        *set_up(3),
        *fetched(3),
        pull(2, "b", **LATER),
        Figures(),
        Done(reset(2)),
        Got(2),
        Figures(),
    ],
    "of other policies": [
        *set_up(5, deliver_policy="by_start_sequence", opt_start_seq=3),
        reset(2),
        reset(3),
        reset(4),
        *fetched(1),
        consumer("N", deliver_policy="new"),
        reset(3, "N"),
        reset(0, "N"),
        consumer("S", deliver_policy="by_start_time", opt_start_time="<time 3>"),
        reset(2, "S"),
        reset(3, "S"),
        consumer("L", deliver_policy="last"),
        reset(2, "L"),
        consumer("P", deliver_policy="last_per_subject", filter_subject="t.>"),
        reset(2, "P"),
    ],
    "acknowledging all": [
        *set_up(5, ack_policy="all"),
        *fetched(4),
        Ack(2),
        asked("RESET"),
        Figures(),
        *fetched(3),
        Figures(),
    ],
    "without acknowledgement": [
        *set_up(5, ack_policy="none"),
        *fetched(4),
        asked("RESET"),
        Figures(),
        reset(2),
        *fetched(4),
        Figures(),
    ],
    "filtered": [
        *set_up(9, 3, filter_subject="t.1"),
        *fetched(3),
        reset(4),
        Figures(),
        *fetched(2),
        Figures(),
    ],
    "pushed": [
        made(),
        *stored(3),
        Listen("D.c"),
        push(),
        Got(3),
        Done(reset(2)),
        Got(2),
        Figures(),
    ],
    "malformed": [
        *set_up(3),
        *fetched(1),
        Ack(1),
        *(asked("RESET", body=body) for body in ("{", "x", "[]", '{"seq":"1"}', '{"seq":-1}')),
        asked("RESET", body="{}"),
        Figures(),
        asked("RESET", body={"seq": 2}),
        Api("CONSUMER.RESET.T.C", "{}", headers={LEVEL: "9"}),
        Figures(),
    ],
}

ALL = grouped({"made": MADE, "found": FOUND, "deleted": DELETED, "paused": PAUSED, "reset": RESET})
