"""Scenarios of the publish path: expectations, rollups, transforms, republishing, features that a
plain stream does not have, and advisories, on both servers."""

from typing import Any

from tests.parity.numbered import Pub
from tests.parity.publish_cases import (
    EXPECTED_ID,
    EXPECTED_LAST,
    EXPECTED_STREAM,
    EXPECTED_SUBJECT,
    EXPECTED_SUBJECT_SUBJECT,
    ID,
    ROLLUP,
    many,
    with_header,
)
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
from tests.parity.streams_peer import Api, Differs, Heard, Listen, Pipelined, Quiet, Step

ODD_NUMBERS = (
    "0", "1", "2", "3", "4", "-1", "+3", "3.0", "0x3", "abc", "", " ", " 3", "3 ", "1_0", "٣",
    "18446744073709551615", "18446744073709551616", "99999999999999999999999", "03",
)  # fmt: skip

STATUS_LINES = (
    b"NATS/1.0 503 Text\r\n\r\n", b"NATS/1.0 503 Text\r\nA: b\r\n\r\n", b"NATS/1.0503\r\n\r\n",
    b"NATS/1.0\r\n\r\n", b"NATS/1.0\r\n", b"NATS/1.0", b"NATS/1.0\n\n", b"NATS/1.0 503 Text",
    b"NATS/1.0 503\rX\r\nA: b\r\n\r\n", b"X\r\n\r\n", b"NATS/1.1 500\r\n\r\n", b"\r\n", b"x",
)  # fmt: skip
ODD_IDS = (
    b"A: x\nNats-Msg-Id: a\r\n\r\n", b"Nats-Msg-Id: b\nNats-Msg-Id: c\r\n\r\n",
    b"Nats-Msg-Id:\ta\r\n\r\n", b"Nats-Msg-Id: a\t\r\n\r\n", b"Nats-Msg-Id : a\r\n\r\n",
    b" Nats-Msg-Id: a\r\n\r\n", b"nats-msg-id: a\r\n\r\n", b"Nats-Msg-Id:",
    b"Nats-Msg-Id: d\r", b"Nats-Msg-Id: d", b"Nats-Msg-Id: d\r\r\n\r\n",
    b"\r\nNats-Msg-Id: d\r\n\r\n", b"A: Nats-Msg-Id: f\r\nNats-Msg-Id: d\r\n\r\n",
)  # fmt: skip

EXPECTED: Scenarios = {
    "stream": [
        made(),
        *(
            with_header(EXPECTED_STREAM, value)
            for value in ("T", "t", "U", "", " ", " T", "T ", "T,U", "*")
        ),
        info(),
    ],
    "last sequence": [
        made(),
        *many(3),
        *(with_header(EXPECTED_LAST, value) for value in ODD_NUMBERS),
        info(),
    ],
    "last sequence in turn": [
        made(),
        *(with_header(EXPECTED_LAST, str(number)) for number in range(5)),
        Pipelined([with_header(EXPECTED_LAST, str(number)) for number in range(5, 10)]),
        Pipelined([with_header(EXPECTED_LAST, "10") for _ in range(3)]),
        info(),
    ],
    "last sequence of an empty stream": [
        made(),
        with_header(EXPECTED_LAST, "1"),
        with_header(EXPECTED_LAST, "0"),
        purge(),
        with_header(EXPECTED_LAST, "0"),
        with_header(EXPECTED_LAST, "1"),
    ],
    "last subject sequence": [
        made(),
        *many(2),
        Pub("t.b"),
        *(with_header(EXPECTED_SUBJECT, value) for value in ODD_NUMBERS),
        info(),
        with_header(EXPECTED_SUBJECT, "0", "t.new"),
        with_header(EXPECTED_SUBJECT, "0", "t.new"),
        removed(seq=3),
        with_header(EXPECTED_SUBJECT, "0", "t.b"),
    ],
    "last subject sequence of another subject": [
        made(),
        Pub("t.a"),
        Pub("t.b"),
        Pub("t.c"),
        *(
            Pub("t.a", b"x", {EXPECTED_SUBJECT: value, EXPECTED_SUBJECT_SUBJECT: subject})
            for value in ("0", "1", "2", "3", "9")
            for subject in ("t.b", "t.*", "t.>", ">", "x", "", "u.b", "t..b", "t.>.b", " t.b ")
        ),
        with_header(EXPECTED_SUBJECT_SUBJECT, "t.b"),
        with_header(EXPECTED_SUBJECT_SUBJECT, ""),
        info(),
        Pub("t.b.x"),
        *(
            Pub("t.a", b"x", {EXPECTED_SUBJECT: value, EXPECTED_SUBJECT_SUBJECT: subject})
            for value in ("0", "4")
            for subject in ("t.>.x", ">.x", "t.*.x")
        ),
        info(),
    ],
    "last message id": [
        made(),
        with_header(EXPECTED_ID, "a"),
        with_header(EXPECTED_ID, ""),
        with_header(ID, "a"),
        with_header(EXPECTED_ID, "b"),
        with_header(EXPECTED_ID, "a"),
        with_header(EXPECTED_ID, "a"),
        Pub("t.a", b"x", {ID: "b", EXPECTED_ID: "a"}),
        with_header(ID, "c"),
        Pub("t.a", b"x", {ID: "d", EXPECTED_ID: "c"}),
        Pub("t.a", b"x", {ID: "d", EXPECTED_ID: "c"}),
        Pub("t.a"),
        with_header(EXPECTED_ID, "d"),
        with_header("A", "b"),
        with_header(EXPECTED_ID, "d"),
        with_header(EXPECTED_ID, 'q"<&>\\'),
        info(),
    ],
    "last message id after a purge": [
        made(),
        with_header(ID, "a"),
        purge(),
        with_header(EXPECTED_ID, "a"),
        info(),
    ],
    "all at once": [
        made(),
        *many(2),
        Pub("t.a", b"x", {EXPECTED_STREAM: "U", EXPECTED_LAST: "9", EXPECTED_SUBJECT: "9"}),
        Pub("t.a", b"x", {EXPECTED_LAST: "9", EXPECTED_SUBJECT: "8", EXPECTED_ID: "x"}),
        Pub("t.a", b"x", {EXPECTED_LAST: "2", EXPECTED_SUBJECT: "8", EXPECTED_ID: "x"}),
        Pub("t.a", b"x", {EXPECTED_LAST: "2", EXPECTED_SUBJECT: "2", EXPECTED_ID: "x"}),
        Pub("t.a", b"x", {EXPECTED_ID: "x", ROLLUP: "bad"}),
        Pub("t.a", b"x", {EXPECTED_LAST: "2", EXPECTED_SUBJECT: "2", EXPECTED_STREAM: "T"}),
        info(),
    ],
    "with discard new": [
        made(discard="new", max_msgs=2),
        *many(2),
        with_header(EXPECTED_LAST, "9"),
        with_header(EXPECTED_LAST, "2"),
        info(),
    ],
}

ROLLUPS: Scenarios = {
    "not allowed": [
        made(),
        *many(2),
        *(with_header(ROLLUP, value) for value in ("sub", "all", "bad", "")),
        info(),
    ],
    "values": [
        made(allow_rollup_hdrs=True),
        *many(2),
        *(with_header(ROLLUP, value) for value in ("", " ", "SUB", "All", "bad", "sub,all", "*")),
        info(),
        with_header(ROLLUP, " sub "),
        info(),
    ],
    "sub": [
        made(allow_rollup_hdrs=True),
        Pub("t.a"),
        Pub("t.b"),
        Pub("t.a"),
        Pub("t.c"),
        with_header(ROLLUP, "sub"),
        info(deleted_details=True, subjects_filter=">"),
        with_header(ROLLUP, "sub", "t.new"),
        info(deleted_details=True),
        Pipelined(
            [with_header(ROLLUP, "sub", "t.b"), Pub("t.b"), with_header(ROLLUP, "sub", "t.b")]
        ),
        info(deleted_details=True, subjects_filter=">"),
    ],
    "all": [
        made(allow_rollup_hdrs=True),
        with_header(ROLLUP, "all"),
        info(),
        Pub("t.a"),
        Pub("t.b"),
        with_header(ROLLUP, "all"),
        info(deleted_details=True, subjects_filter=">"),
        Pub("t.a"),
        info(deleted_details=True),
        get(seq=4),
    ],
    "denied purge": [
        made(deny_purge=True, allow_rollup_hdrs=True),
        made(deny_purge=True),
        Pub("t.a"),
        with_header(ROLLUP, "sub"),
        info(),
    ],
    "in memory": [
        made(allow_rollup_hdrs=True, storage="memory"),
        Pub("t.a"),
        Pub("t.b"),
        Pub("t.a"),
        with_header(ROLLUP, "sub"),
        info(deleted_details=True, subjects_filter=">"),
        with_header(ROLLUP, "all"),
        info(deleted_details=True, subjects_filter=">"),
    ],
    "with discard new per subject": [
        made(
            allow_rollup_hdrs=True,
            discard="new",
            max_msgs_per_subject=1,
            discard_new_per_subject=True,
        ),
        Pub("t.a"),
        Pub("t.a"),
        with_header(ROLLUP, "sub"),
        info(),
    ],
    "with discard new": [
        made(allow_rollup_hdrs=True, discard="new", max_msgs=2),
        *many(2),
        with_header(ROLLUP, "sub"),
        with_header(ROLLUP, "all"),
        info(),
    ],
    "with an id": [
        made(allow_rollup_hdrs=True),
        *many(2),
        Pub("t.a", b"x", {ID: "1", ROLLUP: "all"}),
        Pub("t.a", b"x", {ID: "1", ROLLUP: "all"}),
        info(),
    ],
}

TRANSFORMS: Scenarios = {
    "of the stream": [
        made(subject_transform={"src": "t.*", "dest": "n.{{wildcard(1)}}"}),
        Pub("t.a"),
        Pub("t.b.c"),
        Pipelined(many(3, "t.x")),
        get(seq=1),
        get(seq=2),
        get(last_by_subj="n.x"),
        info(subjects_filter=">"),
        with_header(EXPECTED_SUBJECT, "1"),
        with_header(EXPECTED_SUBJECT, "0"),
        Pub("t.a", b"x", {EXPECTED_SUBJECT: "0", EXPECTED_SUBJECT_SUBJECT: "t.a"}),
        Pub("t.a", b"x", {EXPECTED_SUBJECT: "6", EXPECTED_SUBJECT_SUBJECT: "n.a"}),
        info(subjects_filter=">"),
    ],
    "changed": [
        made(),
        Pub("t.a"),
        updated(subject_transform={"src": ">", "dest": "n.>"}),
        Pub("t.a"),
        updated(),
        Pub("t.a"),
        info(subjects_filter=">"),
    ],
    "with limits": [
        made(subject_transform={"src": ">", "dest": "one"}, max_msgs_per_subject=1),
        Pub("t.a"),
        Pub("t.b"),
        info(subjects_filter=">"),
    ],
}


def republished(**rule: Any) -> list[Step]:
    return [
        made(republish=rule),
        Listen("r.>"),
        Pub("t.a", b"hello"),
        Pub("t.b", b"", {"A": "b"}),
        Pub("t.a", b"again", {ID: "1", "A": "b"}),
        Pub("t.a", b"again", {ID: "1", "A": "b"}),
        with_header(EXPECTED_LAST, "99"),
        Pub("t.b", b"last"),
        Heard(4),
        Quiet(),
        info(),
    ]


REPUBLISH: Scenarios = {
    "everything": republished(src=">", dest="r.>"),
    "without source": republished(dest="r.>"),
    "headers only": republished(src=">", dest="r.>", headers_only=True),
    "one subject": [
        made(republish={"src": "t.a", "dest": "r.one"}),
        Listen("r.>"),
        Pub("t.b"),
        Pub("t.a", b"1"),
        Pub("t.c"),
        Pub("t.a", b"2"),
        Heard(2),
        Quiet(),
    ],
    "pipelined": [
        made(republish={"src": ">", "dest": "r.>"}),
        Listen("r.>"),
        Pipelined(many(20)),
        Heard(20),
    ],
    "changed": [
        made(),
        Listen("r.>"),
        Pub("t.a"),
        updated(republish={"src": ">", "dest": "r.>"}),
        Pub("t.a"),
        Heard(1),
        updated(),
        Pub("t.a"),
        Quiet(),
    ],
    "after a transform": [
        made(
            subject_transform={"src": "t.>", "dest": "n.>"},
            republish={"src": "n.>", "dest": "r.>"},
        ),
        Listen("r.>"),
        Pub("t.a"),
        Heard(1),
    ],
}

FEATURES: Scenarios = {
    "ttl on a plain stream": [
        made(),
        *(
            with_header("Nats-TTL", value)
            for value in ("1", "1s", "never", "abc", "-5", "500ms", "1.5", "9223372036", "")
        ),
        info(),
    ],
    "ttl 0 on a plain stream": [  # ADR-43: as good as none, but the feature is off
        made(),
        Differs(with_header("Nats-TTL", "0"), 10165, 10166),
        Differs(with_header("Nats-TTL", "0s"), 10165, 10166),
        info(),
    ],
    "counter on a plain stream": [
        made(),
        *(with_header("Nats-Incr", value) for value in ("+1", "-1", "1", "abc", "")),
        with_header("Nats-Incr", "+1", payload=b""),
        info(),
    ],
    "batch on a plain stream": [
        made(),
        *(with_header("Nats-Batch-Id", value) for value in ("id", "x" * 65, "")),
        Pub("t.a", b"x", {"Nats-Batch-Id": "id", "Nats-Batch-Sequence": "1"}),
        Pub(
            "t.a",
            b"x",
            {"Nats-Batch-Id": "id", "Nats-Batch-Sequence": "1", "Nats-Batch-Commit": "1"},
        ),
        with_header("Nats-Batch-Sequence", "1"),
        with_header("Nats-Batch-Commit", "1"),
        info(),
    ],
    "schedule and source headers": [
        made(),
        with_header("Nats-Schedule", "@every 1s"),
        with_header("Nats-Stream-Source", "x"),
        with_header("Nats-Stream-Source", ""),
        with_header("Nats-Counter-Sources", "{}"),
        with_header("Nats-Marker-Reason", "MaxAge"),
        info(),
    ],
    "several at once": [
        made(),
        Pub("t.a", b"x", {"Nats-TTL": "1", "Nats-Incr": "+1", "Nats-Batch-Id": "a"}),
        Pub("t.a", b"x", {"Nats-TTL": "1", "Nats-Incr": "+1"}),
        Pub("t.a", b"x", {"Nats-TTL": "1", ROLLUP: "all"}),
        Pub("t.a", b"x", {"Nats-TTL": "1", EXPECTED_STREAM: "U"}),
        Pub("t.a", b"x", {"Nats-TTL": "1", EXPECTED_LAST: "9"}),
        Pub("t.a", b"x", {"Nats-Incr": "1", EXPECTED_STREAM: "U"}),
        Pub("t.a", b"x", {"Nats-Stream-Source": "1", EXPECTED_LAST: "9"}),
        Pub("t.a", b"x", {"Nats-Stream-Source": "1", ID: "9"}),
        info(),
    ],
}

ADVISORIES: Scenarios = {
    "of a stream": [
        Listen("$JS.EVENT.ADVISORY.STREAM.>"),
        made(),
        Heard(1),
        made(),
        made(max_msgs=5),
        updated(max_msgs=5),
        Heard(1),
        updated(num_replicas=3),
        Pub("t.a"),
        purge(),
        Api("STREAM.DELETE.T"),
        Heard(1),
        Api("STREAM.DELETE.T"),
        Quiet(),
    ],
    "of the API": [
        Listen("$JS.EVENT.ADVISORY.API"),
        *(
            step
            for request in (
                made(),
                made(max_msgs=5),
                Api("STREAM.CREATE.T", "{}"),
                updated(max_msgs=5),
                info(),
                info("X"),
                Api("STREAM.NAMES"),
                Api("STREAM.LIST"),
                Api("INFO"),
                purge(),
                purge(seq=1, keep=1),
                removed(seq=1),
                get(seq=10),
                Api("STREAM.INFO.T", headers={"Nats-Required-Api-Level": "9"}),
                Api("STREAM.DELETE.T"),
            )
            for step in (request, Heard(1))
        ),
        made(),
        Heard(1),
        Pub("t.a"),
        get(seq=1),
        Api("X", silent=True),
        Quiet(),
        Pub("$JS.API.STREAM.INFO.T", b"", acked=False),
        Heard(1),
    ],
}

WIRE: Scenarios = {
    "above 64 kB": [
        made(),
        Pub("t.a", b"x", {"A": "b" * (65_535 - 16)}),
        Pub("t.a", b"x", {"A": "b" * (65_535 - 17)}),
        Pub("t.a", b"x", {"A": "b" * 65_536}),
        Pub("t.a", b"x", {"A": "b" * 65_536, ID: "1"}),
        Pub("t.a", b"x", {"A": "b" * 100_000}),
        info(),
    ],
    "a status line": [
        made(),
        *(
            step
            for number, headers in enumerate(STATUS_LINES, 1)
            for step in (Pub("t.a", b"p", headers), get(seq=number))
        ),
        info(),
    ],
    "an id with a blank at its end": [
        made(),
        Pipelined([with_header(ID, "a"), with_header(ID, "a "), with_header(ID, " a")]),
        Pipelined([with_header(ID, "b"), with_header(ID, "c ")]),
        Pipelined([with_header(ID, "c"), with_header(ID, "d")]),
        info(),
    ],
    "ids in odd places": [
        made(),
        *(Pub("t.a", b"p", b"NATS/1.0\r\n" + lines) for lines in ODD_IDS),
        with_header(ID, "a"),
        with_header(ID, "b"),
        Pub("t.a", b"p", b"Nats-Msg-Id: a\r\n\r\n"),
        Pub("t.a", b"p", b"X\r\nNats-Msg-Id: a\r\n\r\n"),
        info(),
    ],
}

ALL = grouped(
    {
        "expected": EXPECTED,
        "rollup": ROLLUPS,
        "transform": TRANSFORMS,
        "republish": REPUBLISH,
        "features": FEATURES,
        "advisories": ADVISORIES,
        "wire": WIRE,
    }
)
