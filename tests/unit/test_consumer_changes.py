"""Files of changes: what was written whole comes back in order, and goes with a later state."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.kernel.consumers import AckPolicy, Figures, Ledger
from penstock.model.consumer_config import ConsumerConfig
from penstock.server.jetstream.consumers.change_file import (
    PREFIX,
    ChangeFiles,
    SavedChange,
    editions,
    read_changes,
)
from penstock.server.jetstream.consumers.found import FoundConsumers
from penstock.server.jetstream.consumers.record import ConsumerRecord
from penstock.server.jetstream.consumers.state_file import SavedConsumer

CHANGES = [SavedChange(7, number, b"change" * number) for number in range(1, 7)]


def test_they_come_back_in_order(tmp_path: Path) -> None:
    files = ChangeFiles()
    files.append(tmp_path, 9, CHANGES[:2])
    files.append(tmp_path, 9, CHANGES[2:3])
    files.append(tmp_path, 10, CHANGES[3:])
    assert [*read_changes(tmp_path)] == CHANGES
    assert editions(tmp_path) == files.there == [9, 10]


def test_a_torn_end_costs_only_itself(tmp_path: Path) -> None:
    files = ChangeFiles()
    files.append(tmp_path, 2, CHANGES[:3])
    files.append(tmp_path, 4, CHANGES[3:])
    path = tmp_path / f"{PREFIX}2"
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        found = [*read_changes(tmp_path)]
        assert found[-3:] == CHANGES[3:]
        assert found[:-3] == CHANGES[: len(found) - 3]
        assert len(found) < len(CHANGES)
    path.write_bytes(whole[:-1] + b"?")
    assert [*read_changes(tmp_path)] == CHANGES[:2] + CHANGES[3:]


def test_a_later_state_removes_them(tmp_path: Path) -> None:
    files = ChangeFiles()
    for edition, change in enumerate(CHANGES):
        files.append(tmp_path, edition, [change])
    files.remove_before(tmp_path, 4)
    assert editions(tmp_path) == [4, 5]
    files.remove_before(tmp_path, 6)
    assert editions(tmp_path) == []
    files.append(tmp_path, 6, CHANGES[:1])
    assert [*read_changes(tmp_path)] == CHANGES[:1]


def test_what_could_not_be_written_is_not_there(tmp_path: Path, monkeypatch: Any) -> None:
    files = ChangeFiles()
    files.append(tmp_path, 1, CHANGES[:1])
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:-1]))
    with pytest.raises(OSError, match="written in part"):
        files.append(tmp_path, 1, CHANGES[1:2])
    monkeypatch.undo()
    assert (tmp_path / f"{PREFIX}1").stat().st_size == files.bytes
    assert [*read_changes(tmp_path)] == CHANGES[:1]


def made(number: int) -> SavedChange:
    """A consumer that has seen five messages."""
    record = ConsumerRecord(number, f"C{number}", 1, ConsumerConfig(name=f"C{number}"))
    ledger = ledger_for(record)
    ledger.start(6, [])
    return SavedChange(number, 0, ledger.snapshot(), record.encode())


def ledger_for(record: ConsumerRecord) -> Ledger:
    return Ledger(
        ack_subject=f"$JS.ACK.S.{record.name}.".encode(),
        ack_policy=AckPolicy.EXPLICIT,
        filters=[],
        headers_only=False,
        recorded=True,
    )


class Stage:
    """Where consumers that were found begin to run."""

    stream = SimpleNamespace(config=SimpleNamespace(name="S"), sequence_last=9)
    ledger_for = staticmethod(ledger_for)

    def __init__(self) -> None:
        self.cursors: dict[int, int] = {}

    def make(self, record: ConsumerRecord, ledger: Ledger) -> Any:
        self.cursors[record.number] = Figures(*ledger.figures()).cursor
        return SimpleNamespace(changes=0)


def test_consumers_are_made_and_deleted_again() -> None:
    stage: Any = Stage()
    found = FoundConsumers(stage, print)
    found.numbers_used = 7  # of the state, which has the one with the number 5
    five = made(5)
    found.restore(SavedConsumer(five.record, five.changes))
    gone_before_the_state, gone_since = made(6), made(8)
    for change in (gone_before_the_state, gone_since, made(9), SavedChange(8, 0, b"")):
        found.make_again(change)
    found.make_again(SavedChange(5, 0, b""))
    found.attach_all()
    assert stage.cursors == {9: 6}
    assert found.numbers_used == 9
