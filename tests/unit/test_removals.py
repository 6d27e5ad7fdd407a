"""Folders of deleted streams, and how far the log may be cut because of them."""

from pathlib import Path

import pytest

from penstock.server.jetstream.removals import Removals

EVERYTHING = 1 << 62


def folder(root: Path, number: int) -> Path:
    path = root / f"S.{number}"
    path.mkdir()
    return path


def test_a_folder_goes_when_its_entry_is_durable(tmp_path: Path) -> None:
    removals = Removals()
    first, second = folder(tmp_path, 1), folder(tmp_path, 2)
    removals.add(first, 1, entry=10)
    removals.add(second, 2, entry=20)
    removals.carry_out(9)
    assert first.exists()
    removals.carry_out(10)
    assert not first.exists()
    assert second.exists()


def test_the_log_is_kept_until_names_are_durable(tmp_path: Path) -> None:
    removals = Removals()
    assert removals.entry_settled > EVERYTHING
    removals.add(folder(tmp_path, 1), 1, entry=10)
    removals.add(folder(tmp_path, 2), 2, entry=20)
    assert removals.entry_settled == 9
    removals.carry_out(10)
    assert removals.entry_settled == 9, "renamed, but a power cut would bring it back"
    taken = removals.take_renamed()
    assert removals.entry_settled == 19
    removals.put_back(taken)
    assert removals.entry_settled == 9
    removals.take_renamed()
    removals.carry_out(20)
    removals.take_renamed()
    assert removals.entry_settled > EVERYTHING


def test_the_log_is_kept_for_what_cannot_be_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removals = Removals()
    path = folder(tmp_path, 1)
    removals.add(path, 1, entry=10)

    def refuse(_path: Path, _target: Path) -> Path:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", refuse)
        removals.carry_out(10)
        assert removals.entry_settled == 9
        with pytest.raises(OSError, match="the deleted stream would come back"):
            removals.finish()
    assert removals.entry_settled == 9
    removals.finish()
    assert not path.exists()


def test_a_deletion_found_by_a_start_keeps_the_whole_log(tmp_path: Path) -> None:
    removals = Removals()
    removals.add(folder(tmp_path, 1), 1, entry=0)
    assert removals.entry_settled == 0
    assert len(removals.take_renamed()) == 1
    assert removals.entry_settled > EVERYTHING


def test_another_log_gets_what_the_failed_one_had(tmp_path: Path) -> None:
    removals = Removals()
    path = folder(tmp_path, 7)
    removals.add(path, 7, entry=10)
    written: list[int] = []

    def journal(number: int) -> int:
        written.append(number)
        return 3

    removals.write_again(journal)
    assert written == [7]
    removals.carry_out(3)
    assert not path.exists()
