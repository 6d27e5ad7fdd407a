"""A stream of counters among fuzzed publishes and fuzzed messages of two sources: nothing that they
send makes it fail, what it refuses changes nothing, and every total is exact.

What counts is read from the stored messages: the sum of their increments must be their value, and
that must be what was added here and what every source came to. The sources are stores that hold
whatever a stream may hold, and come in through the same copier as on a server.
"""

import json
import re
from collections import defaultdict
from types import SimpleNamespace
from typing import Any, NamedTuple

from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from penstock.kernel.storage import Blocks
from penstock.model.stream_config import Source
from penstock.server.jetstream.sources.copier import Copier
from penstock.storage.block_store import BlockStore
from penstock.storage.store import Record
from penstock.streams import headers
from penstock.streams.counters import COUNTER_SOURCES, INCREMENT
from penstock.streams.feed import Feed
from tests.properties.lane_rig import LaneRig, Publish, answers
from tests.properties.test_lanes import configured

ORIGINS = ("O", 'P"<')
SUBJECTS = (b"t.a", b"t.b", b't."<&>"', b"t.\xff")
DEEP = b'{"val":"5","x":%s}' % (b"[" * 9_999)
BLOCK_END = b"\r\n\r\n"

numbers = st.one_of(
    st.integers(-9, 9), st.integers(-(10**20), 10**20), st.integers(-(10**50), 10**50)
)
texts = st.one_of(
    st.builds("{}{}".format, st.sampled_from(["", "+", "-", "00", "+00", " ", "--"]), numbers),
    st.text(max_size=8),
    st.sampled_from(["", "1_0", "1e5", "0x1", "٣", "NaN", "Infinity", "1.0", "-0", "+"]),
).map(str.encode)


def cut(text: bytes, start: int, end: int, between: bytes) -> bytes:
    return text[:start] + between + text[end:]


def damaged(whole: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Texts of which a piece is missing, or another."""
    at = st.integers(0, 40)
    return st.builds(cut, whole, at, at, st.binary(max_size=3))


bodies_written = numbers.map(lambda value: b'{"val":"%d"}' % value)
bodies = st.one_of(
    bodies_written,
    damaged(bodies_written),
    texts.map(lambda text: b'{"val":"%s"}' % text),
    texts.map(lambda text: b'{"val":%s}' % text),
    texts.map(lambda text: b' { "x" : [1] , "val" : "%s" } ' % text),
    st.sampled_from(
        [b"", b"{}", b"[]", b"null", b'"5"', b"5", b'{"val":null}', b'{"VAL":"5"}', DEEP]
    ),
    st.binary(max_size=30),
)
sources_written = st.dictionaries(
    st.sampled_from((*ORIGINS, "Q")),
    st.dictionaries(st.sampled_from(["t.a", "x"]), numbers.map(str), max_size=2),
    max_size=2,
).map(lambda sources: json.dumps(sources).encode())
sources = st.one_of(sources_written, damaged(sources_written), texts, st.binary(max_size=20))
names = st.sampled_from(
    (INCREMENT, INCREMENT, COUNTER_SOURCES, b"Nats-Msg-Id", b"Nats-Stream-Source", b"A", b"",
     b"nats-incr", b"Nats-Incr ", b"Nats-Rollup", b"Nats-Batch-Id", b"Nats-Expected-Stream")
)  # fmt: skip
lines = st.builds(
    lambda name, value: name + b": " + value,
    names,
    st.one_of(texts, sources, st.binary(max_size=9)),
)


@st.composite
def blocks(draw: st.DrawFn) -> bytes:
    """Header blocks, most of them with an increment."""
    found = draw(st.lists(lines, max_size=3))
    if draw(st.integers(0, 4)):
        increment = b"Nats-Incr: " + draw(st.one_of(numbers.map(lambda n: b"%+d" % n), texts))
        found.insert(draw(st.integers(0, len(found))), increment)
    if not found:
        return draw(st.sampled_from([b"", b"NATS/1.0\r\n\r\n", b"x"]))
    end = draw(st.sampled_from([BLOCK_END] * 8 + [b"\r\n", b"", b"\r", b"\n\n"]))
    return (
        draw(st.sampled_from([b"NATS/1.0"] * 8 + [b"NATS/1.0 100", b"", b"NATS"]))
        + b"".join(b"\r\n" + line for line in found)
        + end
    )


class Sourced(NamedTuple):
    """A message of an origin."""

    origin: int
    subject: bytes
    headers: bytes
    payload: bytes


publishes = st.builds(
    Publish,
    st.sampled_from(SUBJECTS),
    st.one_of(st.just(b""), st.just(b""), bodies),
    blocks(),
    st.just(True),
)
sourced = st.builds(
    Sourced,
    st.integers(0, 1),
    st.sampled_from(SUBJECTS),
    blocks(),
    st.one_of(bodies_written, bodies),
)
steps = st.lists(
    st.one_of(st.lists(publishes, min_size=1, max_size=6), sourced, sourced), max_size=12
)


class World:
    """The stream and its origins."""

    def __init__(self, **options: Any) -> None:
        self.rig = LaneRig(
            configured({"subjects": ["t.>"], "allow_msg_counter": True, **options}), careful=False
        )
        self.refusals = 0
        target = SimpleNamespace(stream=self.rig.stream, ingest=self.rig.ingest, failure="")
        self._origins = [BlockStore(Blocks.in_memory(name), None) for name in ORIGINS]
        self._copiers = [
            Copier(
                target, Feed(Source(name=name), is_mirror=False), SimpleNamespace(store=store), "i"
            )  # type: ignore[arg-type]
            for name, store in zip(ORIGINS, self._origins, strict=True)
        ]
        self._reached: dict[bytes, dict[tuple[str, bytes], int]] = defaultdict(dict)
        self._totals: dict[bytes, int] = defaultdict(int)
        self._own: dict[bytes, int] = defaultdict(int)
        self._checked = 0

    def play(self, step: list[Publish] | Sourced) -> None:
        if isinstance(step, Sourced):
            self._copy(step)
        else:
            self._publish(step)

    def _publish(self, run: list[Publish]) -> None:
        told = len(answers(self.rig.said))
        before = self.rig.stream.sequence_last
        self.rig.publish(run)
        found = [json.loads(answer) for answer in answers(self.rig.said)[told:]]
        assert len(found) == len(run)
        taken = [one for one in found if "error" not in one and not one.get("duplicate")]
        self.refusals += len(found) - len(taken)
        assert [one["seq"] for one in taken] == [*range(before + 1, before + 1 + len(taken))]
        assert self.rig.stream.sequence_last == before + len(taken)
        for answer in taken:
            record = self._checked_next()
            self._own[record.subject] += int(increment_of(record))
            assert re.fullmatch(rb"[+-][0-9]+", increment_of(record))
            assert answer["val"] == str(self._totals[record.subject])
            self._check_sum(record.subject)

    def _copy(self, message: Sourced) -> None:
        origin, before = self._origins[message.origin], self.rig.stream.sequence_last
        sequence = origin.state().sequence_last + 1
        origin.append(Record(sequence, 1, *message[1:]))
        step = self._copiers[message.origin].step(sequence, sequence, self.rig.now_ns)
        if step.refusal is not None:
            assert step.after == sequence
            assert self.rig.stream.sequence_last == before
            assert self.rig.stream.store.state().sequence_last == before
            self.refusals += 1
            return
        assert step.taken == sequence
        if self.rig.stream.sequence_last == before:
            return  # a duplicate
        record = self._checked_next()
        place = ORIGINS[message.origin], message.subject
        value = json.loads(message.payload)["val"]
        assert re.fullmatch(r"[+-]?[0-9]+", value, re.ASCII)
        self._reached[record.subject][place] = int(value)
        self._check_sum(record.subject)

    def _checked_next(self) -> Record:
        """The next message that was not looked at yet: its value is the sum of all increments."""
        self._checked += 1
        record = self.rig.stream.store.load(self._checked)
        assert record is not None
        self._totals[record.subject] += int(increment_of(record))
        assert record.payload == b'{"val":"%d"}' % self._totals[record.subject]
        return record

    def _check_sum(self, subject: bytes) -> None:
        reached = self._reached[subject]
        assert self._totals[subject] == self._own[subject] + sum(reached.values())
        last = self.rig.stream.store.load(self._checked)
        assert last is not None
        kept = json.loads(headers.find(last.headers, COUNTER_SOURCES) or b"{}")
        shown = {
            (name, one): int(value)
            for name, subjects in kept.items()
            for one, value in subjects.items()
        }
        assert shown == {
            (name, there.decode(errors="replace")): value
            for (name, there), value in reached.items()
        }


def increment_of(record: Record) -> bytes:
    found = headers.find(record.headers, INCREMENT)
    assert found is not None
    return found


@settings(max_examples=300, deadline=None)
@given(steps)
@example([Sourced(0, b"t.a", b"NATS/1.0\r\nNats-Incr: +5", b'{"val":"5"}')])
@example(
    [
        [Publish(b"t.a", b"", b"NATS/1.0\r\nNats-Incr: +5")],
        Sourced(0, b"t.a", b"NATS/1.0\r\nNats-Incr: +1" + BLOCK_END, b'{"val":"5"}'),
    ]
)
def test_whatever_is_sent_totals_are_exact(steps: list[list[Publish] | Sourced]) -> None:
    world = World()
    for step in steps:
        world.play(step)
    assert not world.rig.failures
    event(f"refused: {min(world.refusals, 3)}")
