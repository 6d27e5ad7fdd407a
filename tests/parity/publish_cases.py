"""Scenarios of the publish path: acknowledgements, limits and duplicates, on both servers."""

from typing import Any

from tests.parity.numbered import Headers, Pub
from tests.parity.stream_api_cases import (
    Scenarios,
    get,
    grouped,
    info,
    made,
    purge,
    removed,
    updated,
)
from tests.parity.streams_peer import Api, Listen, Pipelined, Quiet, Step, Until

ID = "Nats-Msg-Id"
EXPECTED_STREAM = "Nats-Expected-Stream"
EXPECTED_LAST = "Nats-Expected-Last-Sequence"
EXPECTED_SUBJECT = "Nats-Expected-Last-Subject-Sequence"
EXPECTED_SUBJECT_SUBJECT = "Nats-Expected-Last-Subject-Sequence-Subject"
EXPECTED_ID = "Nats-Expected-Last-Msg-Id"
ROLLUP = "Nats-Rollup"


def with_header(name: str, value: str, subject: str = "t.a", payload: bytes = b"x") -> Pub:
    return Pub(subject, payload, {name: value})


def many(count: int, subject: str = "t.a", payload: bytes = b"0123456789") -> list[Pub]:
    return [Pub(subject, payload) for _ in range(count)]


ACKS: Scenarios = {
    "plain": [made(), *many(3), Pub("t.b", b""), Pub("t.c", b"x" * 1000), info()],
    "without reply": [
        made(),
        Pub("t.a", acked=False),
        Until("T", 1),
        Pipelined([Pub("t.a", acked=False), Pub("t.a"), Pub("t.a", acked=False), Pub("t.a")]),
        info(),
    ],
    "no_ack": [
        made(no_ack=True),
        Listen("never"),
        Pipelined([Pub("t.a", acked=False), Pub("t.b", acked=False)]),
        Until("T", 2),
        info(),
    ],
    "no stream": [Pub("nothing.here"), made(), Pub("tt.a"), Pub("t"), Pub("t.a")],
    "deleted stream": [made(), Pub("t.a"), Api("STREAM.DELETE.T"), Pub("t.a")],
    "two streams": [
        made(),
        made("U"),
        Pipelined([Pub("t.a"), Pub("u.a"), Pub("u.b"), Pub("t.b"), Pub("u.c"), Pub("t.c")]),
        info("T", subjects_filter=">"),
        info("U", subjects_filter=">"),
    ],
    "pipelined": [made(), Pipelined(many(500)), info()],
    "names with quotes": [
        Api('STREAM.CREATE.q"x', {"name": 'q"x', "subjects": ["q"]}),
        Pub("q"),
        with_header(EXPECTED_STREAM, "no", "q"),
        Api("STREAM.CREATE.é<&>", {"name": "é<&", "subjects": ["e"]}),
    ],
    "name with special characters": [
        Api("STREAM.CREATE.é<&", {"name": "é<&", "subjects": ["e"]}),
        Pub("e"),
        Pub("e", headers={ID: "1"}),
        Pub("e", headers={ID: "1"}),
        with_header(EXPECTED_STREAM, "no", "e"),
    ],
    "headers that nobody knows": [
        made(),
        with_header("A", "b"),
        Pub("t.a", b"x", {"Nats-X": "y", "Nats-Sequence": "5", "nats-msg-id": "1"}),
        Pub("t.a", b"x", {"nats-msg-id": "1"}),
        Pub("t.a", b"", b"NATS/1.0\r\n\r\n"),
        Pub("t.a", b"p", b"NATS/1.0\r\nA:b\r\nA: c\r\n\r\n"),
        *(get(seq=sequence) for sequence in range(1, 6)),
        info(),
    ],
    "required api level on a publish": [
        made(),
        with_header("Nats-Required-Api-Level", "9"),
        info(),
    ],
}

SHAPES: tuple[tuple[str, int, Headers], ...] = (
    ("t.a", 0, None),
    ("t.a", 1, None),
    ("t.a", 7, None),
    ("t.processed", 7, None),
    ("t." + "long." * 40 + "end", 100, None),
    ("t.a", 0, {"A": "b"}),
    ("t.a", 5, {"A": "b"}),
    ("t.a", 5, {ID: "1"}),
    ("t.a", 5, {"A": "b" * 1000, "C": "d"}),
    ("t.a", 5, b"NATS/1.0\r\n\r\n"),
    ("t.a", 100_000, None),
    ("t.a", 100_000, {"A": "b" * 5000}),
)


def counted(storage: str) -> list[Step]:
    steps: list[Step] = [made(storage=storage)]
    for subject, size, headers in SHAPES:
        steps += [Pub(subject, b"p" * size, headers), info()]
    steps += [removed(seq=1), info(), removed(seq=7), info(), purge(seq=4), info()]
    return [*steps, Api("INFO"), purge(), info()]


BYTES: Scenarios = {
    "in files": counted("file"),
    "in memory": counted("memory"),
    "the spec's example": [
        Api("STREAM.CREATE.ORDERS", {"name": "ORDERS", "subjects": ["ORDERS.*"]}),
        Pub("ORDERS.processed", b"order 4"),
        info("ORDERS"),
        *[Pub("ORDERS.new", b"hello%d" % number, {ID: "1"}) for number in range(4)],
        info("ORDERS"),
    ],
}


def limited(**fields: Any) -> list[Step]:
    steps: list[Step] = []
    for storage in ("file", "memory"):
        steps += [
            made("T", storage=storage, **fields),
            Pipelined(many(7)),
            info(deleted_details=True),
            Pipelined([Pub(f"t.{number % 3}", b"y" * number) for number in range(9)]),
            info(deleted_details=True, subjects_filter=">"),
            Pub("t.big", b"z" * 200),
            info(deleted_details=True, subjects_filter=">"),
            Pub("t.a", b"", {"A": "b"}),
            info(deleted_details=True, subjects_filter=">"),
            Api("STREAM.DELETE.T"),
        ]
    return steps


LIMITS: Scenarios = {
    **{
        f"{fields}": limited(**fields)
        for fields in (
            {"max_msgs": 1},
            {"max_msgs": 5},
            {"max_bytes": 100},
            {"max_bytes": 300},
            {"max_bytes": 1},
            {"max_msgs_per_subject": 1},
            {"max_msgs_per_subject": 2},
            {"max_msgs_per_subject": 2, "max_msgs": 4},
            {"max_msgs_per_subject": 3, "max_bytes": 250},
            {"max_msg_size": 50},
            {"max_msg_size": 5},
            {"discard": "new", "max_msgs": 5},
            {"discard": "new", "max_bytes": 300},
            {"discard": "new", "max_bytes": 100, "max_msgs": 2},
            {"discard": "new", "max_msgs_per_subject": 2},
            {"discard": "new", "max_msgs_per_subject": 2, "max_msgs": 4},
            {"discard": "new", "max_msgs_per_subject": 1, "max_bytes": 150},
            {"discard": "new", "max_msgs_per_subject": 1, "discard_new_per_subject": True},
            {
                "discard": "new",
                "max_msgs_per_subject": 2,
                "discard_new_per_subject": True,
                "max_msgs": 5,
            },
            {
                "discard": "new",
                "max_msgs_per_subject": 2,
                "discard_new_per_subject": True,
                "max_bytes": 200,
            },
        )
    },
    "max_age": [
        made(max_age=300_000_000),
        *many(3),
        Until("T", 0),
        info(),
        Pub("t.a"),
        Until("T", 0),
        info(),
    ],
    "message size with headers": [
        made(max_msg_size=30),
        Pub("t.a", b"x" * 30),
        Pub("t.a", b"x" * 31),
        Pub("t.a", b"x", {"A": "b"}),
        Pub("t.a", b"x" * 15, {"A": "b"}),
        Pub("t.a", b"x" * 20, {"A": "b"}),
        Pub("t.a", b"x" * 20, {ID: "b"}),
        Pub("t.a", b"x" * 31, {ID: "c"}),
        Pub("t.a", b"x", {ID: "c"}),
        info(),
    ],
    "headers up to 64 kB": [
        made(),
        Pub("t.a", b"x", {"A": "b" * 65_000}),
        Pub("t.a", b"x", {"A": "b" * (65_535 - 17)}),
        Pub("t.a", b"x", {EXPECTED_STREAM: "T", "A": "b" * (65_535 - 17)}),
        Pub("t.a", b"x", {EXPECTED_STREAM: "T", "A": "b" * 70_000}),
        info(),
    ],
    "payload at the server's limit": [made(), Pub("t.a", b"x" * 1_048_576), info()],
    "discard new keeps ids": [
        made(discard="new", max_msgs=1),
        with_header(ID, "1"),
        with_header(ID, "2"),
        with_header(ID, "1"),
        purge(),
        with_header(ID, "2"),
        with_header(ID, "1"),
        info(),
    ],
    "interest": [
        made(retention="interest"),
        *many(3),
        info(),
        with_header(ID, "1"),
        with_header(ID, "1"),
        with_header(EXPECTED_LAST, "4"),
        with_header(EXPECTED_LAST, "4"),
        with_header(EXPECTED_SUBJECT, "0"),
        Pipelined(many(5)),
        info(deleted_details=True),
        get(seq=1),
        purge(),
        info(),
    ],
    "interest in memory": [
        made(retention="interest", storage="memory"),
        Pipelined(many(5)),
        info(deleted_details=True),
    ],
    "interest with limits": [
        made(retention="interest", max_msgs=2, discard="new", max_msg_size=100),
        *many(4),
        Pub("t.a", b"x" * 101),
        info(),
    ],
    "interest with rollup": [
        made(retention="interest", allow_rollup_hdrs=True),
        *many(2),
        with_header(ROLLUP, "all"),
        info(),
    ],
    "interest with republish": [
        made(retention="interest", republish={"src": ">", "dest": "r.>"}),
        Listen("r.>"),
        *many(2),
        Quiet(),
        info(),
    ],
    "workqueue": [
        made(retention="workqueue"),
        *many(3),
        with_header(ID, "1"),
        with_header(ID, "1"),
        Pipelined(many(5)),
        info(),
        updated(retention="limits"),
        updated(retention="workqueue", max_msgs=2),
        info(),
    ],
}

DEDUP: Scenarios = {
    "ids": [
        made(),
        with_header(ID, "a"),
        with_header(ID, "a"),
        with_header(ID, "a", "t.b"),
        with_header(ID, "b"),
        with_header(ID, ""),
        with_header(ID, ""),
        with_header(ID, " a "),
        Pub("t.a", b"x", b"NATS/1.0\r\nNats-Msg-Id:a\r\n\r\n"),
        Pub("t.a", b"x", b"NATS/1.0\r\nNats-Msg-Id: c\r\nNats-Msg-Id: a\r\n\r\n"),
        Pub("t.a", b"x", b"NATS/1.0\r\nNats-Msg-Id: d\r\nX: Nats-Msg-Id: a\r\n\r\n"),
        info(),
    ],
    "in one write": [
        made(),
        Pipelined([with_header(ID, name) for name in "abcabcdd"]),
        Pipelined([with_header(ID, name) for name in "efgh"]),
        Pipelined([Pub("t.a"), with_header(ID, "x"), Pub("t.a"), with_header(ID, "x"), Pub("t.a")]),
        Pipelined(
            [with_header(ID, ""), with_header(ID, ""), with_header(ID, "y"), with_header(ID, "y")]
        ),
        info(),
    ],
    "many in one write": [
        made(),
        Pipelined([with_header(ID, str(number)) for number in range(300)]),
        Pipelined([with_header(ID, str(number)) for number in range(150, 450)]),
        info(),
    ],
    "window": [
        made(duplicate_window=2_500_000_000),
        with_header(ID, "a"),
        with_header(ID, "a"),
        Listen("never"),
        *[Quiet()] * 11,  # longer than the window, by more than a loaded machine is late
        with_header(ID, "a"),
        with_header(ID, "a"),
        info(),
    ],
    "of removed messages": [
        made(),
        with_header(ID, "a"),
        removed(seq=1),
        with_header(ID, "a"),
        purge(),
        with_header(ID, "a"),
        info(),
    ],
    "with wrong expectations": [
        made(),
        Pub("t.a", b"x", {ID: "a", EXPECTED_LAST: "5"}),
        with_header(ID, "a"),
        Pub("t.a", b"x", {ID: "a", EXPECTED_LAST: "5"}),
        Pub("t.a", b"x", {ID: "a", EXPECTED_STREAM: "U"}),
        Pub("t.a", b"x", {ID: "a", EXPECTED_SUBJECT: "5"}),
        Pub("t.a", b"x", {ID: "a", EXPECTED_ID: "5"}),
        Pub("t.a", b"x", {ID: "a", ROLLUP: "all"}),
        Pub("t.a", b"x" * 100, {ID: "a"}),
        info(),
    ],
    "after an update of the window": [
        made(),
        with_header(ID, "a"),
        updated(duplicate_window=100_000_000),
        Listen("never"),
        *[Quiet()] * 6,  # the reference forgets by a timer, which a loaded machine has late
        with_header(ID, "a"),
        info(),
    ],
}

ALL = grouped({"acks": ACKS, "bytes": BYTES, "limits": LIMITS, "dedup": DEDUP})
