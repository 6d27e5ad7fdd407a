"""After a start, the duplicate window is what a walk over the messages in it says, one by one."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kernel.storage import Blocks
from penstock.model.stream_config import Storage, StreamConfig
from penstock.server.jetstream.recovery import remember_ids
from penstock.storage.block_store import BlockStore
from penstock.storage.store import Record
from penstock.streams import headers
from penstock.streams.admission import MESSAGE_ID
from penstock.streams.reads import walk
from penstock.streams.stream import Stream

WINDOW_NS = 1000
IDS = [b"", b"a", b"b", b"c", b"a-longer-one"]
APPENDS = st.tuples(st.sampled_from(IDS), st.integers(0, 300))
STEPS = st.lists(st.one_of(APPENDS, st.integers(1, 40)), max_size=30)


def opened(root: str | None, name: str = "S") -> BlockStore:
    if root is None:
        return BlockStore(Blocks.in_memory(name), None)
    blocks, *_ = Blocks.open(root, "streams/S", name, None)
    return BlockStore(blocks, None)


def filled(store: BlockStore, steps: list[tuple[bytes, int] | int]) -> int:
    """Appends messages with an id and a pause before each, removes others; returns the time."""
    now_ns, sequence = 1_000_000, 0
    for step in steps:
        if isinstance(step, int):
            store.remove(step, erase=False)
            continue
        sequence, now_ns = sequence + 1, now_ns + step[1]
        head = headers.add(b"", MESSAGE_ID, step[0]) if step[0] else b""
        store.append(Record(sequence, now_ns, b"s", head, b"payload"))
    return now_ns


def in_window(store: BlockStore, now_ns: int) -> tuple[dict[bytes, int], bytes]:
    """Ids with the sequences they stand for, and the id of the last message."""
    known: dict[bytes, int] = {}
    last = b""
    first = store.sequence_at(now_ns - WINDOW_NS)
    for record in walk(store, b">", first, store.state().sequence_last):
        last = headers.find(record.headers, MESSAGE_ID) or b""
        if last:
            known[last] = record.sequence
    return known, last


def check(store: BlockStore, now_ns: int) -> None:
    config = StreamConfig(name="S", subjects=("s",), duplicate_window=WINDOW_NS)
    stream = Stream(config, store, 0)
    remember_ids(stream, now_ns)
    known, last = in_window(store, now_ns)
    assert {one: stream.dedup.find(one, now_ns) for one in IDS} == {
        one: known.get(one) for one in IDS
    }
    assert (len(stream.dedup), stream.message_id_last) == (len(known), last)


@settings(deadline=None)
@given(STEPS, st.integers(0, 1500), st.booleans())
def test_in_files(steps: list[tuple[bytes, int] | int], later_ns: int, clean: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="window-") as root:
        store = opened(root)
        now_ns = filled(store, steps) + later_ns
        store.blocks.write_out()
        if clean:
            store.blocks.checkpoint(0, True)
        check(opened(root), now_ns)


@settings(deadline=None)
@given(STEPS, st.integers(0, 1500))
def test_in_memory(steps: list[tuple[bytes, int] | int], later_ns: int) -> None:
    store = opened(None)
    check(store, filled(store, steps) + later_ns)


def test_in_more_than_one_column() -> None:
    """Some forty megabytes of ids come in several calls."""
    store = opened(None)
    for number in range(1, 901):
        message_id = b"%06d" % number + b"i" * 50_000
        head = headers.add(b"", MESSAGE_ID, message_id)
        store.append(Record(number, number, b"s", head, b""))
    assert store.header_values(MESSAGE_ID, 1).sequence_next is not None
    stream = Stream(StreamConfig(name="S", duplicate_window=WINDOW_NS), store, 0)
    remember_ids(stream, 1000)
    assert len(stream.dedup) == 900
    assert stream.message_id_last.startswith(b"000900")
    assert stream.dedup.find(b"000001" + b"i" * 50_000, 1000) == 1


def test_a_damaged_message_is_not_in_it() -> None:
    with tempfile.TemporaryDirectory(prefix="window-") as root:
        store = opened(root)
        now_ns = filled(store, [(b"a", 1), (b"b", 1), (b"c", 1)])
        store.blocks.checkpoint(0, True)
        block = Path(root) / "streams/S/msgs/1.blk"
        block.write_bytes(block.read_bytes().replace(b"Nats-Msg-Id: b", b"Nats-Msg-Id: x"))
        store = opened(root)
        config = StreamConfig(name="S", storage=Storage.FILE, duplicate_window=WINDOW_NS)
        stream = Stream(config, store, 0)
        remember_ids(stream, now_ns)
        found = [stream.dedup.find(one, now_ns) for one in (b"a", b"b", b"x", b"c")]
        assert found == [1, None, None, 3]
        assert store.blocks.lost()[0] == [(2, 2)]
