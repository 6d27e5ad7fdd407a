"""The bulk lane against the careful one: the same publishes, one stream each, and afterwards the
same answers in the same order, the same copies, messages and figures.

What is left out of the comparison: with max_bytes and max_msgs_per_subject together, old messages
that give way do so at the end of a run, so a run may keep one that its messages taken one by one
would not have kept.
"""

import tempfile
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kernel.hub import Hub, SubjectIndex
from penstock.model.stream_config import StreamConfig
from penstock.streams.audience import Nobody
from penstock.streams.stream import Outcome
from tests.properties.hub_walk import open_client
from tests.properties.lane_rig import LaneRig, Publish, answers
from tests.unit.streams.configs import create

SUBJECTS = st.sampled_from([b"t.a", b"t.a", b"t.b", b"t.a.b", b"t.c.b", b"t.*", b"t.>"])
VALUES = st.sampled_from(["0", "1", "2", "3", "x", ""])
CONTROL = st.sampled_from(
    [
        "Nats-Expected-Last-Sequence",
        "Nats-Expected-Last-Subject-Sequence",
        "Nats-Expected-Last-Msg-Id",
        "Nats-TTL",
        "Nats-Nothing",
    ]
)
LINES = st.one_of(
    st.just("A: b"),
    st.just("Nats-Stream: X"),
    st.just("Nats-Rollup: sub"),
    st.builds("Nats-Msg-Id: {}".format, VALUES),
    st.builds("Nats-Msg-Id: {}".format, st.integers(0, 30)),
    st.builds("{}: {}".format, CONTROL, VALUES),
    st.builds("Nats-Expected-Last-Subject-Sequence: {}".format, st.integers(0, 12)),
    st.builds(
        "Nats-TTL: {}".format, st.sampled_from(["1", "2s", "never", "0", "1h", "9223372036"])
    ),
)


def block(lines: list[str], status: str) -> bytes:
    return "\r\n".join([f"NATS/1.0{status}", *lines, "", ""]).encode() if lines or status else b""


HEADERS = st.one_of(
    st.just(b""),
    st.just(b"NATS/1.0\r\n\r\n"),
    st.just(b"NATS/1.0\r\n"),
    st.builds(block, st.lists(LINES, max_size=2), st.sampled_from(["", "", "", " 503"])),
)
PUBLISHES = st.builds(
    Publish,
    SUBJECTS,
    st.integers(0, 60).map(lambda size: b"x" * size),
    HEADERS,
    st.sampled_from([True, True, True, False]),
)
TURNS = st.lists(st.lists(PUBLISHES, min_size=1, max_size=12), min_size=1, max_size=4)
READERS = st.lists(st.sampled_from([b"t.a", b"t.b", b"t.*", b"t.a.>"]), max_size=3)
OPTIONS: list[dict[str, Any]] = [
    {"max_msgs": 3},
    {"max_msgs": 1},
    {"max_msg_size": 40},
    {"max_msgs_per_subject": 1},
    {"max_msgs_per_subject": 2},
    {"max_bytes": 300},
    {"discard": "new"},
    {"discard": "new", "max_msgs": 3},
    {"discard": "new", "max_bytes": 300},
    {"discard": "new", "max_msgs_per_subject": 2, "discard_new_per_subject": True},
    {"discard": "new", "max_msgs_per_subject": 1, "max_bytes": 300},
    {"discard": "new", "max_msgs_per_subject": 2, "max_bytes": 300},
    {"discard": "new", "max_msgs_per_subject": 1, "max_msgs": 3},
    {"allow_rollup_hdrs": True},
    {"no_ack": True},
    {"allow_msg_ttl": True},
    {"allow_msg_ttl": True, "subject_delete_marker_ttl": 2_000_000_000},
    {"retention": "workqueue"},
    {"retention": "interest"},
    {"sealed": True},
]


@st.composite
def fields(draw: st.DrawFn) -> dict[str, Any]:
    found: dict[str, Any] = {"subjects": ["t.>"]}
    for option in draw(st.lists(st.sampled_from(OPTIONS), max_size=3)):
        found |= option
    is_bytes_and_subjects = "max_bytes" in found and "max_msgs_per_subject" in found
    if is_bytes_and_subjects and found.get("discard") != "new":
        del found["max_bytes"]
    return found


def configured(wanted: dict[str, Any]) -> StreamConfig:
    at_once = {name: value for name, value in wanted.items() if name != "sealed"}
    config = create(**{"storage": "memory", **at_once})
    return msgspec.structs.replace(config, sealed=wanted.get("sealed", False))


class Readers(Nobody):
    """Consumers with filters, who acknowledge nothing."""

    def __init__(self, patterns: list[bytes]) -> None:
        self._patterns = SubjectIndex()
        for number, pattern in enumerate(patterns):
            assert self._patterns.insert(pattern, number)

    def wants(self, subject: bytes) -> bool:
        return bool(self._patterns.find(subject))

    def wanted(self, hub: Hub, start: int, end: int) -> int:
        return self._patterns.matched(hub, start, end)


def both(config: StreamConfig, turns: list[list[Publish]], readers: list[bytes]) -> None:
    with tempfile.TemporaryDirectory(prefix="lanes-") as root:
        bulk = LaneRig(config, careful=False, root=f"{root}/bulk")
        careful = LaneRig(config, careful=True, root=f"{root}/careful")
        for rig in (bulk, careful):
            rig.stream.audience = Readers(readers)
        for publishes in turns:
            bulk.publish(publishes)
            careful.publish(publishes)
            assert bulk.seen() == careful.seen()


@settings(max_examples=200, deadline=None)
@given(fields(), st.sampled_from(["memory", "file"]), TURNS, READERS)
def test_a_run_is_its_messages_one_by_one(
    wanted: dict[str, Any], storage: str, turns: list[list[Publish]], readers: list[bytes]
) -> None:
    both(configured({**wanted, "storage": storage}), turns, readers)


def without_careful_lane(rig: LaneRig) -> LaneRig:
    def refuse(*columns: object) -> None:
        pytest.fail(f"one by one: {columns}")

    rig.stream.publish = refuse  # type: ignore[method-assign,assignment]
    return rig


def noted_careful(rig: LaneRig) -> list[bytes]:
    """The payloads that will have gone through the careful lane."""
    careful: list[bytes] = []
    publish = rig.stream.publish

    def noted(subject: bytes, headers: bytes, payload: bytes, now_ns: int) -> Outcome:
        careful.append(payload)
        return publish(subject, headers, payload, now_ns)

    rig.stream.publish = noted  # type: ignore[method-assign]
    return careful


def test_only_what_is_too_large_is_looked_at() -> None:
    rig = LaneRig(configured({"subjects": ["t.>"], "max_msg_size": 10}), careful=False)
    careful = noted_careful(rig)
    sizes = (1, 10, 11, 0, 12, 9)
    rig.publish([Publish(b"t.a", b"x" * size) for size in sizes])
    assert careful == [b"x" * 11, b"x" * 12]
    is_refused = [b'"seq":0' in answer for answer in answers(rig.said)]
    assert is_refused == [size > 10 for size in sizes]


BUCKET: dict[str, Any] = {
    "subjects": ["t.>"],
    "discard": "new",
    "allow_rollup_hdrs": True,
    "deny_delete": True,
}


@pytest.mark.parametrize("history", [1, 3])
@pytest.mark.parametrize("limit", ["none", "max_msgs", "max_bytes"])
@pytest.mark.parametrize("ids", [False, True])
def test_puts_of_a_bucket_need_no_look(history: int, limit: str, ids: bool) -> None:
    """New keys and known ones, also where a put only fits because it replaces another."""

    def put(turn: int, key: int) -> Publish:
        headers = block([f"Nats-Msg-Id: {turn}-{key:02}"], "") if ids else b""
        return Publish(b"t.%02d" % key, b"v", headers)

    each = sum(map(len, put(0, 0)[:3])) + 16
    limits = {"max_msgs": 20 * history, "max_bytes": 20 * history * each}
    wanted = {**BUCKET, "max_msgs_per_subject": history}
    if limit in limits:
        wanted[limit] = limits[limit]
    rig = without_careful_lane(LaneRig(configured(wanted), careful=False))
    for turn in range(9):
        rig.publish([put(turn, key) for key in range(20)])
    assert rig.stream.sequence_last == 180
    assert rig.stream.store.state().messages == 20 * history
    assert len(answers(rig.said)) == 180


def expecting(subject: bytes, last: int, payload: bytes = b"v") -> Publish:
    return Publish(subject, payload, block([f"Nats-Expected-Last-Subject-Sequence: {last}"], ""))


@pytest.mark.parametrize("limits", [{}, {"max_msgs": 20}, {"discard": "old"}])
def test_keys_of_a_bucket_are_created_and_updated_without_a_look(limits: dict[str, Any]) -> None:
    wanted = {**BUCKET, "max_msgs_per_subject": 1, **limits}
    rig = without_careful_lane(LaneRig(configured(wanted), careful=False))
    keys = [b"t.%02d" % key for key in range(20)]
    rig.publish([expecting(key, 0) for key in keys])
    for turn in range(9):
        rig.publish([expecting(key, turn * 20 + at) for at, key in enumerate(keys, 1)])
    rig.publish([expecting(b"t.00", last) for last in (181, 201, 202)])  # each upon the one before
    assert rig.stream.sequence_last == 203
    assert rig.stream.store.state().messages == 20
    assert not [answer for answer in answers(rig.said) if b"error" in answer]


def test_what_somebody_reads_needs_no_look() -> None:
    rig = LaneRig(configured({"subjects": ["t.>"], "retention": "interest"}), careful=False)
    rig.stream.audience = Readers([b"t.a", b"t.b"])
    careful = noted_careful(rig)
    rig.publish([Publish(b"t.%c" % letter, b"%c" % letter) for letter in b"abaxbya"])
    assert careful == [b"x", b"y"]
    assert rig.stream.sequence_last == 7
    assert rig.stream.store.state().messages == 5


def test_of_expectations_only_what_is_not_met_is_looked_at() -> None:
    rig = LaneRig(configured({"subjects": ["t.>"]}), careful=False)
    careful = noted_careful(rig)
    lasts = (0, 1, 1, 2, 3, 0, 4)
    rig.publish([expecting(b"t.a", last, b"%d" % at) for at, last in enumerate(lasts)])
    assert careful == [b"2", b"5"]
    errors = [b"10071" in answer for answer in answers(rig.said)]
    assert errors == [False, False, True, False, False, True, False]


def test_no_expectation_is_gone_through_very_often() -> None:
    """Every other one is met, but does not fit: what is behind it must not cost each a walk."""
    fields = {"subjects": ["t.>"], "discard": "new", "max_msgs_per_subject": 1}
    rig = LaneRig(configured({**fields, "discard_new_per_subject": True}), careful=False)
    count = 1000
    rig.publish([Publish(b"t.old.%d" % at) for at in range(count)])
    expected, walked = rig.stream.store.expected, 0

    def counted(hub: Hub, start: int, end: int, header: bytes, sequence: int) -> int:
        nonlocal walked
        found = expected(hub, start, end, header, sequence)
        walked += found
        return found

    rig.stream.store.expected = counted  # type: ignore[method-assign]
    fits = [expecting(b"t.new.%d" % at, 0) for at in range(count)]
    full = [expecting(b"t.old.%d" % at, at + 1) for at in range(count)]
    rig.publish([one for pair in zip(fits, full, strict=True) for one in pair])
    assert rig.stream.store.state().messages == 2 * count
    assert sum(b"error" in answer for answer in answers(rig.said)) == count
    assert walked < 2 * 16 * count


def test_what_gives_way_to_a_run_is_not_expected_by_it() -> None:
    """The first message is pushed out before the last one of the run comes."""
    run = [Publish(b"t.b"), expecting(b"t.c", 0), expecting(b"t.d", 0), expecting(b"t.a", 1)]
    rigs = []
    for careful in (False, True):
        rig = LaneRig(configured({"subjects": ["t.>"], "max_msgs": 3}), careful=careful)
        rig.publish([Publish(b"t.a")])
        rig.publish(run)
        rigs.append(rig)
    assert b"10071" in answers(rigs[0].said)[-1]
    assert rigs[0].seen() == rigs[1].seen()


def test_of_what_does_not_fit_only_the_first_is_looked_at_and_then_on_again() -> None:
    config = configured({"subjects": ["t.>"], "discard": "new", "max_bytes": 100})
    rig = LaneRig(config, careful=False)
    careful = noted_careful(rig)
    sizes = (20, 20, 60, 3, 30, 0)  # each counts 19 more in memory, with its subject
    rig.publish([Publish(b"t.a", b"x" * size) for size in sizes])
    assert [len(payload) for payload in careful] == [60, 30, 0]
    records = [rig.stream.store.load(sequence) for sequence in range(1, 5)]
    assert [len(record.payload) for record in records if record] == [20, 20, 3]


def test_of_a_run_with_ids_only_the_known_ones_are_looked_at() -> None:
    rig = LaneRig(configured({"subjects": ["t.>"]}), careful=False)
    careful = noted_careful(rig)
    for turn in ((1, 2, 3), (4, 2, 5, 5, 6, 1)):
        rig.publish([Publish(b"t.a", b"%d" % n, block([f"Nats-Msg-Id: {n}"], "")) for n in turn])
    assert careful == [b"2", b"5", b"1"]
    assert rig.stream.sequence_last == 6


def test_what_is_put_off_is_stored_once() -> None:
    """So many listen that the publisher's share of a turn is used up in the middle of a run."""
    rig = without_careful_lane(LaneRig(configured({"subjects": ["t.>"]}), careful=False))
    for _ in range(300):
        listener = open_client(rig.hub)
        assert rig.hub.subscribe(listener, b"t.a", None, b"1")
    rig.publish([Publish(b"t.a") for _ in range(2000)])
    assert rig.turns > 2
    assert rig.stream.sequence_last == 2000
    assert len(answers(rig.said)) == 2000
