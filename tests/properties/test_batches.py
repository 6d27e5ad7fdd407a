"""Atomic batches against an obvious model: whatever is sent, the same answers and the same messages
afterwards; a commit is one entry of the log or none, and the log alone brings the same back."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock
from penstock.kernel.storage import Blocks, Log
from penstock.storage.block_store import BlockStore
from penstock.storage.journal import Journal, Kind, split
from penstock.streams.batch_commit import commit
from penstock.streams.batches import Arrived, BatchLimits, Room, Staging
from penstock.streams.stream import Stream
from tests.properties.lane_rig import LaneRig, Publish
from tests.properties.model_batches import (
    BATCH,
    COMMIT,
    EXPECTED,
    EXPECTED_OF_SUBJECT,
    ID,
    PLACE,
    ROLLUP,
    Limits,
    Model,
    Sent,
)
from tests.unit.streams.configs import create

NUMBER = 1
MESSAGES_MAX, OPEN_MAX = 4, 2
NAMES = ("a", "b", "c")
SUBJECTS = st.sampled_from(["t.a", "t.b", "t.c"])
EXTRAS = st.one_of(
    st.just(()),
    st.just(()),
    st.builds(lambda value: ((ID, value),), st.sampled_from("12345")),
    st.builds(lambda value: ((EXPECTED, str(value)),), st.integers(0, 9)),
    st.builds(lambda value: ((EXPECTED_OF_SUBJECT, str(value)),), st.integers(0, 6)),
    st.builds(lambda value: ((ROLLUP, value),), st.sampled_from(["sub", "sub", "all"])),
)
COMMITS = st.sampled_from(["", "", "", "1", "eob", "no"])
SKIPS = st.sampled_from([0] * 12 + [-1, 1, 9])
# The batch it belongs to, or none; what is wrong with its place; how it ends the batch.
STEPS = st.lists(
    st.tuples(SUBJECTS, EXTRAS, st.sampled_from([*NAMES, *NAMES, ""]), SKIPS, COMMITS),
    min_size=1,
    max_size=40,
)
LIMITS = st.sampled_from(
    [
        Limits(),
        Limits(),
        Limits(messages=3),
        Limits(of_subject=1),
        Limits(of_subject=2),
        Limits(messages=6, discards_new=True),
    ]
)


class Rig:
    """The stream under test, with the log it writes to."""

    def __init__(self, root: str, limits: Limits, storage: str) -> None:
        fields: dict[str, Any] = {"subjects": ["t.>"], "allow_rollup_hdrs": True}
        fields |= {"max_msgs": limits.messages, "max_msgs_per_subject": limits.of_subject}
        fields |= {"discard": "new" if limits.discards_new else "old", "allow_atomic": True}
        config = create(storage=storage, **fields)
        self.root = root
        self.log = Log(root, "log", 1)
        is_file = storage == "file"
        if is_file:
            blocks, *_ = Blocks.open(root, "blocks", "T", None)
        else:
            blocks = Blocks.in_memory("T")
        journal = Journal(self.log, NUMBER) if is_file else None
        self.stream = Stream(config, BlockStore(blocks, journal), 0)
        self.room = Room(BatchLimits(messages_max=MESSAGES_MAX, open_max=OPEN_MAX))
        self.staging = Staging(self.room)
        self.abandoned: list[str] = []
        self.now_ns = 1_700_000_000_000_000_000

    def take(self, sent: Sent) -> int | tuple[int, int] | None:
        self.now_ns += 1000
        arrived = Arrived(sent.subject.encode(), block(sent), sent.payload)
        if not sent.get(BATCH):
            ack = self.stream.publish(*arrived, self.now_ns).ack
            return answered(ack)
        verdict = self.staging.take(arrived, self.now_ns)
        if verdict.abandoned is not None:
            self.abandoned.append(sent.get(BATCH))
        if verdict.error is not None:
            return verdict.error.err_code
        if verdict.complete is None:
            return None
        entries = self.log.last()
        answer = answered(commit(self.stream, verdict.complete, self.now_ns)[-1].ack)
        is_journaled = self.stream.config.storage == "file" and not isinstance(answer, int)
        assert self.log.last() - entries == is_journaled
        return answer

    def rows(self, blocks: Blocks | None = None) -> list[tuple[int, str, bytes]]:
        store = self.stream.store if blocks is None else BlockStore(blocks, None)
        state = store.state()
        found = (store.load(at) for at in range(state.sequence_first, state.sequence_last + 1))
        return [(row.sequence, row.subject.decode(), row.payload) for row in found if row]

    def replayed(self) -> list[tuple[int, str, bytes]]:
        """What the log alone brings back."""
        self.log.commit()
        self.log.wait_durable(self.log.last())
        log, blocks = Log(self.root, "log", 1), Blocks.in_memory("T")
        while (entry := log.next_replayed(Kind.RUN, {NUMBER: (blocks, 0)})) is not None:
            _, _, kind, payload = entry
            for part, part_payload in split(payload) if kind == Kind.JOINED else [(kind, payload)]:
                redo(blocks, Kind(part), part_payload)
        return self.rows(blocks)


def redo(blocks: Blocks, kind: Kind, payload: bytes) -> None:
    if kind is Kind.RUN:
        assert blocks.replay_run(payload) is None
    elif kind is Kind.COPIED:
        assert blocks.replay_copies(payload) is None
    elif kind is Kind.REMOVED:
        for sequence in msgspec.json.decode(payload):
            assert blocks.remove(sequence, False)
    elif kind is Kind.REMOVED_BELOW:
        blocks.remove_below(msgspec.json.decode(payload))
    else:
        assert kind is Kind.EVICTED
        blocks.evict(*msgspec.json.decode(payload)[1:])


def block(sent: Sent) -> bytes:
    lines = [f"{name}: {value}\r\n" for name, value in sent.headers]
    return f"NATS/1.0\r\n{''.join(lines)}\r\n".encode() if lines else b""


def answered(ack: bytes) -> int | tuple[int, int]:
    found = msgspec.json.decode(ack)
    if "error" in found:
        return int(found["error"]["err_code"])
    return found["seq"], found.get("count", 1)


def sent_steps(model: Model, steps: list[tuple[str, Any, str, int, str]]) -> Any:
    """The publishes, each with the place that its batch has come to by then."""
    for number, (subject, extras, batch, skip, end) in enumerate(steps):
        payload = b"%d" % number
        if not batch:
            is_plain = not extras or extras[0][0] == ID
            yield Sent(subject, payload, () if not is_plain else extras)
            continue
        place = max(0, len(model.open.get(batch, ())) + 1 + skip)
        control = ((BATCH, batch), (PLACE, str(place)))
        yield Sent(subject, payload, control + (((COMMIT, end),) if end else ()) + extras)


def single(model: Model, sent: Sent) -> int | tuple[int, int] | None:
    """A publish outside of batches; None where it is a duplicate, which only the stream knows."""
    contents = model.contents
    if sent.get(ID) in contents.ids:
        return None
    limits = contents.limits
    if limits.discards_new and 0 < limits.messages <= len(contents.rows):
        return 10077
    contents.store(sent)
    return contents.last, 1


@settings(max_examples=300, deadline=None)
@given(LIMITS, st.sampled_from(["memory", "file"]), STEPS)
def test_batches_are_those_of_the_model(limits: Limits, storage: str, steps: Any) -> None:
    with tempfile.TemporaryDirectory(prefix="batches-") as root:
        rig, model = Rig(root, limits, storage), Model(limits, MESSAGES_MAX, OPEN_MAX)
        for sent in sent_steps(model, steps):
            is_single = not sent.get(BATCH)
            expected = single(model, sent) if is_single else model.take(sent)
            answer = rig.take(sent)
            if not (is_single and expected is None):
                assert answer == expected, sent
            assert rig.rows() == model.contents.rows, sent
            assert rig.stream.sequence_last == model.contents.last
            assert len(rig.staging) == rig.room.open == len(model.open)
            assert rig.abandoned == model.abandoned
            assert bool(rig.room.bytes) == bool(model.open)
        if storage == "file":
            assert rig.replayed() == model.contents.rows
        assert sorted(rig.staging.clear()) == sorted(name.encode() for name in model.open)
        assert (rig.room.open, rig.room.bytes) == (0, 0)


PACKAGE = str(Path(penstock.__file__).parent) + os.sep


def penstock_calls(rig: LaneRig, publishes: list[Publish]) -> int:
    """How many functions of penstock are called for a turn."""
    calls = 0

    def count(frame: Any, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code.co_filename.startswith(PACKAGE)

    sys.setprofile(count)
    try:
        rig.publish(publishes)
    finally:
        sys.setprofile(None)
    return calls


def test_messages_outside_of_batches_cost_nothing_more() -> None:
    """Where batches are allowed a run goes in bulk as before, however long it is."""
    counts = set()
    for allow_atomic in (False, True):
        for count in (10, 3000):
            config = create(storage="memory", subjects=["t.>"], allow_atomic=allow_atomic)
            rig = LaneRig(config, careful=False)
            before = rig.turns
            counts.add(penstock_calls(rig, [Publish(b"t.a", b"x", asks=False)] * count))
            assert rig.turns - before == 2  # the second one finds nothing
            assert rig.stream.sequence_last == count
    assert len(counts) == 1
