"""Scenarios of acknowledgements: what can be said, what it is answered, and what it counts."""

from tests.parity.consumer_steps import (
    SECOND,
    Ack,
    AckTo,
    Figures,
    Got,
    Pull,
    Reached,
    Scenarios,
    Steps,
    consumer,
    consumer_deleted,
    consumer_info,
    fetched,
    nak,
    pull,
    set_up,
    term,
)
from tests.parity.numbered import Pub
from tests.parity.stream_api_cases import grouped, made, purge, removed
from tests.parity.streams_peer import Api, Listen

WAIT = 20 * SECOND  # for what comes at once
ACCOUNT = "szMpdrwD"  # what the subject of an acknowledgement may call the account $G


def each(payloads: tuple[str, ...], **config: object) -> Steps:
    """Says one of them about each message, and looks at the figures."""
    steps: Steps = [*set_up(len(payloads) + 1, **config), *fetched(len(payloads))]
    for number, payload in enumerate(payloads):
        steps += [Ack(number + 1, payload), Figures()]
    return steps


PAYLOADS: Scenarios = {
    "yes": each(("", "+ACK", "+OK")),
    "term": each(("+TERM", "+TERM reason", "+TERM  two words ", "+TERMx")),
    "working": each(("+WPI", "+WPI")),
    "unknown": each(
        ("x", "ACK", "+ack", "+ACK ", " +ACK", "-ACK", "+WPI ", "+NX", "-NA", "+TER", "{}", "\0")
    ),
    "with a header": [
        *set_up(3),
        *fetched(3),
        Ack(1, headers={"A": "b"}),
        Ack(2, "+TERM", headers={"A": "b"}),
        Ack(3, "+ACK", headers={"Nats-Required-Api-Level": "9"}),
        Figures(),
    ],
    "without a reply": [
        *set_up(4),
        *fetched(3),
        Ack(1, has_reply=False),
        Figures(),
        Ack(2, "+TERM", has_reply=False),
        Figures(),
        Ack(3, "+WPI", has_reply=False),
        Figures(),
    ],
    "no policy": [
        *set_up(3, ack_policy="none"),
        *fetched(2),
        Ack(1),
        Ack(2, "+TERM"),
        nak(1),
        Figures(),
    ],
    "of a deleted consumer": [*set_up(2), *fetched(1), consumer_deleted(), Ack(1)],
    "full info": [
        *set_up(3),
        consumer_info(),
        *fetched(2),
        consumer_info(),
        Ack(1),
        consumer_info(),
    ],
}

NEXT: Scenarios = {
    "plain": [*set_up(4), *fetched(1), Ack(1, "+NXT", to="n"), Got(1), Figures()],
    "a number": [*set_up(4), *fetched(1), Ack(1, "+NXT 2", to="n"), Got(2), Figures()],
    "a number at once": [*set_up(4), *fetched(1), Ack(1, "+NXT2", to="n"), Got(2), Figures()],
    "JSON": [
        *set_up(4),
        *fetched(1),
        Ack(1, '+NXT {"batch":2,"no_wait":true}', to="n"),
        Got(2),
        Figures(),
    ],
    "bad JSON": [*set_up(4), *fetched(1), Ack(1, '+NXT {"batch":', to="n"), Got(1), Figures()],
    "no JSON": [*set_up(4), *fetched(1), Ack(1, "+NXT x", to="n"), Got(1), Figures()],
    "waits": [
        *set_up(1),
        *fetched(1),
        Ack(1, "+NXT", to="n"),
        Figures(),
        Pub("t.a", b"2"),
        Got(1),
        Figures(),
    ],
    "nothing there": [
        *set_up(1),
        *fetched(1),
        Ack(1, '+NXT {"no_wait":true}', to="n"),
        Got(1),
        Figures(),
    ],
    "beyond a limit": [
        *set_up(4, max_batch=2),
        *fetched(1),
        Ack(1, "+NXT 3", to="n"),
        Got(1),
        Figures(),
    ],
    "without a reply": [*set_up(4), *fetched(1), Ack(1, "+NXT", has_reply=False), Figures()],
    "of one acknowledged already": [
        *set_up(4),
        *fetched(1),
        Ack(1),
        Ack(1, "+NXT", to="n"),
        Got(1),
        Figures(),
    ],
    "of one that is not there": [*set_up(4), Ack(9, "+NXT", to="n"), Got(1), Figures()],
    "when all is acknowledged": [
        *set_up(4, ack_policy="all"),
        *fetched(2),
        Ack(2, "+NXT", to="n"),
        Got(1),
        Figures(),
    ],
}

EXPLICIT: Scenarios = {
    "in order": [
        *set_up(4),
        *fetched(4),
        *(step for number in range(1, 5) for step in (Ack(number), Figures())),
    ],
    "backwards": [
        *set_up(4),
        *fetched(4),
        *(step for number in range(4, 0, -1) for step in (Ack(number), Figures())),
    ],
    "from the middle": [
        *set_up(5),
        *fetched(5),
        *(step for number in (3, 2, 5, 1, 4) for step in (Ack(number), Figures())),
    ],
    "with gaps between": [
        *set_up(9, 3, filter_subject="t.1"),
        *fetched(3),
        *(step for number in (5, 2, 8) for step in (Ack(number), Figures())),
    ],
    "with a gap behind": [
        *set_up(9, 3, filter_subject="t.0"),
        *fetched(3),
        Ack(1),
        Figures(),
        Ack(7),
        Figures(),
        Ack(4),
        Figures(),
        pull(1, no_wait=True),
        Got(1),
        Figures(),
    ],
    "twice": [*set_up(3), *fetched(2), Ack(1), Ack(1), Figures(), Ack(1, "+TERM"), Figures()],
    "not delivered yet": [
        *set_up(5),
        *fetched(2),
        Ack(3),
        Ack(5),
        Ack(6),
        Ack(100),
        Figures(),
        *fetched(3),
        Figures(),
    ],
    "below the start": [
        *set_up(5, deliver_policy="by_start_sequence", opt_start_seq=3),
        *fetched(1),
        Ack(1),
        Ack(2, "+TERM"),
        nak(2),
        Figures(),
    ],
    "with the subject of an earlier delivery": [
        *set_up(3),
        *fetched(1),
        nak(1),
        *fetched(1),
        Ack(1, delivery=1),
        Figures(),
    ],
    "term after nak": [*set_up(3), *fetched(1), nak(1), term(1), Figures(), *fetched(1), Figures()],
    "ack after nak": [*set_up(3), *fetched(1), nak(1), Ack(1), Figures(), *fetched(1), Figures()],
    "nak after ack": [*set_up(3), *fetched(1), Ack(1), nak(1), Figures(), *fetched(1)],
    "of a removed message": [
        *set_up(4),
        *fetched(3),
        removed(seq=2),
        Reached({"ack_pending": 2}),
        Ack(2),
        Figures(),
        Ack(1),
        Figures(),
        Ack(3),
        Figures(),
    ],
    "after a purge": [
        *set_up(4),
        *fetched(3),
        purge(),
        Figures(),
        Ack(2),
        nak(3),
        Figures(),
        pull(1, expires=60 * SECOND),
        Pub("t.a", b"5"),
        Got(1),
        Figures(),
    ],
    "after a purge of another subject": [
        *set_up(9, 9),
        *fetched(9),
        *(Ack(number) for number in (1, 2, 3)),
        purge(filter="t.8"),
        Reached({"ack_pending": 5}),
        *(Ack(number) for number in (4, 5)),
        Figures(),
        purge(filter="t.5"),
        Reached({"ack_pending": 2}),
        Ack(7),
        Figures(),
    ],
    "after a purge up to": [
        *set_up(5),
        *fetched(4),
        Ack(4),
        purge(seq=3),
        Figures(),
        Ack(3),
        Figures(),
    ],
}

ALL_BEFORE: Scenarios = {
    "in one": [*set_up(5, ack_policy="all"), *fetched(4), Ack(3), Figures(), Ack(4), Figures()],
    "backwards": [
        *set_up(5, ack_policy="all"),
        *fetched(4),
        Ack(4),
        Figures(),
        Ack(3),
        Ack(4),
        Figures(),
    ],
    "not delivered yet": [
        *set_up(5, ack_policy="all"),
        *fetched(2),
        Ack(4),
        Ack(9),
        Figures(),
        *fetched(1),
    ],
    "with gaps": [
        *set_up(9, 3, ack_policy="all", filter_subject="t.1"),
        *fetched(3),
        Ack(5),
        Figures(),
        Ack(8),
        Figures(),
    ],
    "term": [*set_up(5, ack_policy="all"), *fetched(4), term(2), Figures()],
    "nak": [
        *set_up(5, ack_policy="all"),
        *fetched(3),
        nak(2),
        Figures(),
        *fetched(2),
        Figures(),
        Ack(2),
        Figures(),
    ],
    "nak of an earlier one": [
        *set_up(5, ack_policy="all"),
        *fetched(3),
        Ack(2),
        nak(1),
        Figures(),
        *fetched(1),
    ],
    "working": [*set_up(5, ack_policy="all"), *fetched(3), Ack(2, "+WPI"), Figures()],
    "max_ack_pending": [
        *set_up(6, ack_policy="all", max_ack_pending=3),
        pull(6, expires=60 * SECOND),
        Got(3),
        Ack(2),
        Got(2),
        Figures(),
    ],
}

# What the reference does with ack_policy all, and could do otherwise.
QUIRKS: Scenarios = {
    "the highest removed": [
        *set_up(5, ack_policy="all"),
        *fetched(3),
        removed(seq=3),
        Reached({"ack_pending": 0}),
        Figures(),
    ],
}

SUBJECTS: Scenarios = {
    "suffixes": [
        *set_up(3),
        *fetched(2),
        AckTo("$JS.ACK.T.C"),
        AckTo("$JS.ACK.T.C.1"),
        AckTo("$JS.ACK.T.C.1.1.1.0"),
        AckTo("$JS.ACK.T.C.1.1.1.0.0.0"),
        AckTo("$JS.ACK.T.X.1.1.1.0.0"),
        AckTo("$JS.ACK.X.C.1.1.1.0.0"),
        Figures(),
    ],
    "no numbers": [
        *set_up(3),
        *fetched(2),
        AckTo("$JS.ACK.T.C.x.x.x.x.x"),
        AckTo("$JS.ACK.T.C.1.x.1.0.0"),
        AckTo("$JS.ACK.T.C.1.-1.1.0.0"),
        AckTo("$JS.ACK.T.C.1.99999999999999999999.1.0.0"),
        AckTo("$JS.ACK.T.C.1.0.0.0.0"),
        AckTo("$JS.ACK.T.C.1.0.1.0.0", "+WPI"),
        AckTo("$JS.ACK.T.C.1.0.1.0.0", "-NAK"),
        AckTo("$JS.ACK.T.C.1.0.1.0.0", "+TERM"),
        Figures(),
        AckTo("$JS.ACK.T.C.x.1.x.x.x"),
        Figures(),
    ],
    "wrong numbers beside the sequence": [
        *set_up(4),
        *fetched(3),
        AckTo("$JS.ACK.T.C.9.1.9.123.77"),
        Figures(),
        AckTo("$JS.ACK.T.C.1.2.0.0.0", "-NAK"),
        Figures(),
        pull(1, no_wait=True),
        Got(1),
        AckTo("$JS.ACK.T.C.1.3.100.0.0", "-NAK"),
        Figures(),
    ],
    "with domain and account": [
        *set_up(4),
        *fetched(3),
        AckTo(f"$JS.ACK._.{ACCOUNT}.T.C.1.1.1.0.0"),
        AckTo(f"$JS.ACK._.{ACCOUNT}.T.C.1.2.2.0.0.more.and.more"),
        Figures(),
        AckTo(f"$JS.ACK._.{ACCOUNT}.T.C.1.3.3.0"),
        AckTo("$JS.ACK._.x.T.C.1.3.3.0.0"),
        AckTo(f"$JS.ACK.hub.{ACCOUNT}.T.C.1.3.3.0.0"),
        Figures(),
    ],
    "to the wrong consumer": [
        *set_up(4),
        consumer("D"),
        *fetched(2),
        *fetched(1, "D"),
        Ack(2, consumer="D"),
        Ack(1, consumer="D"),
        Figures("C"),
        Figures("D"),
    ],
    "garbage as payload": [
        *set_up(2),
        *fetched(1),
        Ack(1, b"\xff\xfe"),
        Ack(1, "x" * 10_000),
        Figures(),
    ],
}

MANY: Scenarios = {
    "a consumer for each half": [
        made(),
        *(Pub(f"t.{number % 2}", b"x") for number in range(6)),
        consumer("A", filter_subject="t.0"),
        consumer("B", filter_subject="t.1", ack_policy="all"),
        *fetched(3, "A"),
        *fetched(3, "B"),
        Ack(3, consumer="A"),
        Ack(4, consumer="B"),
        Figures("A"),
        Figures("B"),
        Api("CONSUMER.LIST.T"),
    ],
    "a hundred at once": [
        *set_up(100),
        Pull("100"),
        Got(100),
        *(Ack(number, has_reply=False) for number in range(1, 101) if number % 10),
        Figures(),
        *(Ack(number) for number in range(10, 101, 10)),
        Figures(),
    ],
}

# What is let go by an acknowledgement comes behind its answer, whoever waits for it.
ANSWERED_FIRST: Scenarios = {
    "nak": [*set_up(1), *fetched(1), pull(expires=WAIT), nak(1, to="n"), Got(2)],
    "nak, pushed": [
        made(),
        Listen("D.c"),
        consumer(deliver_subject="D.c"),
        Pub("t.a", b"1"),
        Got(1),
        nak(1, to="n"),
        Got(2),
    ],
    **{
        f"{name} makes room": [
            *set_up(2, max_ack_pending=1, **config),
            *fetched(1),
            pull(expires=WAIT),
            Ack(1, payload, to="n"),
            Got(2),
        ]
        for name, payload, config in (
            ("ack", "+ACK", {}),
            ("term", "+TERM", {}),
            ("sampled", "+ACK", {"sample_freq": "100"}),
        )
    },
    "nak before the next": [
        *set_up(3),
        *fetched(2),
        nak(1, to="n"),
        Ack(2, "+NXT 2", to="m"),
        Got(3),
    ],
}

ALL = grouped(
    {
        "payload": PAYLOADS,
        "answered first": ANSWERED_FIRST,
        "next": NEXT,
        "explicit": EXPLICIT,
        "all": ALL_BEFORE,
        "quirk": QUIRKS,
        "subject": SUBJECTS,
        "many": MANY,
    }
)
