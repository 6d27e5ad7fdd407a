"""Every store against the slow, obvious one: the same operations, the same answers.

The file store is closed and opened again at random points, cleanly or as after a kill: what was
written out is there, and nothing else has changed.
"""

import tempfile

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from penstock.kernel.hub import Hub
from penstock.kernel.storage import Blocks
from penstock.storage.block_store import BlockStore
from penstock.storage.store import Limits, Record
from tests.properties.hub_walk import open_client, small_hub
from tests.unit.streams.model_store import ModelStore

SUBJECTS = st.sampled_from([b"a", b"a.b", b"a.c", b"a.b.c", b"b", b"b.b", b"z.1.2"])
PATTERNS = st.sampled_from([b">", b"a", b"a.*", b"a.>", b"*.b", b"*.*.>", b"nothing", b"b"])
HEADERS = st.sampled_from(
    [
        b"",
        b"NATS/1.0\r\nA: 1\r\n\r\n",
        b"NATS/1.0\r\nNats-Msg-Id:  one \r\n\r\n",
        b"NATS/1.0\r\nA:1\r\nNats-Msg-Id: two\r\nNats-Msg-Id: three\r\n\r\n",
        b"NATS/1.0\r\nNot-Nats-Msg-Id: x\r\nnats-msg-id: y\r\nNats-Msg-Id:\r\n\r\n",
        b"NATS/1.0\r\nNats-Msg-Id: the end is missing",
    ]
)
SEQUENCES = st.integers(0, 40)
COUNTS, SIZES, PER_SUBJECT = st.integers(0, 9), st.integers(0, 600), st.integers(0, 3)
RUNS = st.lists(st.tuples(SUBJECTS, st.binary(max_size=40)), min_size=1, max_size=6)


def picked_run(publishes: list[tuple[bytes, bytes]]) -> tuple[Hub, int]:
    """A hub whose picked frames are these publishes, and how many there are."""
    frames = [b"PUB %s %d\r\n%s\r\n" % (key, len(text), text) for key, text in publishes]
    return picked(frames), len(publishes)


def picked_expectations(wanted: list[tuple[bytes, int]]) -> tuple[Hub, int]:
    """The same for publishes that expect the last message of their subject."""
    lines = [(subject, b"NATS/1.0\r\nLast: %d\r\n\r\n" % last) for subject, last in wanted]
    frames = [b"HPUB %s %d %d\r\n%s\r\n" % (key, len(text), len(text), text) for key, text in lines]
    return picked(frames), len(wanted)


def picked(frames: list[bytes]) -> Hub:
    hub = small_hub()
    client = open_client(hub)
    assert hub.add_target(0, b">", 1)
    hub.begin(1)
    hub.feed(client, b"".join(frames))
    assert hub.next_group(0) is not None
    return hub


class StoreMachine(RuleBasedStateMachine):
    """Drives a store and its model."""

    memory = True

    def __init__(self) -> None:
        super().__init__()
        self.model = ModelStore(memory=self.memory)
        self.root = tempfile.TemporaryDirectory(prefix="store-")
        self.store = self._open()
        self.now_ns = 1_000

    def _open(self) -> BlockStore:
        if self.memory:
            return BlockStore(Blocks.in_memory("S"), None)
        blocks, _mark, lost, notes = Blocks.open(self.root.name, "streams/S", "S", None)
        assert lost == []
        assert notes == []
        return BlockStore(blocks, None)

    def teardown(self) -> None:
        self.root.cleanup()

    @rule(subject=SUBJECTS, headers=HEADERS, payload=st.binary(max_size=40), gap=st.integers(0, 3))
    def append(self, subject: bytes, headers: bytes, payload: bytes, gap: int) -> None:
        self.now_ns += 10
        sequence = self.model.sequence_last + 1 + (gap if gap == 3 else 0)
        record = Record(sequence, self.now_ns, subject, headers, payload)
        self.store.append(record)
        self.model.append(record)

    @rule(sequence=SEQUENCES, erase=st.booleans())
    def remove(self, sequence: int, erase: bool) -> None:
        assert self.store.remove(sequence, erase=erase) == self.model.remove(sequence, erase=erase)

    @rule(sequence=SEQUENCES)
    def remove_below(self, sequence: int) -> None:
        bound = min(sequence, self.model.sequence_last + 1)
        assert self.store.remove_below(bound) == self.model.remove_below(bound)

    @rule(messages=COUNTS, size=SIZES, per_subject=PER_SUBJECT)
    def evict(self, messages: int, size: int, per_subject: int) -> None:
        limits = Limits(messages, size, per_subject)
        assert self.store.evict(limits) == self.model.evict(limits)

    @rule(run=RUNS)
    def append_run(self, run: list[tuple[bytes, bytes]]) -> None:
        self.now_ns += 10
        hub, end = picked_run(run)
        first = self.model.sequence_last + 1
        self.store.append_run(hub, 0, end, first, self.now_ns)
        self.model.append_run(hub, 0, end, first, self.now_ns)

    @rule(run=RUNS, limits=st.builds(Limits, COUNTS, SIZES, PER_SUBJECT), keeps=st.booleans())
    def fitting(self, run: list[tuple[bytes, bytes]], limits: Limits, keeps: bool) -> None:
        hub, end = picked_run(run)
        self.store.evict(limits)  # a stream is never above its limits
        self.model.evict(limits)
        ours = self.store.fitting(hub, 0, end, limits, keeps_subjects=keeps)
        theirs = self.model.fitting(hub, 0, end, limits, keeps_subjects=keeps)
        is_exact = not limits.bytes or limits.subject_messages < 2  # else sizes may not be at hand
        assert ours == theirs if is_exact else ours <= theirs
        assert bool(ours) == bool(theirs)

    @rule(subjects=st.lists(SUBJECTS, min_size=1, max_size=6), data=st.data())
    def expected(self, subjects: list[bytes], data: st.DataObject) -> None:
        """Mostly as it is, or would be."""
        first = self.model.sequence_last + 1
        lasts, wanted = {}, []
        for place, subject in enumerate(subjects):
            last = lasts.get(subject, self.model.last_matching(subject, first) or 0)
            wanted.append((subject, last + data.draw(st.sampled_from([0, 0, 0, 0, 1]))))
            lasts[subject] = first + place
        hub, end = picked_expectations(wanted)
        ours = self.store.expected(hub, 0, end, b"Last", first)
        assert ours == self.model.expected(hub, 0, end, b"Last", first)

    @rule(age=st.integers(0, 200))
    def expire(self, age: int) -> None:
        cut_ns = self.now_ns - age
        assert self.store.expire(cut_ns, 2**60) == self.model.expire(cut_ns, 2**60)

    @rule(sequence=SEQUENCES, pattern=PATTERNS)
    def look_up(self, sequence: int, pattern: bytes) -> None:
        store, model = self.store, self.model
        assert store.load(sequence) == model.load(sequence)
        assert store.next_matching(pattern, sequence) == model.next_matching(pattern, sequence)
        assert store.last_matching(pattern, sequence) == model.last_matching(pattern, sequence)
        assert store.pending(pattern, sequence) == model.pending(pattern, sequence)
        last = model.last_by_subjects([pattern], sequence)
        assert store.last_by_subjects([pattern], sequence) == last

    @rule(subject=SUBJECTS, pattern=PATTERNS, age=st.integers(-20, 300))
    def look_around(self, subject: bytes, pattern: bytes, age: int) -> None:
        store, model = self.store, self.model
        assert store.subject_state(subject) == model.subject_state(subject)
        assert store.subjects(pattern, 0, 100) == model.subjects(pattern, 0, 100)
        assert store.subjects(pattern, 1, 2) == model.subjects(pattern, 1, 2)
        cut_ns = self.now_ns - age
        assert store.sequence_at(cut_ns) == model.sequence_at(cut_ns)

    @rule(sequence=SEQUENCES, name=st.sampled_from([b"A", b"Nats-Msg-Id", b"B"]))
    def look_at_headers(self, sequence: int, name: bytes) -> None:
        assert self.store.header_values(name, sequence) == self.model.header_values(name, sequence)

    @precondition(lambda self: not self.memory)
    @rule(clean=st.booleans())
    def open_again(self, clean: bool) -> None:
        self.store.blocks.write_out()
        if clean:
            self.store.blocks.checkpoint(0, True)
        del self.store
        self.store = self._open()

    @invariant()
    def same_state(self) -> None:
        ours, theirs = self.store.state(), self.model.state()
        assert ours.messages == theirs.messages
        assert ours.sequence_last == theirs.sequence_last
        assert ours.subjects == theirs.subjects
        assert ours.bytes == theirs.bytes
        if theirs.messages:
            assert ours.sequence_first == theirs.sequence_first
            assert ours.time_first_ns == theirs.time_first_ns
            assert ours.deleted == theirs.deleted
            gone = [n for first, last in self.store.deleted() for n in range(first, last + 1)]
            assert gone == [first for first, _ in self.model.deleted()]


class FileStoreMachine(StoreMachine):
    memory = False


StoreMachine.TestCase.settings = settings(max_examples=60, deadline=None, stateful_step_count=40)
FileStoreMachine.TestCase.settings = settings(
    max_examples=60, deadline=None, stateful_step_count=40
)
TestMemoryStore = StoreMachine.TestCase
TestFileStore = FileStoreMachine.TestCase


@pytest.mark.parametrize(
    ("subject", "headers", "payload", "counted"),
    [
        (b"ORDERS.processed", b"", b"order 4", 53),  # the example of the specification
        (b"a", b"", b"", 31),
        (b"a", b"NATS/1.0\r\n\r\n", b"", 47),
    ],
)
def test_a_message_counts_as_its_record(
    subject: bytes, headers: bytes, payload: bytes, counted: int, tmp_path: object
) -> None:
    blocks, *_ = Blocks.open(str(tmp_path), "streams/S", "S", None)
    store = BlockStore(blocks, None)
    store.append(Record(1, 1, subject, headers, payload))
    assert store.state().bytes == counted
