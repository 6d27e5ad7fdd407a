"""Messages that leave a stream, against a model: what goes, what is marked, and that a replay of
the journal comes to the same."""

import tempfile
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kernel.storage import Blocks, Log
from penstock.storage.block_store import BlockStore
from penstock.storage.journal import Journal, Kind
from penstock.storage.store import Record
from penstock.streams import departures
from penstock.streams.delete_markers import MAX_AGE, PURGE, REMOVE, marker_headers
from penstock.streams.purging import EVERYTHING
from penstock.streams.stream import Stream
from penstock.streams.subjects import is_subset
from tests.unit.streams.configs import create

SECOND = 1_000_000_000
SUBJECTS = (b"t.a", b"t.b", b"t.c", b"t.d.e")
TTLS = (b"", b"1", b"2s", b"5", b"never", b"0")
KV_PURGE = b"KV-Operation: PURGE\r\n"
LIVES = {b"1": 1, b"2s": 2, b"5": 5}


class Publish(NamedTuple):
    subject: bytes
    ttl: bytes
    is_purge: bool  # of a KV client


class Expire(NamedTuple):
    after_ns: int
    count_max: int


class Remove(NamedTuple):
    place: float
    erase: bool


class Purge(NamedTuple):
    pattern: bytes
    place: float  # 0: no bound


STEPS = st.lists(
    st.one_of(
        st.builds(Publish, st.sampled_from(SUBJECTS), st.sampled_from(TTLS), st.booleans()),
        st.builds(Publish, st.sampled_from(SUBJECTS), st.sampled_from(TTLS), st.just(False)),
        st.builds(Expire, st.integers(0, 3 * SECOND), st.sampled_from([1, 4, 1000])),
        st.builds(Remove, st.floats(0, 1), st.booleans()),
        st.builds(Purge, st.sampled_from([b"t.a", b"t.*", b">"]), st.sampled_from([0, 0.5, 0.9])),
    ),
    max_size=40,
)


class Bench:
    """A stream with a journal, and what its messages should be."""

    def __init__(self, root: str, *, marked: bool, aged: bool) -> None:
        self.log = Log(root, "log", 1)
        blocks, *_ = Blocks.open(root, "streams/T", "T", None)
        markers = {"subject_delete_marker_ttl": 2 * SECOND} if marked else {}
        age = {"max_age": 4 * SECOND, "duplicate_window": SECOND} if aged else {}
        config = create(name="T", subjects=["t.>"], allow_msg_ttl=True, **markers, **age)
        self.stream = Stream(config, BlockStore(blocks, Journal(self.log, 1)), 0)
        self.now_ns = 1_700_000_000 * SECOND
        self.expected: dict[int, Record] = {}
        self.last = 0

    def play(self, step: Publish | Expire | Remove | Purge) -> None:
        self.now_ns += 1
        match step:
            case Publish(subject, ttl, is_purge):
                self.publish(subject, ttl, is_purge)
            case Expire(after_ns, count_max):
                self.now_ns += after_ns
                self.expire(count_max)
            case Remove(place, erase):
                sequence = self.at(place)
                gone = [sequence] if sequence in self.expected else []
                departed = departures.remove(self.stream, sequence, self.now_ns, erase=erase)
                self.leave(gone, REMOVE, departed)
            case Purge(pattern, place):
                bound = self.at(place) if place else 0
                departed = departures.purge(self.stream, pattern, bound, 0, self.now_ns)
                gone = [n for n in self.expected if not bound or n < bound]
                gone = [n for n in gone if is_matching(self.expected[n].subject, pattern)]
                self.leave(gone, b"" if pattern in EVERYTHING else PURGE, departed)
                self.stream.catch_up()

    def at(self, place: float) -> int:
        return 1 + int(place * self.stream.sequence_last)

    def publish(self, subject: bytes, ttl: bytes, is_purge: bool) -> None:
        lines = (b"Nats-TTL: %s\r\n" % ttl if ttl else b"") + (KV_PURGE if is_purge else b"")
        headers = b"NATS/1.0\r\n" + lines + b"\r\n" if lines else b""
        self.stream.publish(subject, headers, b"x", self.now_ns)
        if ttl == b"1" and self.stream.config.subject_delete_marker_ttl:  # raised to the markers'
            kept = KV_PURGE if is_purge else b""
            headers = b"NATS/1.0\r\n" + kept + b"Nats-TTL: 2\r\n\r\n"
        self.store(subject, headers, b"x")

    def store(self, subject: bytes, headers: bytes, payload: bytes) -> None:
        self.last += 1
        self.expected[self.last] = Record(self.last, self.now_ns, subject, headers, payload)

    def expire(self, count_max: int) -> None:
        while (departed := departures.expire(self.stream, self.now_ns, count_max)).is_cut:
            self.leave(self.missing(), MAX_AGE, departed)
        self.leave(self.missing(), MAX_AGE, departed)
        assert not [n for n in self.expected if self.is_over(n)]

    def missing(self) -> list[int]:
        """What the stream let go of; all of it must have been over."""
        gone = [n for n in self.expected if self.stream.store.load(n) is None]
        assert all(map(self.is_over, gone))
        return gone

    def is_over(self, number: int) -> bool:
        record, max_age = self.expected[number], self.stream.config.max_age
        if b"Nats-TTL: never" in record.headers:
            return False
        is_old = max_age > 0 and record.time_ns < self.now_ns - max_age
        seconds = [s for text, s in LIVES.items() if b"Nats-TTL: %s\r" % text in record.headers]
        seconds += [2] if b"Nats-TTL: 2\r" in record.headers else []
        return is_old or any(record.time_ns + s * SECOND <= self.now_ns for s in seconds)

    def leave(self, gone: list[int], reason: bytes, departed: departures.Departure) -> None:
        records = [self.expected.pop(number) for number in sorted(gone)]
        assert departed.messages == len(records)
        left = {record.subject for record in self.expected.values()}
        lasts = {record.subject: record for record in records if record.subject not in left}
        if reason and self.stream.config.subject_delete_marker_ttl:
            headers = marker_headers(self.stream.config, reason)
            for last in sorted(lasts.values()):
                if b"Nats-Marker-Reason" not in last.headers and KV_PURGE not in last.headers:
                    self.store(last.subject, headers, b"")

    def check(self) -> None:
        store = self.stream.store
        state = store.state()
        found = map(store.load, range(1, state.sequence_last + 1))
        rows = [record for record in found if record is not None]
        assert rows == [self.expected[number] for number in sorted(self.expected)]
        assert state.sequence_last == self.stream.sequence_last == self.last


def is_matching(subject: bytes, pattern: bytes) -> bool:
    return is_subset(subject.decode(), pattern.decode())


def replayed(root: str) -> Blocks:
    """A store made of the journal alone."""
    blocks, *_ = Blocks.open(root, "streams/replayed", "T", None)
    blocks.watch_lifetimes(True)
    log = Log(root, "log", 1)
    while (entry := log.next_replayed(0, {})) is not None:
        _, _, kind, payload = entry
        match Kind(kind):
            case Kind.RUN:
                assert blocks.replay_run(payload) is None
            case Kind.REPLACED:
                assert blocks.replay_replaced(payload) is None
            case Kind.REMOVED_BELOW:
                blocks.remove_below(int(payload))
            case other:
                raise AssertionError(other)
    return blocks


@settings(max_examples=60, deadline=None)
@given(steps=STEPS, marked=st.booleans(), aged=st.booleans())
def test_departures_are_those_of_a_model_and_of_a_replay(
    steps: list[Publish | Expire | Remove | Purge], marked: bool, aged: bool
) -> None:
    with tempfile.TemporaryDirectory() as root:
        bench = Bench(root, marked=marked, aged=aged)
        for step in steps:
            bench.play(step)
            bench.check()
        bench.log.commit()
        bench.log.wait_durable(bench.log.last())
        ours, again = bench.stream.store, replayed(root)
        assert again.state() == tuple(ours.state())
        for number in range(1, bench.last + 1):
            assert again.load(number) == ours.load(number)
        assert again.lifetimes() == tuple(ours.lifetimes.figures())
