"""Scenarios of the stream API: lists of steps that both servers answer alike.

Every scenario begins without streams. `made` creates one; most are called T.
"""

from typing import Any

from tests.parity.numbered import Pub
from tests.parity.streams_peer import Api, Done, Listen, Quiet, Step, Until

Scenarios = dict[str, list[Step]]

LEVEL = "Nats-Required-Api-Level"


def made(name: str = "T", **fields: Any) -> Api:
    return Api(f"STREAM.CREATE.{name}", {"name": name, "subjects": [f"{name.lower()}.>"], **fields})


def updated(name: str = "T", **fields: Any) -> Api:
    return Api(f"STREAM.UPDATE.{name}", {"name": name, "subjects": [f"{name.lower()}.>"], **fields})


def info(name: str = "T", **fields: Any) -> Api:
    return Api(f"STREAM.INFO.{name}", fields or None)


def purge(name: str = "T", **fields: Any) -> Api:
    return Api(f"STREAM.PURGE.{name}", fields or None)


def get(name: str = "T", **fields: Any) -> Api:
    return Api(f"STREAM.MSG.GET.{name}", fields)


def removed(name: str = "T", **fields: Any) -> Api:
    return Api(f"STREAM.MSG.DELETE.{name}", fields)


def filled(count: int = 10, kinds: int = 3) -> list[Step]:
    """Messages on t.0, t.1, ... in turn."""
    return [Pub(f"t.{number % kinds}", b"m" * number) for number in range(count)]


def grouped(groups: dict[str, Scenarios]) -> Scenarios:
    """All of them, each named after its group."""
    return {
        f"{group}: {name}": steps
        for group, scenarios in groups.items()
        for name, steps in scenarios.items()
    }


BAD_BODIES = ("{", "[]", "5", '"x"', "null", "{}", " ", '{"foo":1}', "[" * 20_000, "\x00", "{}x")


def malformed(subject: str) -> list[Step]:
    return [Api(subject, body) for body in BAD_BODIES]


LIFECYCLE: Scenarios = {
    "create again": [
        made(),
        made(),
        made(max_msgs=5),
        info(),
        Api("STREAM.CREATE.T", {"name": "U"}),
        Api("STREAM.CREATE.T"),
        Api("STREAM.CREATE.T", "{}"),
        Api("STREAM.CREATE", {"name": "T"}, silent=True),
        Api("STREAM.CREATE.T.U", {"name": "T"}, silent=True),
    ],
    "create with content": [made(), *filled(3), made(), info()],
    "first_seq": [
        made(first_seq=100),
        info(),
        Pub("t.a"),
        info(),
        purge(),
        info(),
        Pub("t.a"),
        info(),
    ],
    "purges before the first message": [
        made(),
        purge(filter="t.a"),
        info(),
        purge(keep=3),
        info(),
        purge(),
        info(),
    ],
    "first_seq of one": [made(first_seq=1), info(), Pub("t.a"), info()],
    "update": [
        made(),
        *filled(5),
        updated(max_msgs=2),
        info(),
        updated(max_msgs=2, subjects=["t.1", "u"]),
        Pub("u"),
        Pub("t.0"),
        info(),
        updated(description="x", metadata={"a": "b"}),
        info(),
        updated(num_replicas=3),
        updated(storage="memory"),
        updated(name="U"),
        Api("STREAM.UPDATE.X", {"name": "X"}),
        Api("STREAM.UPDATE.T"),
        info(),
    ],
    "update limits apply at once": [
        made(),
        *filled(9),
        updated(max_msgs_per_subject=2),
        info(),
        updated(max_bytes=100, max_msgs_per_subject=2),
        info(),
        Done(updated(max_age=100_000_000, duplicate_window=100_000_000)),
        Until("T", 0),
        info(),
    ],
    "update of the age applies at once": [
        made(),
        *filled(9),
        Listen("never"),
        Quiet(),
        updated(max_age=100_000_000, duplicate_window=100_000_000),
        info(),
    ],
    "wildcards that stand in the wrong place": [
        made(),
        *(Pub(subject) for subject in ("t.a", "t.a.x", "t.b.b.x", "t.x", "t.c.d.e")),
        *(
            step
            for pattern in ("t.>.x", ">.x", "t.>.>", "*.>.*", "t.*.>.x", ">.>", "t.>x", "t.*x")
            for step in (info(subjects_filter=pattern), purge(filter=pattern))
        ),
        purge(filter="t.>.x", keep=1),
        purge(filter="t.>.x", seq=4),
        info(subjects_filter=">"),
    ],
    "delete": [
        made(),
        Api("STREAM.DELETE.T", "{}"),
        Api("STREAM.DELETE.T", " "),
        Api("STREAM.DELETE.X"),
        Api("STREAM.DELETE.X", "{}"),
        info(),
        Api("STREAM.DELETE.T"),
        Api("STREAM.DELETE.T"),
        info(),
        Pub("t.a"),
        made(),
        info(),
        Pub("t.a"),
    ],
    "removed from memory": [
        made(storage="memory"),
        *filled(3),
        *(removed(seq=number) for number in (100, 1, 1, 3, 3, 2, 2, 0)),
        info(),
    ],
    "sealed": [
        made(),
        *filled(3),
        updated(sealed=True),
        info(),
        Pub("t.a"),
        Pub("t.a", headers={"Nats-Msg-Id": "1"}),
        purge(),
        purge(seq=2, keep=1),
        removed(seq=1),
        removed(seq=100),
        get(seq=1),
        updated(),
        updated(sealed=True, max_msgs=2),
        info(),
        Api("STREAM.DELETE.T"),
    ],
    "denied": [
        made(deny_delete=True, deny_purge=True),
        *filled(3),
        purge(),
        purge(seq=2, keep=1),
        purge(filter="x"),
        removed(seq=1),
        removed(seq=100),
        removed(seq=0),
        updated(),
        updated(deny_delete=True),
        info(),
        Api("STREAM.DELETE.T"),
    ],
    "overlaps": [
        made(),
        made("U", subjects=["t.a"]),
        made("U", subjects=["*.a"]),
        made("U"),
        updated("U", subjects=["u.>", "t.x"]),
        info("U"),
        Pub("u.1"),
        Pub("t.x"),
        info("T"),
        info("U"),
    ],
    "replicas and placement": [
        made(num_replicas=-1),
        made(num_replicas=100_000),
        made(num_replicas=3),
        made(num_replicas=3, placement={"cluster": "c"}),
        made(placement={"preferred": "s"}),
        made(num_replicas=1, placement={"cluster": "c", "tags": ["a"]}),
        info(),
        updated(placement={"tags": ["b"]}),
        updated(placement={"preferred": "s"}),
        info(),
    ],
    "discard new keeps what is there": [
        made(discard="new"),
        *(Pub(f"t.{number % 3}") for number in range(6)),
        updated(discard="new", max_msgs=2),
        Pub("t.0"),
        updated(discard="new", max_bytes=70),
        Pub("t.0"),
        updated(discard="new", max_msgs=1, max_msgs_per_subject=1),
        info(subjects_filter=">"),
        Pub("t.3"),
        Pub("t.0"),
        info(subjects_filter=">", deleted_details=True),
        updated(max_msgs=2),
        info(),
    ],
    "sealing keeps what is there": [
        made(),
        *(Pub(f"t.{number % 3}") for number in range(6)),
        updated(sealed=True, max_msgs=2),
        updated(sealed=True, max_bytes=70),
        info(subjects_filter=">"),
        updated(sealed=True, max_msgs_per_subject=1),
        info(subjects_filter=">", deleted_details=True),
    ],
    "bad names": [
        Api("STREAM.CREATE.a/b", {"name": "a/b"}),
        Api("STREAM.CREATE.a\\b", {"name": "a\\b"}),
        Api("STREAM.CREATE." + "x" * 256, {"name": "x" * 256}),
        Api("STREAM.INFO.a/b"),
        Api("STREAM.DELETE.a/b"),
        Api("STREAM.PURGE.a/b"),
        Api("STREAM.MSG.GET.a/b", {"seq": 1}),
        Api("STREAM.MSG.DELETE.a/b", {"seq": 1}),
        Api("STREAM.NAMES"),
    ],
    "reserved subjects": [
        made(subjects=["$JS.API.>"]),
        made(subjects=["$JS.>"]),
        made(subjects=["$SYS.>"]),
        made(subjects=[">"]),
        made(subjects=["*.API.INFO"]),
        made(subjects=["$JS.EVENT.ADVISORY.>"]),
        made("U", subjects=["$SYS.ACCOUNT.>"]),
        made("V", subjects=["$KV.a.>"]),
    ],
    "no-ack stream over the API": [
        made(subjects=["$JS.API.X.>"], no_ack=True),
        Pub("$JS.API.X.a", acked=False),
        Until("T", 1),
        get(seq=1),
    ],
    "limits out of range": [
        made(max_bytes=10**15),
        made(max_bytes=10**15, storage="file"),
        made(max_bytes=10**15, storage="memory"),
        made(max_age=1),
        made(max_age=-1),
        made(max_msgs=-5),
        made("U", max_age=200_000_000, duplicate_window=10**9),
        made("U", duplicate_window=-1),
    ],
    "memory storage": [
        made(storage="memory"),
        *filled(5),
        info(),
        removed(seq=2),
        purge(keep=1),
        info(),
        Api("STREAM.DELETE.T"),
    ],
}

INFO: Scenarios = {
    "unknown": [info(), info(subjects_filter=">"), Api("STREAM.INFO", silent=True)],
    "malformed": [made(), *malformed("STREAM.INFO.T"), Api("STREAM.INFO.T", {"offset": "1"})],
    "malformed of an unknown stream": [*malformed("STREAM.INFO.X")],
    "subjects": [
        made(),
        info(subjects_filter=">"),
        *filled(10),
        info(subjects_filter=">"),
        info(subjects_filter="t.*"),
        info(subjects_filter="t.1"),
        info(subjects_filter="x"),
        info(subjects_filter="t.>.x"),
        info(subjects_filter=""),
        info(subjects_filter=">", offset=1),
        info(subjects_filter=">", offset=2),
        info(subjects_filter=">", offset=3),
        info(subjects_filter=">", offset=100),
        info(subjects_filter=">", offset=-1),
        info(subjects_filter="x", offset=5),
        info(offset=5),
    ],
    "deleted": [
        made(),
        info(deleted_details=True),
        *filled(12),
        info(deleted_details=True),
        removed(seq=3),
        removed(seq=5),
        removed(seq=6),
        info(),
        info(deleted_details=True),
        info(deleted_details=True, subjects_filter=">"),
        removed(seq=1),
        removed(seq=2),
        info(deleted_details=True),
        removed(seq=12),
        info(deleted_details=True),
        removed(seq=11),
        info(deleted_details=True),
        purge(),
        info(deleted_details=True),
        Pub("t.a"),
        info(deleted_details=True),
    ],
    "all removed one by one": [
        made(),
        *filled(3),
        removed(seq=3),
        removed(seq=1),
        info(deleted_details=True),
        removed(seq=2),
        info(deleted_details=True),
        Pub("t.a"),
        info(deleted_details=True),
    ],
    "all removed one by one in memory": [
        made(storage="memory"),
        *filled(3),
        removed(seq=3),
        removed(seq=1),
        info(deleted_details=True),
        removed(seq=2),
        info(deleted_details=True),
        Pub("t.a"),
        info(deleted_details=True),
    ],
    "account": [
        Api("INFO"),
        Api("INFO", "{}"),
        Api("INFO", "x"),
        made(max_bytes=1000),
        made("U", storage="memory", max_bytes=500),
        made("V", storage="memory"),
        *filled(4),
        Pub("u.a"),
        Pub("v.a", b"y" * 100),
        Api("INFO"),
        Api("STREAM.DELETE.T"),
        Api("STREAM.DELETE.U"),
        Api("STREAM.DELETE.V"),
        Api("INFO"),
    ],
}

REQUESTS = (
    "INFO",
    "STREAM.INFO.T",
    "STREAM.NAMES",
    "STREAM.LIST",
    "STREAM.PURGE.T",
    "STREAM.DELETE.X",
    "STREAM.MSG.GET.T",
    "STREAM.MSG.DELETE.T",
    "STREAM.CREATE.U",
    "STREAM.UPDATE.T",
)

LEVELS: Scenarios = {
    "levels": [
        made(),
        *(
            Api("STREAM.INFO.T", headers={LEVEL: level})
            for level in ("0", "4", "5", "6", "x", "-1", "", "+5", "5.0", "9" * 30, " 6 ", "0x1")
        ),
    ],
    "every request": [
        made(),
        *(Api(subject, headers={LEVEL: "6"}) for subject in REQUESTS),
        info(),
    ],
    "before JSON": [Api("STREAM.CREATE.T", "{", headers={LEVEL: "6"})],
}

UNKNOWN_SUBJECTS = (
    "X",
    "STREAM",
    "STREAM.X",
    "STREAM.X.T",
    "STREAM.INFO",
    "STREAM.INFO.T.x",
    "STREAM.NAMES.x",
    "STREAM.MSG.GET",
    "STREAM.MSG.PUT.T",
    "CONSUMER",
    "DIRECT.GET",
    "DIRECT.GET.T",
    "DIRECT.GET.X",
    "CONSUMER.MSG.NEXT.T.c",
    "META.LEADER.STEPDOWN",
    "SERVER.REMOVE",
    "ACCOUNT.PURGE.x",
)
# Ours: nobody listens, and the asker hears that at once; the reference leaves it waiting.
UNKNOWN_DEEP_SUBJECTS = ("INFO.x", "stream.info.T", "CONSUMER.X.T", "DIRECT_LEADER.GET.T")

UNKNOWN: Scenarios = {
    "alone": [
        made(),
        Api("STREAM.LEADER.STEPDOWN.T"),
        Api("STREAM.PEER.REMOVE.T", {"peer": "x"}),
        Api("CONSUMER.LEADER.STEPDOWN.T.c"),
    ],
    "consumers": [
        made(),
        *(
            Api(subject)
            for subject in (
                "CONSUMER.NAMES.T",
                "CONSUMER.LIST.T",
                "CONSUMER.INFO.T.c",
                "CONSUMER.DELETE.T.c",
                "CONSUMER.NAMES.X",
                "CONSUMER.LIST.X",
                "CONSUMER.INFO.X.c",
                "CONSUMER.DELETE.X.c",
            )
        ),
    ],
    "unknown subjects": [
        made(),
        *(Api(subject, "{}", silent=True) for subject in UNKNOWN_SUBJECTS),
    ],
}

ALL = grouped({"lifecycle": LIFECYCLE, "info": INFO, "levels": LEVELS, "unknown": UNKNOWN})
