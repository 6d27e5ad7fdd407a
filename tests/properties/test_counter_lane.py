"""Increments through the bulk lane against the careful one: the same publishes, one stream each,
and afterwards the same answers, messages and figures; what the journal brings back is the same too.

In between, counters get values from sources, messages are removed, and bodies and headers come into
the store that no server would have written.
"""

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.kernel.storage import Blocks, Log
from penstock.model.stream_config import Storage
from penstock.server.jetstream.recovery import redo
from penstock.storage.block_store import BlockStore
from penstock.storage.journal import Journal, Kind
from penstock.streams import headers
from penstock.streams.admission import Message
from penstock.streams.counters import COUNTER_SOURCES, INCREMENT, CountedSource
from penstock.streams.feed import Copied, take_one
from tests.properties.lane_rig import NAME, LaneRig, Publish, answers
from tests.properties.test_lanes import block, configured, without_careful_lane

NUMBER = 7  # of the stream in its journal
EDGE = 1 << 127  # the first that does not fit into 128 bits with a sign

SUBJECTS = st.sampled_from([b"t.a", b"t.a", b"t.b", b"t.c.d"])
VALUES = st.one_of(
    st.integers(-9, 9),
    st.integers(-100, 100),
    st.integers(0, 10**6),
    st.integers(-(10**18), 10**18),
    st.sampled_from([EDGE - 1, EDGE, -EDGE, -EDGE - 1, EDGE // 2, -EDGE // 2, 10**38, -(10**39)]),
    st.integers(-(10**60), 10**60),
)
ODD = ("", " ", "+", "-", "5", "++1", "+1 ", "+ 1", "+1_0", "+1e3", "1.0", "+٣", "0x1", "+1\t")
SIGNED = VALUES.map("{:+d}".format)
PADDED = st.builds("{}000{}".format, st.sampled_from("+-"), st.integers(0, 99))
LINES = st.sampled_from(
    [
        "A: b", "A: b", "Nats-Stream: X", "Nats-Incr: +1", "nats-incr: +1", "Nats-Msg-Id: 1",
        "Nats-Msg-Id: ", "Nats-TTL: 1", "Nats-Rollup: sub", "Nats-Expected-Last-Sequence: 1",
        "Nats-Counter-Sources: {}", "Nats-Counter-Sources: ", "Nats-Nothing: 1", "B", "",
    ]
)  # fmt: skip


def increment(value: str, before: list[str], after: list[str], status: str = "") -> bytes:
    return block([*before, f"Nats-Incr: {value}", *after], status)


@st.composite
def publishes(draw: st.DrawFn) -> Publish:
    """Most are plain increments, so that runs of them are long; every other kind is among them."""
    kind = draw(st.sampled_from(["plain"] * 6 + ["padded", "odd", "odd", "more", "more", "none"]))
    texts = {"padded": PADDED, "odd": st.sampled_from(ODD)}
    value, lines = draw(texts.get(kind, SIGNED)), st.lists(LINES, min_size=1, max_size=2)
    message_headers = increment(value, [], [])
    if kind == "more":
        before, status = draw(st.booleans()), draw(st.sampled_from(["", "", "", " 503"]))
        more = draw(lines)
        message_headers = increment(value, more[:before], more[before:], status)
    elif kind == "none":
        message_headers = draw(st.sampled_from([b"", block(["A: b"], "")]))
    payload = draw(st.sampled_from([b""] * 12 + [b"x"]))
    asks = draw(st.sampled_from([True] * 4 + [False]))
    return Publish(draw(SUBJECTS), payload, message_headers, asks)


class Reached(NamedTuple):
    """A value that a source has come to."""

    subject: bytes
    stream: str
    value: int


class Stray(NamedTuple):
    """A message as no server writes it: restored, or from before the stream counted."""

    subject: bytes
    headers: bytes
    payload: bytes


class Removed(NamedTuple):
    """One of the last messages goes."""

    before_last: int


SOURCES = st.one_of(
    st.sampled_from(
        [b"", b"{}", b'{"O":{"o.a":"5"}}', b'{ "P":{"x":"1"}, "O":{"<":"-2"} }', b"x", b'{"O":"5"}']
    ),
    st.binary(max_size=20).map(lambda value: value.replace(b"\r", b"").replace(b"\n", b"")),
)
STRAY_HEADERS = st.one_of(
    st.just(b""),
    st.just(headers.add(b"", INCREMENT, b"+5")),
    SOURCES.map(lambda value: headers.add(b"", COUNTER_SOURCES, value)),
    st.binary(max_size=30),
)
BODIES = st.one_of(
    VALUES.map(lambda value: b'{"val":"%d"}' % value),
    st.sampled_from(
        [
            b'{"val":"+5"}', b'{"val":"007"}', b'{"val":"-0"}', b'{"val":""}', b'{"val":"-"}',
            b'{"val": "5"}', b'{"val":"5","x":1}', b'{"val":"\\u0035"}', b'{"val":5}', b"{}",
            b'{"val":"5"', b'{"val":"5"}}', b'{"val":"5"} ', b'{"val":"1_0"}', b'{"val":"1e1"}',
        ]
    ),
    st.binary(max_size=20),
)  # fmt: skip
BETWEEN = st.one_of(
    st.builds(Reached, SUBJECTS, st.sampled_from(["O", "P"]), VALUES),
    st.builds(Stray, SUBJECTS, STRAY_HEADERS, BODIES),
    st.builds(Removed, st.integers(0, 3)),
)
Step = list[Publish] | Reached | Stray | Removed
RUNS = st.lists(publishes(), min_size=1, max_size=15)
STEPS = st.lists(st.tuples(RUNS, BETWEEN), min_size=1, max_size=4)
OPTIONS: list[dict[str, Any]] = [
    {"max_msgs": 3},
    {"max_msgs": 1},
    {"max_msg_size": 41},
    {"max_msgs_per_subject": 1},
    {"max_msgs_per_subject": 2},
    {"max_bytes": 300},
    {"no_ack": True},
    {"allow_rollup_hdrs": True},
]


def play(rig: LaneRig, step: Step) -> None:
    stream = rig.stream
    match step:
        case Reached(subject, origin, value):
            copied = Copied(source=CountedSource(origin, "o.a"))
            body = b'{"val":"%d"}' % value
            take_one(stream, subject, increment("+1", [], []), body, rig.now_ns, copied)
        case Stray(subject, message_headers, payload):
            time_ns = stream.moment(rig.now_ns)
            stream.accept(Message(subject, message_headers, payload, time_ns))
        case Removed(before_last):
            stream.store.remove(max(1, stream.sequence_last - before_last), erase=False)
        case publishes:
            rig.publish(publishes)


class Pair:
    """The same stream twice: with the bulk lane and, in files, a journal; and without either."""

    def __init__(self, wanted: dict[str, Any], root: str) -> None:
        config = configured({"subjects": ["t.>"], **wanted, "allow_msg_counter": True})
        self.root = root
        self.log = Log(root, "log", 1) if config.storage is Storage.FILE else None
        journal = None if self.log is None else Journal(self.log, NUMBER)
        self.bulk = LaneRig(config, careful=False, root=f"{root}/bulk", journal=journal)
        self.careful = LaneRig(config, careful=True, root=f"{root}/careful")

    def play(self, step: Step) -> None:
        for rig in (self.bulk, self.careful):
            play(rig, step)
        assert self.bulk.seen() == self.careful.seen()

    def check_replay(self) -> None:
        """The log alone brings back the same messages."""
        if self.log is None:
            return
        self.log.commit()
        self.log.wait_durable(self.log.last())
        kept = Replayed(self.root)
        log = Log(self.root, "log", 1)
        while (entry := log.next_replayed(Kind.RUN, {NUMBER: (kept.store.blocks, 0)})) is not None:
            redo(kept, Kind(entry[2]), entry[3])  # type: ignore[arg-type]
        assert not log.gaps()
        assert not kept.lost
        live = self.bulk.stream.store
        state = live.state()
        assert kept.store.state() == state
        for sequence in range(state.sequence_first, state.sequence_last + 1):
            assert kept.store.load(sequence) == live.load(sequence)


class Replayed:
    """As much of a kept stream as a replay needs."""

    def __init__(self, root: str) -> None:
        blocks, *_ = Blocks.open(root, "streams/again", NAME, None)
        self.store = BlockStore(blocks, None)
        self.lost: list[tuple[int, int]] = []


def adds(*values: str, subject: bytes = b"t.a") -> list[Publish]:
    return [Publish(subject, b"", increment(value, [], [])) for value in values]


HERE_THERE_AND_HERE = [*adds("+1"), *adds("+1", subject=b"t.b"), *adds("+1")]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(OPTIONS), max_size=3),
    st.sampled_from(["memory", "file"]),
    STEPS,
)
@example([{"max_msgs": 1}], "file", [(HERE_THERE_AND_HERE, Removed(9))])
@example([], "file", [(adds("+5", f"+{EDGE - 6}", "+1", f"-{EDGE}", "-1", "5"), Removed(9))])
@example([], "memory", [(adds("+1"), Reached(b"t.a", "O", 10)), (adds("+1", "+1"), Removed(1))])
def test_a_run_of_increments_is_its_messages_one_by_one(
    options: list[dict[str, Any]], storage: str, steps: list[tuple[list[Publish], Step]]
) -> None:
    wanted = {name: value for option in options for name, value in option.items()}
    with tempfile.TemporaryDirectory(prefix="counters-") as root:
        pair = Pair({**wanted, "storage": storage}, root)
        for step in itertools.chain(*steps):
            pair.play(step)
        pair.check_replay()


@pytest.mark.parametrize("options", [{}, {"max_msgs_per_subject": 1}, {"max_msgs": 50}], ids=str)
def test_plain_increments_need_no_look(options: dict[str, Any]) -> None:
    wanted = {"subjects": ["t.>"], "allow_msg_counter": True, **options}
    rig = without_careful_lane(LaneRig(configured(wanted), careful=False))
    for _ in range(3):
        rig.publish([add for number in range(20) for add in adds("+7", subject=b"t.%d" % number)])
        rig.publish([Publish(b"t.0", b"", increment("-2", ["A: b"], [])) for _ in range(20)])
    assert answers(rig.said)[-1] == b'{"stream":"T","seq":120,"val":"-99"}'
    record = rig.stream.store.load(120)
    assert record is not None
    assert record.payload == b'{"val":"-99"}'
    assert record.headers == b"NATS/1.0\r\nA: b\r\nNats-Incr: -2\r\n\r\n"


def looked_at(rig: LaneRig) -> list[bytes]:
    """The increments that will have gone through the careful lane."""
    seen: list[bytes] = []
    publish: Callable[..., Any] = rig.stream.publish

    def noted(subject: bytes, message_headers: bytes, payload: bytes, now_ns: int) -> Any:
        seen.append(headers.find(message_headers, INCREMENT) or b"")
        return publish(subject, message_headers, payload, now_ns)

    rig.stream.publish = noted  # type: ignore[method-assign]
    return seen


def test_what_takes_more_than_adding_is_looked_at_and_then_on_again(tmp_path: Path) -> None:
    config = configured({"subjects": ["t.>"], "allow_msg_counter": True, "storage": "file"})
    rig = LaneRig(config, careful=False, root=str(tmp_path))
    seen = looked_at(rig)
    rig.publish(adds("+1", "x", "+2", f"+{EDGE}", f"-{EDGE}", "+3", "+4", "y", "+5"))
    assert seen == [b"x", b"+%d" % EDGE, b"-%d" % EDGE, b"+3", b"y"]  # +3: one more than need be
    values = [answer.split(b'"val":')[1] for answer in answers(rig.said) if b'"val"' in answer]
    assert values == [b'"%d"}' % value for value in (1, 3, 3 + EDGE, 3, 6, 10, 15)]


def test_a_counter_with_sources_keeps_them_for_ever() -> None:
    config = configured({"subjects": ["t.>"], "allow_msg_counter": True})
    rig = LaneRig(config, careful=False)
    play(rig, Reached(b"t.a", "O", 10))
    rig.publish([*adds("+1"), *adds("+1", subject=b"t.b"), *adds("+1", "+1", "+1")])
    for sequence, sources in ((1, True), (2, True), (3, False), (4, True), (6, True)):
        record = rig.stream.store.load(sequence)
        assert record is not None
        kept = headers.find(record.headers, COUNTER_SOURCES)
        assert kept == (b'{"O":{"o.a":"10"}}' if sources else None)
    assert answers(rig.said)[-1] == b'{"stream":"T","seq":6,"val":"14"}'
