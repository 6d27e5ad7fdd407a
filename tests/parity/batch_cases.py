"""Scenarios of atomic batches: what is checked at the commit, and what comes of one that passes."""

import random
from typing import Any

from tests.parity.batch_steps import ATOMIC, BATCH, COMMIT, SEQUENCE, end, last, part, whole
from tests.parity.numbered import Headers, Pub
from tests.parity.publish_cases import (
    EXPECTED_ID,
    EXPECTED_LAST,
    EXPECTED_STREAM,
    EXPECTED_SUBJECT,
    EXPECTED_SUBJECT_SUBJECT,
    ID,
    ROLLUP,
    many,
)
from tests.parity.stream_api_cases import Scenarios, grouped, made, purge, removed, updated
from tests.parity.streams_peer import Api, Heard, Listen, Pipelined, Quiet, Step

ODD_SEQUENCES = (
    "0", "01", " 1", "1 ", "-1", "+1", "x", "", "1.0", "0x1", "1_0", "٣", "18446744073709551615",
    "18446744073709551616", "00000000000000000001", "000000000000000000001",
)  # fmt: skip
ODD_COMMITS = ("", "0", "true", "EOB", "1 ", " 1", "eob ", "01", "Eob", "2", "eob\t", "1,eob")
ODD_IDS = ("b ", " b", "a b", 'q"\\', "é", ">", "a.b", "*", "\t", "../x", "")

# The last step is answered with the code.
ERRORS: list[tuple[int, list[Step]]] = [
    (10174, [made(), part(1)]),
    (10175, [ATOMIC, part(None)]),
    (10175, [ATOMIC, part("x")]),
    (10176, [ATOMIC, part(1), part(3)]),
    (10177, [ATOMIC, last(1, Nats_Expected_Last_Msg_Id="x")]),
    (10179, [ATOMIC, part(1, batch="x" * 65)]),
    (10199, [ATOMIC, part(1001)]),
    (10200, [ATOMIC, part(1), part(2, commit="no")]),
    (10201, [ATOMIC, part(1, Nats_Msg_Id="x"), last(2, Nats_Msg_Id="x")]),
    (10210, [ATOMIC, *(part(1, batch=str(number)) for number in range(51))]),
    (10054, [made(allow_atomic=True, max_msg_size=60), part(1, payload=b"x" * 100)]),
    (10109, [ATOMIC, updated(allow_atomic=True, sealed=True), part(1)]),
    (10185, [ATOMIC, end(1, Nats_Required_Api_Level="99")]),
]


def atomic(**fields: Any) -> Api:
    return made(allow_atomic=True, **fields)


def of(subject: str = "t.a", payload: bytes = b"x", **headers: str) -> Pub:
    """A message of `whole`."""
    found: Headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return Pub(subject, payload, found)


def with_header(name: str, value: str, subject: str = "t.a") -> Pub:
    return Pub(subject, b"x", {name: value})


def expecting(sequence: str, of_subject: str, subject: str = "t.c") -> Pub:
    """A message that expects something of another subject."""
    return Pub(subject, b"", {EXPECTED_SUBJECT: sequence, EXPECTED_SUBJECT_SUBJECT: of_subject})


CONTROL: Scenarios = {
    **{
        f"sequence {value!r}": [ATOMIC, part(value), last(2), part(1), last(value)]
        for value in ODD_SEQUENCES
    },
    **{
        f"commit {value!r}": [ATOMIC, part(1), part(2, commit=value), last(2), part(3), last(1)]
        for value in ODD_COMMITS
    },
    **{
        f"id {value!r}": [ATOMIC, part(1, batch=value), part(2, batch=value), last(3, batch=value)]
        for value in ODD_IDS
    },
    "a commit without an id is no batch": [ATOMIC, part(1, batch=None, commit="1")],
    "nobody asks": [made(), part(1, batch=None), part(None, batch=""), part(2, commit="1")],
    "too large in the middle, and then right": [
        atomic(max_msg_size=100),
        part(1),
        part(2, payload=b"x" * 100),
        last(2),
    ],
    "larger than allowed by the time of the commit": [
        ATOMIC,
        part(1, payload=b"x" * 10),
        updated(allow_atomic=True, max_msg_size=1000),
        last(2),
    ],
    "headers above 64 kB": [ATOMIC, part(1, X="y" * 70_000), last(2), part(1), last(2)],
    "two streams with one id": [
        ATOMIC,
        made("U", allow_atomic=True),
        part(1),
        part(1, "u.a"),
        last(2, "u.a"),
        last(2),
    ],
    "in one write": [
        ATOMIC,
        Pipelined([Pub("t.x"), part(1), Pub("t.x"), part(2), last(3), Pub("t.x"), part(1)]),
        Pipelined([last(2), part(1), part(3), last(4), Pub("t.x")]),
    ],
}

EXPECTED: Scenarios = {
    "stream": [
        ATOMIC,
        *whole(of(), with_header(EXPECTED_STREAM, "T")),
        *whole(of(), with_header(EXPECTED_STREAM, "U")),
    ],
    **{
        f"last sequence {value!r} on the first": [
            ATOMIC,
            *many(2),
            *whole(with_header(EXPECTED_LAST, value), of()),
        ]
        for value in ("0", "2", "3", "x", "")
    },
    **{
        f"last sequence {value!r} on the second": [
            ATOMIC,
            *many(2),
            *whole(of(), with_header(EXPECTED_LAST, value)),
        ]
        for value in ("0", "2", "3", "x", "")
    },
    **{
        f"last subject sequence {value!r}": [
            ATOMIC,
            *many(2),
            Pub("t.b"),
            *whole(of("t.c"), with_header(EXPECTED_SUBJECT, value), of("t.b")),
        ]
        for value in ("0", "2", "3", "4", "x", "")
    },
    "last subject sequence of a subject in the batch": [
        ATOMIC,
        *whole(of(), with_header(EXPECTED_SUBJECT, "1")),
        *whole(of(), with_header(EXPECTED_SUBJECT, "0")),
        *whole(with_header(EXPECTED_SUBJECT, "0"), of()),
        *whole(with_header(EXPECTED_SUBJECT, "2"), with_header(EXPECTED_SUBJECT, "2")),
    ],
    "last subject sequence of another subject": [
        ATOMIC,
        *many(2),
        *whole(of("t.b"), of("t.c", Nats_Expected_Last_Subject_Sequence="2")),
        *whole(
            of("t.b"),
            expecting("2", "t.a"),
            expecting("2", "t.a", "t.d"),
        ),
        *whole(of("t.a"), expecting("2", "t.a")),
        *whole(of("t.e"), expecting("2", "t.a", "t.e")),
        *whole(of("t.e"), with_header(EXPECTED_SUBJECT_SUBJECT, "t.a")),
    ],
    "last subject sequence of a pattern": [
        ATOMIC,
        *many(2),
        *whole(expecting("2", "t.*", "t.b")),
        *whole(of("t.b"), expecting("3", "t.*")),
    ],
    "last message id": [
        ATOMIC,
        Pub("t.a", headers={ID: "1"}),
        *whole(of(), with_header(EXPECTED_ID, "1")),
        *whole(with_header(EXPECTED_ID, ""), of()),
        *whole(of(Nats_Msg_Id="1"), with_header(EXPECTED_ID, "1")),
    ],
    "after a batch with ids": [
        ATOMIC,
        *whole(of(Nats_Msg_Id="1"), of(Nats_Msg_Id="2")),
        Pub("t.a", headers={EXPECTED_ID: "1"}),
        Pub("t.a", headers={EXPECTED_ID: "2"}),
        *whole(of(Nats_Msg_Id="3"), of()),
        Pub("t.a", headers={EXPECTED_ID: "3"}),
    ],
    "after a transform": [
        atomic(subject_transform={"src": "t.*", "dest": "n.{{wildcard(1)}}"}),
        *whole(of("t.a"), of("t.b")),
        *whole(of("t.b", Nats_Expected_Last_Subject_Sequence="2"), of("t.c")),
        *whole(of("t.a", Nats_Expected_Last_Subject_Sequence="0"), of("t.c")),
        *whole(of("t.c"), of("t.c", Nats_Expected_Last_Subject_Sequence="4")),
    ],
}

LIMITS: Scenarios = {
    "max_msgs": [atomic(max_msgs=3), *many(3), *whole(of("t.b"), of("t.c"))],
    "max_msgs smaller than the batch": [atomic(max_msgs=2), *whole(*[of()] * 5)],
    "max_bytes": [atomic(max_bytes=400), *many(3), *whole(*[of(payload=b"y" * 40)] * 3)],
    "max_msgs_per_subject": [
        atomic(max_msgs_per_subject=2),
        *many(3),
        *whole(of(), of("t.b"), of(), of("t.b"), of()),
    ],
    **{
        f"discard new, {storage}": [
            atomic(discard="new", max_msgs=4, storage=storage),
            *many(2),
            *whole(*[of()] * 3),
            *whole(*[of()] * 2),
            *whole(of()),
        ]
        for storage in ("file", "memory")
    },
    **{
        f"discard new by bytes, {storage}": [
            atomic(discard="new", max_bytes=500, storage=storage),
            *whole(*[of(payload=b"y" * 40)] * 3),
            *whole(*[of(payload=b"y" * 40)] * 2),
            *whole(of(payload=b"y" * 20)),
        ]
        for storage in ("file", "memory")
    },
    "discard new where the oldest of a subject would give way": [
        atomic(discard="new", max_msgs=2, max_msgs_per_subject=1),
        Pub("t.a"),
        Pub("t.b"),
        Pub("t.a"),
        *whole(of()),
        *whole(of(), of("t.b")),
    ],
    "discard new per subject": [
        atomic(
            discard="new",
            max_msgs_per_subject=2,
            discard_new_per_subject=True,
            allow_rollup_hdrs=True,
        ),
        *whole(of(), of()),
        *whole(of("t.b"), of()),
        *whole(of("t.b"), of("t.b"), of("t.b")),
        *whole(with_header(ROLLUP, "sub"), of("t.c")),
        *whole(of("t.c"), of("t.c")),
    ],
    "work queue": [atomic(retention="workqueue"), *whole(of(), of("t.b"))],
    "interest without anybody": [
        atomic(retention="interest"),
        *whole(of(), of("t.b", Nats_Msg_Id="1")),
        Pub("t.a", headers={EXPECTED_ID: "1"}),
    ],
    "interest of somebody": [
        atomic(retention="interest"),
        Api(
            "CONSUMER.DURABLE.CREATE.T.C",
            {
                "stream_name": "T",
                "config": {
                    "durable_name": "C",
                    "ack_policy": "explicit",
                    "filter_subject": "t.b",
                    "metadata": {},
                },
            },
        ),
        *whole(of(), of("t.b"), of(), of("t.b")),
    ],
    "no_ack": [
        atomic(no_ack=True),
        Listen("never"),
        *(
            Pub("t.a", b"x", {"Nats-Batch-Id": "b", "Nats-Batch-Sequence": str(n)}, acked=False)
            for n in (1, 2)
        ),
        part(3, commit="1", acked=False),
        Quiet(),
    ],
}

CHANGES: Scenarios = {
    "rollup of a subject": [
        atomic(allow_rollup_hdrs=True),
        *many(2),
        Pub("t.b"),
        *whole(of("t.b"), with_header(ROLLUP, "sub"), of("t.a")),
        *whole(of(), with_header(ROLLUP, "sub")),
        *whole(with_header(ROLLUP, "SUB"), with_header(ROLLUP, "sub", "t.b")),
    ],
    "rollup of all": [
        atomic(allow_rollup_hdrs=True),
        *many(3),
        *whole(of("t.b"), with_header(ROLLUP, "all")),
        *whole(with_header(ROLLUP, "all"), of("t.b")),
        *whole(with_header(ROLLUP, "no"), of("t.b")),
    ],
    "rollup with limits": [
        atomic(allow_rollup_hdrs=True, max_msgs=3),
        Pub("t.b"),
        Pub("t.b"),
        Pub("t.a"),
        *whole(with_header(ROLLUP, "sub"), of("t.x")),
    ],
    "rollup not allowed": [ATOMIC, *whole(with_header(ROLLUP, "sub"), of())],
    "republish": [
        atomic(republish={"src": "t.>", "dest": "copy.>"}),
        Listen("copy.>"),
        Pub("t.a"),
        *whole(of(), of("t.b", b"payload", A="b"), of()),
        Heard(4),
        *whole(of(), with_header(EXPECTED_LAST, "1")),
        Quiet(),
    ],
    "republish headers only, ended by eob": [
        atomic(republish={"src": "t.>", "dest": "copy.>", "headers_only": True}),
        Listen("copy.>"),
        part(1),
        part(2, "t.b"),
        end(3),
        Heard(2),
    ],
    "transform": [
        atomic(subject_transform={"src": "t.*", "dest": "n.{{wildcard(1)}}"}),
        *whole(of("t.a"), of("t.b.c"), of("t.d")),
    ],
    "a status line": [
        ATOMIC,
        Pub("t.a", b"", b"NATS/1.0 503 No\r\nNats-Batch-Id: b\r\nNats-Batch-Sequence: 1\r\n\r\n"),
        last(2),
    ],
    "purged in between": [ATOMIC, *many(2), part(1), purge(), last(2)],
    "removed in between": [ATOMIC, *many(2), part(1), removed(seq=2), last(2)],
    "sealed in between": [
        ATOMIC,
        part(1),
        updated(allow_atomic=True, sealed=True),
        last(2),
        part(1, batch="c"),
    ],
    "features that the stream does not have": [
        ATOMIC,
        *whole(of(), with_header("Nats-TTL", "1")),
        *whole(of(), with_header("Nats-TTL", "x")),
        *whole(of(), with_header("Nats-Incr", "+1")),
        *whole(of(), with_header("Nats-Incr", "x")),
        *whole(of(), with_header("Nats-Schedule", "x")),
        *whole(of(), with_header("Nats-Stream-Source", "x")),
        *whole(of(), with_header("Nats-Marker-Reason", "x")),
    ],
}

MIXED_CONFIGS: list[dict[str, Any]] = [
    {},
    {"storage": "memory"},
    {"allow_rollup_hdrs": True},
    {"allow_rollup_hdrs": True, "max_msgs": 5},
    {"max_msg_size": 160},
    {"discard": "new", "max_msgs": 8},
    {"discard": "new", "max_bytes": 1500},
    {"discard": "new", "max_bytes": 1500, "storage": "memory", "max_msgs_per_subject": 2},
    {
        "discard": "new",
        "max_msgs_per_subject": 3,
        "discard_new_per_subject": True,
        "allow_rollup_hdrs": True,
    },
    {"retention": "interest", "allow_rollup_hdrs": True},
    {"retention": "workqueue", "max_msgs": 5},
    {"max_msgs_per_subject": 2},
    {"subject_transform": {"src": "t.*", "dest": "n.{{wildcard(1)}}"}},
]
MIXED_HEADERS: list[dict[str, str]] = [
    {ID: "a"},
    {ID: "b"},
    {ID: "c"},
    {EXPECTED_STREAM: "T"},
    {EXPECTED_STREAM: "U"},
    {EXPECTED_LAST: "0"},
    {EXPECTED_LAST: "2"},
    {EXPECTED_LAST: "x"},
    {EXPECTED_SUBJECT: "0"},
    {EXPECTED_SUBJECT: "1"},
    {EXPECTED_SUBJECT_SUBJECT: "t.b"},
    {EXPECTED_ID: "a"},
    {ROLLUP: "sub"},
    {ROLLUP: "all"},
    {ROLLUP: "bad"},
    {"Nats-TTL": "1"},
    {"Nats-TTL": "bad"},
    {"Nats-Incr": "+1"},
    {"Nats-Incr": "bad"},
    {"Nats-Schedule": "x"},
    {"Nats-Scheduler": "x"},
    {"Nats-Stream-Source": "x"},
    {"Nats-X": "y" * 70_000},
    {"Nats-Required-Api-Level": "2"},
    {"Nats-Required-Api-Level": "9"},
    {"A": "b"},
]


def mixed_config(chance: random.Random) -> dict[str, Any]:
    return {"allow_atomic": chance.random() < 0.97, **chance.choice(MIXED_CONFIGS)}


def mixed(chance: random.Random) -> list[Pub]:
    """Batches that run into each other, with several headers at once on some messages, so that
    the order of the checks decides. A batch after a commit has an id of its own: now and then the
    reference does not take one again that comes too soon."""
    found: list[Pub] = []
    places = dict.fromkeys("bcd", 0)
    names = {batch: f"{batch}{chance.random()}" for batch in places}
    for _ in range(30):
        headers: dict[str, str] = {}
        for one in chance.sample(MIXED_HEADERS, chance.choice((0, 0, 0, 0, 0, 1, 1, 2))):
            headers |= one
        batch = chance.choice("bcd-")
        if batch != "-":
            places[batch] += chance.choice((1,) * 40 + (0, 2))
            headers |= {BATCH: names[batch], SEQUENCE: str(places[batch] or 1)}
            commit = chance.choice(("1", "1", "1", "eob", "no") if chance.random() < 0.3 else ("",))
            if commit:
                headers[COMMIT] = commit
                places[batch] = 0
                names[batch] = f"{batch}{chance.random()}"
        subject, size = chance.choice(("t.a", "t.b", "t.c")), chance.choice((0, 1, 60, 130))
        found.append(Pub(subject, b"x" * size, headers))
    return found


COUNTED: Scenarios = {
    "a batch counts against its own messages": [
        atomic(allow_msg_counter=True, allow_direct=True),
        Pub("t.a", b"", {"Nats-Incr": "+5"}),
        part(1, "t.a", b"", Nats_Incr="+1"),
        part(2, "t.b", b"", Nats_Incr="+2"),
        last(3, "t.a", b"", Nats_Incr="+10"),
        *(Api("STREAM.MSG.GET.T", {"seq": sequence}) for sequence in range(1, 5)),
    ],
    "every message of the batch needs an increment": [
        atomic(allow_msg_counter=True),
        part(1, "t.a", b"", Nats_Incr="+1"),
        last(2, "t.a", b""),
        Api("STREAM.MSG.GET.T", {"seq": 1}),
    ],
    "a missing increment is told of after what else is wrong with the message": [
        atomic(allow_msg_counter=True),
        Pub("t.a", b"", {"Nats-Incr": "+1", ID: "known"}),
        *(
            last(1, "t.a", b"", batch=name, **{name: value})
            for name, value in (
                (EXPECTED_STREAM, "other"),
                ("Nats-TTL", "5"),
                (ID, "known"),
                ("Nats-Stream-Source", "A 1 > > a"),
                (EXPECTED_LAST, "77"),
                (EXPECTED_SUBJECT, "77"),
                (ROLLUP, "sub"),
                ("Nats-Schedule", "@every 1s"),
            )
        ),
    ],
    "lifetimes are raised to the markers'": [
        atomic(allow_msg_ttl=True, subject_delete_marker_ttl=60 * 10**9),
        part(1, "t.a", Nats_TTL="5s"),
        last(2, "t.b", Nats_TTL="2m"),
        *(Api("STREAM.MSG.GET.T", {"seq": sequence}) for sequence in (1, 2)),
    ],
}

ALL = grouped(
    {
        "counted": COUNTED,
        "control": CONTROL,
        "expected": EXPECTED,
        "limits": LIMITS,
        "changes": CHANGES,
    }
)
