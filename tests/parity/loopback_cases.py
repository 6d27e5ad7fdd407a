"""Scenarios in which the server hears itself: copies, acknowledgements, replies and advisories that
go to subjects of a stream or of the API, on both servers."""

from typing import Any

from tests.parity.numbered import Pub
from tests.parity.publish_cases import EXPECTED_LAST, EXPECTED_STREAM, ID, many, with_header
from tests.parity.stream_api_cases import Scenarios, get, grouped, info, made, purge, updated
from tests.parity.streams_peer import Api, Awaited, Done, Heard, Listen, Pipelined, Quiet, Step

BOTH_STORAGES = ("file", "memory")
TO_U = {"src": ">", "dest": "u.>"}


def keeper(name: str = "U", **fields: Any) -> Api:
    """A stream whose messages are compared with `stored`."""
    return made(name, allow_direct=True, **fields)


def stored(count: int, name: str = "U") -> list[Step]:
    """Exactly so many messages arrive; all of them, headers included."""
    reads = [Pub(f"$JS.API.DIRECT.GET.{name}", {"seq": number + 1}) for number in range(count)]
    return [Awaited(name, count), *reads]


def answered_to(reply: str, subject: str = "t.a", payload: bytes = b"x", **headers: str) -> Pub:
    """A publish whose acknowledgement goes where the server listens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Pub(subject, payload, named or None, acked=False, reply=reply)


COPIES: Scenarios = {
    **{
        f"from {one} to {other}": [
            made(storage=one, republish=TO_U),
            keeper(storage=other),
            Pub("t.a", b"1"),
            Pub("t.a", b"2"),
            Pub("t.b", b"", {"A": "b"}),
            *stored(3),
        ]
        for one in BOTH_STORAGES
        for other in BOTH_STORAGES
    },
    "pipelined": [
        made(republish=TO_U),
        keeper(),
        Pipelined(many(20)),
        *stored(20),
    ],
    "headers only": [
        made(republish=TO_U | {"headers_only": True}),
        keeper(),
        Pub("t.a", b"12345"),
        Pub("t.a", b"", {"A": "b"}),
        *stored(2),
    ],
    "to a subscriber and a stream": [
        made(republish=TO_U),
        keeper(),
        Listen("u.>"),
        Pub("t.a", b"1"),
        Heard(1),
        Pub("u.x", b"2"),
        Heard(1),
        *stored(2),
        Quiet(),
    ],
    "of duplicates there are none": [
        made(republish=TO_U),
        keeper(),
        with_header(ID, "1"),
        with_header(ID, "1"),
        with_header(ID, "2"),
        Awaited("U", 2),
        with_header(ID, "2", "u.own"),
        with_header(ID, "3", "u.own"),
        with_header(ID, "3"),
        *stored(3),
        info(),
    ],
    "with expectations that another stream does not meet": [
        made(republish=TO_U),
        keeper(),
        with_header(EXPECTED_STREAM, "T"),
        with_header(EXPECTED_LAST, "1"),
        Pub("t.a", b"1"),
        Awaited("U", 1),
        *stored(1),
    ],
    "into a stream that takes few": [
        made(republish=TO_U),
        keeper(max_msgs=2, discard="new"),
        *many(4),
        *stored(2),
        purge("U"),
        Pub("t.a", b"later"),
        Awaited("U", 1),
        Pub("$JS.API.DIRECT.GET.U", {"seq": 3}),
    ],
    "of a chain": [
        made(republish={"src": "t.>", "dest": "u.>"}),
        keeper(republish={"src": "u.>", "dest": "v.>"}),
        keeper("V"),
        *many(3),
        *stored(3, "V"),
        *stored(3),
    ],
    "into a stream that comes and goes": [
        made(republish=TO_U),
        Pub("t.a", b"1"),
        keeper(),
        Pub("t.a", b"2"),
        *stored(1),
        Api("STREAM.DELETE.U"),
        Pub("t.a", b"3"),
        keeper(),
        Pub("t.a", b"4"),
        *stored(1),
    ],
    "in a circle of one": [
        made(republish={"src": ">", "dest": "t.>"}),
        made(republish={"src": "t.a", "dest": "t.b"}),
        info(),
    ],
    "after a transform on the other side": [
        made(republish=TO_U),
        keeper(subject_transform={"src": "u.*.*", "dest": "n.{{wildcard(2)}}"}),
        *many(2),
        *stored(2),
    ],
}

ACKNOWLEDGEMENTS: Scenarios = {
    "in another stream": [
        made(),
        keeper(),
        *(answered_to(f"u.{number}") for number in range(3)),
        *stored(3),
        info(),
    ],
    "in the same stream": [
        keeper("T"),
        answered_to("t.ack"),
        *stored(2, "T"),
        answered_to("t.ack", Nats_Msg_Id="1"),
        *stored(4, "T"),
    ],
    "pipelined": [
        made(),
        keeper(),
        Pipelined([answered_to(f"u.{number}") for number in range(30)]),
        *stored(30),
    ],
    "refusals and duplicates": [
        made(),
        keeper(),
        answered_to("u.a", Nats_Msg_Id="1"),
        answered_to("u.b", Nats_Msg_Id="1"),
        answered_to("u.c", Nats_Expected_Stream="X"),
        *stored(3),
        info(),
    ],
    "after the copy": [
        made(republish=TO_U),
        keeper(),
        *(answered_to(f"u.{number}") for number in range(3)),
        *stored(6),
    ],
    "of nothing": [
        made(no_ack=True),
        keeper(),
        answered_to("u.a"),
        Pub("nobody.listens", acked=False, reply="u.b"),
        Pub("t.a", acked=False),
        Awaited("T", 2),
        info("U"),
    ],
    "that are copied": [
        made(),
        keeper(republish={"src": "u.>", "dest": "v.>"}),
        keeper("V"),
        answered_to("u.a"),
        *stored(1, "V"),
    ],
}

REPLIES: Scenarios = {
    "of the API": [
        made(),
        keeper(),
        Pub("$JS.API.STREAM.DELETE.T", b"", acked=False, reply="u.deleted"),
        Awaited("U", 1),
        Pub("$JS.API.STREAM.DELETE.T", b"", acked=False, reply="u.deleted"),
        *stored(2),
    ],
    "of direct reads": [
        keeper("T"),
        keeper(),
        Pub("t.a", b"1", {"A": "b"}),
        Pub("$JS.API.DIRECT.GET.T", {"seq": 1}, acked=False, reply="u.direct"),
        Pub("$JS.API.DIRECT.GET.T", {"seq": 9}, acked=False, reply="u.direct"),
        *stored(2),
    ],
}

REQUESTS: Scenarios = {
    "by a copy": [
        made(republish={"src": "t.*", "dest": "$JS.API.STREAM.PURGE.{{wildcard(1)}}"}),
        made("U"),
        Pub("u.a"),
        Pub("t.U", b""),
        Awaited("U", 0),
        Pub("t.X", b""),
        Pub("t.U", b"{"),
        info("U"),
    ],
    "by an acknowledgement": [
        made(),
        made("U"),
        Pub("u.a"),
        answered_to("$JS.API.STREAM.PURGE.U"),
        answered_to("$JS.API.STREAM.DELETE.U"),
        Awaited("T", 2),
        info("U"),
    ],
    "kept in a stream": [
        made("E", subjects=["$JS.API.>"]),
        made(
            "E",
            subjects=["$JS.API.>"],
            no_ack=True,
            republish={"src": ">", "dest": "kept.>"},  # tells when a request is stored
        ),
        Listen("kept.>"),
        made(),
        info(),
        Heard(2),
        get("E", seq=1),
        get("E", seq=2),
        Heard(2),
        get("E", seq=3),
    ],
}

ADVISORIES: Scenarios = {
    "of streams": [
        *(
            made(name, subjects=[f"$JS.EVENT.ADVISORY.STREAM.{verb}.T"])
            for name, verb in (("C", "CREATED"), ("U", "UPDATED"), ("D", "DELETED"))
        ),
        made(),
        made(),
        updated(max_msgs=5),
        Pub("t.a"),
        purge(),
        Api("STREAM.DELETE.T"),
        Api("STREAM.DELETE.T"),
        Awaited("C", 1),
        Awaited("U", 1),
        Awaited("D", 1),
    ],
    "of all kinds": [
        made("E", subjects=["$JS.EVENT.ADVISORY.STREAM.*.T"]),
        made(),
        Api("STREAM.DELETE.T"),
        Awaited("E", 2),
    ],
    "to a subscriber and a stream": [
        Listen("$JS.EVENT.ADVISORY.STREAM.CREATED.*"),
        made("E", subjects=["$JS.EVENT.ADVISORY.STREAM.CREATED.T"]),
        Heard(1),
        made(),
        Heard(1),
        Awaited("E", 1),
        Quiet(),
    ],
    "subjects that need no no_ack": [
        step
        for subject in (
            "$JS.EVENT.>", "$JS.EVENT.ADVISORY.>", "$JS.EVENT.METRIC.>", "$JS.EVENT.ADVISORY.API",
            "$JS.EVENT", "$JS.*.ADVISORY.>", "$JS.>", "$SYS.ACCOUNT.>", "$SYS.>",
        )
        for step in (
            Done(Api("STREAM.CREATE.E", {"name": "E", "subjects": [subject]})),
            Api("STREAM.DELETE.E"),
        )
    ],
}  # fmt: skip

ALL = grouped(
    {
        "copies": COPIES,
        "acknowledgements": ACKNOWLEDGEMENTS,
        "replies": REPLIES,
        "requests": REQUESTS,
        "advisories kept": ADVISORIES,
    }
)
