"""A stream of counters against a dictionary of integers."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from penstock.kernel.storage import Blocks
from penstock.model.stream_config import StreamConfig
from penstock.storage.block_store import BlockStore
from penstock.storage.store import Record
from penstock.streams import headers
from penstock.streams.counters import COUNTER_SOURCES, INCREMENT, CountedSource, counted
from penstock.streams.stream import Stream
from tests.unit.streams.configs import create

SUBJECTS = (b"t.a", b"t.b", b"t.c")
MESSAGE_ID = b"Nats-Msg-Id"

integers = st.one_of(
    st.integers(-9, 9), st.integers(-(10**60), 10**60), st.integers(-(10**4000), 10**4000)
)
zeros = st.sampled_from((b"", b"0", b"000"))
adds = st.tuples(
    st.just("add"), st.sampled_from(SUBJECTS), integers, zeros, st.sampled_from((b"", b"1", b"2"))
)
wrongs = st.tuples(
    st.just("wrong"),
    st.sampled_from(SUBJECTS),
    st.sampled_from((b"5", b"", b"+", b"1e3", b"+1_0", b"+\xd9\xa3", b"-1.0", b"+ 1")),
)
purges = st.tuples(st.just("purge"), st.sampled_from(SUBJECTS))
steps = st.lists(st.one_of(adds, adds, wrongs, purges), max_size=40)


def stream_of_counters() -> Stream:
    config: StreamConfig = create(name="T", subjects=["t.>"], allow_msg_counter=True)
    return Stream(config, BlockStore(Blocks.in_memory("T"), None), 1)


def incremented(value: bytes, message_id: bytes = b"") -> bytes:
    found = headers.add(b"", INCREMENT, value)
    return headers.add(found, MESSAGE_ID, message_id) if message_id else found


@given(steps=steps)
@example(steps=[("add", b"t.a", 0, b"", b""), ("add", b"t.a", -5, b"00", b"")])
def test_values_are_those_of_a_dictionary_of_integers(steps: list[tuple]) -> None:  # type: ignore[type-arg]
    stream, model, ids = stream_of_counters(), dict[bytes, int](), set[bytes]()
    for step in steps:
        match step:
            case "add", subject, value, zeros, message_id:
                sign, digits = b"-" if value < 0 else b"+", str(abs(value)).encode()
                outcome = stream.publish(
                    subject, incremented(sign + zeros + digits, message_id), b"", 1
                )
                answer = json.loads(outcome.ack)
                if message_id and message_id in ids:
                    assert answer["duplicate"]
                    continue
                ids.add(message_id)
                model[subject] = model.get(subject, 0) + value
                assert answer["val"] == str(model[subject])
            case "wrong", subject, text:
                outcome = stream.publish(subject, incremented(text), b"", 1)
                assert json.loads(outcome.ack)["error"]["err_code"] in (10169, 10171)
            case "purge", subject:
                for record_sequence in sequences_of(stream, subject):
                    stream.store.remove(record_sequence, erase=False)
                model.pop(subject, None)
    for subject in SUBJECTS:
        assert recounted(stream, subject) == model.get(subject)


def sequences_of(stream: Stream, subject: bytes) -> list[int]:
    records = (stream.store.load(sequence) for sequence in range(1, stream.sequence_last + 1))
    return [record.sequence for record in records if record and record.subject == subject]


def recounted(stream: Stream, subject: bytes) -> int | None:
    """The sum of the increments, which every body on the way must agree with."""
    total = None
    for sequence in sequences_of(stream, subject):
        record = stream.store.load(sequence)
        assert record is not None
        increment = headers.find(record.headers, INCREMENT)
        assert increment is not None
        total = (total or 0) + int(increment)
        assert json.loads(record.payload) == {"val": str(total)}
    return total


seen = st.tuples(st.sampled_from(("O", "P")), st.sampled_from(("a", "b.<c>")), integers)


@given(events=st.lists(st.one_of(seen, integers), max_size=25))
def test_sources_add_up_whatever_of_them_was_seen(
    events: list[tuple[str, str, int] | int],
) -> None:
    """Each event is a value that a source has reached, or an increment of the stream's own: the sum
    is that of the last value of every source, and of the increments."""
    stream, own, reached, total = stream_of_counters(), 0, dict[tuple[str, str], int](), 0
    last = None
    for sequence, event in enumerate(events, 1):
        if isinstance(event, int):
            own += event
            found = counted(incremented(b"%+d" % event), b"", last, None)
        else:
            name, subject, value = event
            reached[name, subject] = value
            body = json.dumps({"val": str(value)}).encode()
            found = counted(incremented(b"+99"), body, last, CountedSource(name, subject))
        assert isinstance(found, tuple)
        total += int(headers.find(found.headers, INCREMENT) or b"")
        assert total == own + sum(reached.values())
        assert json.loads(found.payload) == {"val": str(total)}
        kept = json.loads(headers.find(found.headers, COUNTER_SOURCES) or b"{}")
        assert {
            (name, subject): int(value)
            for name, subjects in kept.items()
            for subject, value in subjects.items()
        } == reached
        stream.store.append(Record(sequence, 1, b"t", *found))
        last = stream.store.load(sequence)
