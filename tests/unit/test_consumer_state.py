"""The file that has a stream's consumers: one of its twins is enough, and nothing else passes."""

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from penstock.model.consumer_config import AckPolicy, ConsumerConfig
from penstock.server.jetstream.consumers.live_consumer import LiveConsumer
from penstock.server.jetstream.consumers.record import ConsumerRecord
from penstock.server.jetstream.consumers.saved_state import SavedState
from penstock.server.jetstream.consumers.state_file import (
    FILES,
    RECENT_FILES,
    SavedConsumer,
    SavedConsumers,
    read_consumers,
    write_consumers,
    write_recent,
)
from penstock.storage.carried import Carried

RECORD = ConsumerRecord(
    7,
    "C",
    1234,
    ConsumerConfig(
        durable_name="C",
        ack_policy=AckPolicy.EXPLICIT,
        filter_subjects=("a", "b.>"),
        backoff=(1, 2),
        metadata={"k": "v"},
        pause_until="2101-01-01T00:00:00Z",
    ),
)
SAVED = SavedConsumers(42, 9, [SavedConsumer(RECORD.encode(), b"ledger")])


def test_a_record_comes_back() -> None:
    assert ConsumerRecord.decode(RECORD.encode()) == RECORD


def test_the_file_comes_back(tmp_path: Path) -> None:
    assert read_consumers(tmp_path) == (None, [])
    write_consumers(tmp_path, SAVED.encode())
    assert read_consumers(tmp_path) == (SAVED, [])
    newer = SAVED._replace(mark=43, consumers=[])
    write_consumers(tmp_path, newer.encode())
    assert read_consumers(tmp_path) == (newer, [])


def test_the_newest_counts_whatever_its_mark(tmp_path: Path) -> None:
    write_consumers(tmp_path, SAVED._replace(edition=2).encode())
    for edition in (3, 4, 5):
        recent = SAVED._replace(mark=0, consumers=SAVED.consumers * (9 - edition), edition=edition)
        write_recent(tmp_path, recent.encode(), edition)
        assert read_consumers(tmp_path) == (recent, [])
    twins = SAVED._replace(edition=7)
    write_consumers(tmp_path, twins.encode())
    assert read_consumers(tmp_path) == (twins, [])


def test_a_torn_recent_file_leaves_the_one_before(tmp_path: Path) -> None:
    editions = [SAVED._replace(edition=edition) for edition in range(5)]
    write_consumers(tmp_path, editions[2].encode())
    for edition in (3, 4):
        write_recent(tmp_path, editions[edition].encode(), edition)
    for edition in (4, 3):
        path = tmp_path / RECENT_FILES[edition % 2]
        path.write_bytes(editions[edition].encode()[:-20])
        saved, problems = read_consumers(tmp_path)
        assert saved == editions[edition - 1]
        assert any(path.name in problem for problem in problems)


class Nobody:
    """The consumers of a stream that has none any more."""

    has_changed = True

    def __iter__(self) -> Iterator[LiveConsumer]:
        return iter(())


def test_a_checkpoint_makes_durable_what_was_written_before_it(tmp_path: Path) -> None:
    store = SimpleNamespace(journal=None, carried=Carried())
    lifecycle: Any = SimpleNamespace(roster=Nobody(), store=store)
    state = SavedState(lifecycle, print)
    state.folder = tmp_path
    state.write(0, durable=False)
    assert [path.name for path in tmp_path.iterdir()] == [RECENT_FILES[1]]
    assert state.note(0, durable=False) == b""
    state.write(5)
    assert {*FILES, RECENT_FILES[1]} == {path.name for path in tmp_path.iterdir()}
    saved, problems = read_consumers(tmp_path)
    assert (saved and saved.mark, problems) == (5, [])
    assert state.note(5) == b""
    lifecycle.roster.has_changed = True
    state.write(0, durable=False)
    assert (tmp_path / RECENT_FILES[0]).exists(), "the last recent one is not written over"


def test_a_file_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    data = b"penstock consumers 1\n" + msgspec.msgpack.encode(SAVED[:3])
    seal = hashlib.blake2b(data, digest_size=16).digest()
    (tmp_path / FILES[0]).write_bytes(data + seal)
    assert read_consumers(tmp_path) == (SAVED, [])


@pytest.mark.parametrize("name", FILES)
def test_one_damaged_twin_costs_nothing(tmp_path: Path, name: str) -> None:
    dice = random.Random(1)
    for _ in range(50):
        write_consumers(tmp_path, SAVED.encode())
        data = bytearray(SAVED.encode())
        bit = dice.randrange(len(data) * 8)
        data[bit // 8] ^= 1 << bit % 8
        (tmp_path / name).write_bytes(data)
        saved, problems = read_consumers(tmp_path)
        assert saved == SAVED
        assert [name in problem for problem in problems] == [True]


def test_both_damaged_is_told(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).write_bytes(SAVED.encode()[:-1])
    saved, problems = read_consumers(tmp_path)
    assert saved is None
    assert len(problems) == 2


def test_a_kill_between_the_twins_leaves_the_newer_one(tmp_path: Path) -> None:
    write_consumers(tmp_path, SAVED.encode())
    newer = SAVED._replace(mark=50)
    (tmp_path / FILES[0]).write_bytes(newer.encode())
    assert read_consumers(tmp_path) == (newer, [])
