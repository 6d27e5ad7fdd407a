"""A batch is there as a whole or not at all, whatever happens in the middle of its commit."""

import contextlib
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.kernel.storage import Blocks
from penstock.server.jetstream.batch_note import NAME as NOTE
from penstock.server.jetstream.batch_note import BatchNote
from penstock.storage.journal import Journal
from penstock.storage.store import Record
from tests.crash.batches import Batches, BatchPublisher
from tests.crash.client import wait_load
from tests.crash.history import read_all
from tests.crash.length import KILLS, SEED
from tests.crash.load import create
from tests.crash.node import Node
from tests.crash.tracing import fault
from tests.crash.wire import Wire

LAZY = 'sync_interval: "2m"'
MODES = {"default": "", "lazy": LAZY}
LOAD = 20  # acknowledged batches before each kill
LEFT_OPEN = "limits { batch { max_inflight_per_stream: 100000, max_inflight_total: 100000 } }"


@pytest.mark.timeout(120 + 60 * KILLS)
@pytest.mark.parametrize("mode", MODES)
def test_no_batch_is_there_in_part_after_kills_in_mid_load(tmp_path: Path, mode: str) -> None:
    dice = random.Random(SEED)
    streams = [Batches("SMALL", pad=20), Batches("LARGE", pad=3000)]
    settings = ", ".join(filter(None, (MODES[mode], LEFT_OPEN)))
    for round_number in range(KILLS + 1):
        with Node(tmp_path, settings) as node:
            with contextlib.closing(Wire(node.port)) as wire:
                for batches in streams:
                    if round_number == 0:
                        create(wire, batches.name, allow_atomic=True)
                    batches.check(wire)
            if round_number < KILLS:
                load_and_kill(node, streams, dice)
    total = sum(len(batches.acked) for batches in streams)
    assert total >= LOAD * KILLS, f"only {total} batches were acknowledged: that was no load"


def load_and_kill(node: Node, streams: list[Batches], dice: random.Random) -> None:
    publishers = [
        BatchPublisher(node.port, batches, dice.randrange(1 << 30)) for batches in streams
    ]
    for publisher in publishers:
        publisher.start()
    wait_load(publishers, lambda: sum(len(batches.acked) for batches in streams), LOAD)
    time.sleep(dice.uniform(0.0, 0.6))  # at any moment of it
    node.kill()
    for publisher in publishers:
        publisher.finish()


def test_the_check_sees_half_a_batch(tmp_path: Path) -> None:
    batches = Batches("HALF", pad=0)
    batches.sizes[1] = 3
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        create(wire, "HALF")
        for place in (1, 2):
            wire.request("HALF.x", batches.payload(1, place, 3))
        with pytest.raises(AssertionError, match="batch 1 is there as"):
            batches.check(wire)


PIECES, PIECE_BYTES = 12, 900_000  # more than a block holds, so that it takes two writes


@pytest.mark.timeout(600)  # a dozen starts
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("call", ["pwrite64", "write"])
def test_no_write_of_a_large_batch_can_be_the_last(tmp_path: Path, mode: str, call: str) -> None:
    """The server is killed at the first, the second ... write of a batch, until it survives."""
    is_killed, number = True, 0
    while is_killed:
        number += 1
        store = tmp_path / str(number)
        with Node(store, MODES[mode]) as node, contextlib.closing(Wire(node.port)) as wire:
            create(wire, "T", allow_atomic=True)
            wire.request("T.x", b"single")
            is_killed = commit_under(node, wire, f"{call}:signal=KILL:when={number}")
        with Node(store, MODES[mode]) as node, contextlib.closing(Wire(node.port)) as wire:
            sizes = [len(payload) for payload in read_all(wire, "T").values()]
            assert sizes in ([6], [6] + [PIECE_BYTES] * PIECES)
            assert is_killed or len(sizes) > 1
    assert number > 1


def commit_under(node: Node, wire: Wire, injected: str) -> bool:
    """Whether the server was killed while it committed a large batch, by what is injected."""
    for place in range(1, PIECES + 1):
        headers = b"Nats-Batch-Id: b\r\nNats-Batch-Sequence: %d\r\n" % place
        wire.wait(wire.ask("T.x", b"x" * PIECE_BYTES, headers))
    headers = b"Nats-Batch-Id: b\r\nNats-Batch-Sequence: %d\r\nNats-Batch-Commit: eob\r\n"
    with fault(node.pid, injected):
        reply = wire.ask("T.x", b"", headers % (PIECES + 1))
        try:
            assert b'"count":12' in wire.wait(reply).payload
        except ConnectionError:
            assert node.wait_exit() != 0
            return True
    return False


# Without a log, a kill may come between any two bytes that go to a block. These put the files into
# the state that it leaves: the note of the batch, and some of its records.

BEFORE = [b"a", b"b"]
BATCH = [b"c" * 100, b"d" * 100, b"e" * 100, b"f" * 100]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Of a stream with two messages, whose server was killed."""
    with Node(tmp_path, LAZY) as node, contextlib.closing(Wire(node.port)) as wire:
        create(wire, "T", allow_atomic=True)
        for payload in BEFORE:
            wire.request("T.x", payload)
    (found,) = tmp_path.glob("jetstream/streams/T.*")
    yield found


def noted(folder: Path, first: int, *, removes: bool = False) -> list[Record]:
    """Leaves the note of a batch behind."""
    records = [
        Record(sequence, time.time_ns(), b"T.x", b"", payload)
        for sequence, payload in enumerate(BATCH, first)
    ]
    journal = Journal(BatchNote(folder), 1)
    with journal.joined():
        for record in records:
            journal.message(record)
        if removes:
            journal.removed_below(first)
    return records


def written(folder: Path, records: list[Record], cut_bytes: int = 0) -> None:
    """Some of its records are in the block, the last one perhaps not to its end."""
    blocks, *_ = Blocks.open(str(folder.parent), folder.name, "T", None)
    for record in records:
        blocks.append(*record)
    blocks.write_out()
    if cut_bytes:
        block = max((folder / "msgs").glob("*.blk"))
        content = block.read_bytes()
        block.write_bytes(content[:-cut_bytes])


def found_after_a_start(folder: Path, mode: str = "lazy") -> list[bytes]:
    root = folder.parents[2]
    for _ in range(2):  # and once more, to see that it stays so
        with Node(root, MODES[mode]) as node, contextlib.closing(Wire(node.port)) as wire:
            assert not (folder / NOTE).exists()
            found = [payload for _, payload in sorted(read_all(wire, "T").items())]
            info = wire.request("$JS.API.STREAM.INFO.T")
            assert not info["state"].get("lost"), info
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("count", range(len(BATCH) + 1))
def test_a_batch_that_was_half_written_is_completed(folder: Path, count: int, mode: str) -> None:
    """Also by a server that has a log."""
    written(folder, noted(folder, 3)[:count])
    assert found_after_a_start(folder, mode) == BEFORE + BATCH


@pytest.mark.parametrize("cut_bytes", [1, 50, 130])
def test_a_batch_whose_write_ended_in_a_record_is_completed(folder: Path, cut_bytes: int) -> None:
    written(folder, noted(folder, 3)[:3], cut_bytes)
    assert found_after_a_start(folder) == BEFORE + BATCH


def test_without_the_note_half_a_batch_would_stay(folder: Path) -> None:
    """What the note is for."""
    written(folder, noted(folder, 3)[:2])
    (folder / NOTE).unlink()
    assert found_after_a_start(folder) == BEFORE + BATCH[:2]


def test_what_a_batch_has_removed_is_removed_again(folder: Path) -> None:
    written(folder, noted(folder, 3, removes=True)[:1])
    assert found_after_a_start(folder) == BATCH


@pytest.mark.parametrize("damage", ["cut", "flipped", "emptied"])
def test_a_note_that_is_not_whole_was_never_begun(folder: Path, damage: str) -> None:
    noted(folder, 3)
    note = folder / NOTE
    content = bytearray(note.read_bytes())
    content[100] ^= damage == "flipped"
    note.write_bytes(content[: {"cut": 300, "flipped": len(content), "emptied": 0}[damage]])
    assert found_after_a_start(folder) == BEFORE


def test_a_batch_behind_lost_messages_is_left_out(folder: Path) -> None:
    """After a power cut the file may have kept the note and lost what was before it."""
    noted(folder, 5)
    assert found_after_a_start(folder) == BEFORE
