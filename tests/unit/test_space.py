"""How much space messages may take, against a file system that says what it is told to."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.model.limits import KIB, MIB
from penstock.server.jetstream import space as module
from penstock.server.jetstream.reserve import Reserve
from penstock.server.jetstream.space import Space

BLOCK = 4 * KIB
FULL = "write /store/log: No space left on device (os error 28)"


class FakeDisk:
    """A file system and a clock."""

    def __init__(self, total: int) -> None:
        self.total = self.free = total
        self.asked = 0
        self.now_ns = 0

    def statvfs(self, _path: Path) -> SimpleNamespace:
        self.asked += 1
        return SimpleNamespace(
            f_blocks=self.total // BLOCK, f_bavail=self.free // BLOCK, f_frsize=BLOCK
        )


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> FakeDisk:
    disk = FakeDisk(128 * MIB)
    monkeypatch.setattr(module.os, "statvfs", disk.statvfs)
    monkeypatch.setattr(module, "monotonic_ns", lambda: disk.now_ns)
    return disk


def opened(root: Path, *, unwritten: int = 0) -> Space:
    space = Space(root)
    space.is_logged = True
    space.unwritten_bytes = lambda: unwritten
    space.look()
    space.look()  # with the reserve, which takes nothing of this disk
    return space


@pytest.mark.parametrize(
    ("total", "segment"),
    [(1 << 40, 64 * MIB), (128 * MIB, 2 * MIB), (MIB, 256 * KIB), (0, 64 * MIB)],
)
def test_a_small_disk_has_a_small_log(
    tmp_path: Path, disk: FakeDisk, total: int, segment: int
) -> None:
    disk.total = disk.free = total
    assert Space(tmp_path).segment_bytes == segment


def test_the_file_system_is_not_asked_for_every_message(tmp_path: Path, disk: FakeDisk) -> None:
    space = opened(tmp_path)
    asked, left = disk.asked, space.left()
    for _ in range(1000):
        assert space.left() > 0
        space.add(20_000)
    assert disk.asked == asked, "half of what was left is still there"
    space.add(left)
    assert space.left() == left, "what was added was not written"
    assert disk.asked == asked + 1


def test_what_is_kept_free(tmp_path: Path, disk: FakeDisk) -> None:
    """The log's full size, what is in memory only, and two segments more."""
    space = opened(tmp_path, unwritten=3 * MIB)
    told = []
    space.changed = lambda: told.append(space.shortage)
    kept = (4 + 2) * 2 * MIB + 3 * MIB
    disk.free = kept + 200 * KIB
    space.look()
    assert space.left() == 100 * KIB, "each byte is written twice"
    disk.free = kept
    space.look()
    assert space.left() == 0
    assert f"No space left for messages in {tmp_path}: 15 MiB are free" in space.shortage
    disk.free = kept + 2 * MIB
    space.look()
    assert space.left() == 0, "only a little more"
    disk.free = kept + 4 * MIB
    space.look()
    assert space.left() == 2 * MIB
    assert [bool(text) for text in told] == [True, False]


def test_what_the_log_takes_is_not_kept_free_again(tmp_path: Path, disk: FakeDisk) -> None:
    space = opened(tmp_path)
    before = space.left()
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "spare").write_bytes(os.urandom(2 * MIB))
    disk.free -= 2 * MIB
    space.look()
    assert space.left() == before


def test_the_reserve_goes_when_nobody_takes_space_any_more(tmp_path: Path, disk: FakeDisk) -> None:
    space = opened(tmp_path)
    reserve = tmp_path / "reserve"
    assert reserve.stat().st_blocks * 512 >= 4 * MIB
    for disk.free in (900 * KIB, 500 * KIB):
        space.look()
        assert reserve.exists(), "somebody is taking space"
    space.look()
    assert not reserve.exists()
    assert space.is_used_up
    disk.free = 14 * MIB
    space.look()
    assert space.shortage, "with the reserve it would be too little"
    disk.free = 40 * MIB
    space.look()
    assert not space.shortage
    assert reserve.exists()


def test_a_write_that_failed_counts_more_than_what_the_file_system_says(
    tmp_path: Path, disk: FakeDisk
) -> None:
    space = opened(tmp_path)
    space.failed("sync /store/log: Input/output error (os error 5)")
    assert not space.shortage
    space.failed(FULL)
    assert space.left() == 0
    disk.now_ns += 5_000_000_000
    space.look()
    assert space.left() > 0


def test_a_reserve_without_its_space_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "reserve"
    with path.open("wb") as file:
        file.truncate(MIB)  # as a copy may have it
    reserve = Reserve(path, MIB)
    assert reserve.missing_bytes == MIB
    reserve.make()
    assert reserve.missing_bytes == 0
    assert path.stat().st_blocks * 512 >= MIB
    assert Reserve(path, MIB).missing_bytes == 0
