"""Streams made since the last checkpoint: the log has them, whatever of their folders is there."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.history import read_all
from tests.crash.load import create
from tests.crash.node import Node, told
from tests.crash.wire import Wire
from tests.server_process import BIN

MESSAGES = 40
DOCTOR = (str(BIN / "penstock"), "doctor")
BLOCK = "msgs/1.blk"
PAGE_BYTES = 4096


def payload(number: int) -> bytes:
    return b"%d " % number * 8000  # so much that some of it is in the block without a checkpoint


def no_folder(folder: Path) -> None:
    shutil.rmtree(folder)


def no_blocks(folder: Path) -> None:
    shutil.rmtree(folder / "msgs")


def no_index(folder: Path) -> None:
    (folder / "index").unlink()


def empty_index(folder: Path) -> None:
    os.truncate(folder / "index", 0)


def names_alone(folder: Path) -> None:
    empty_index(folder)
    os.truncate(folder / BLOCK, 0)


def no_first_page(folder: Path) -> None:
    no_index(folder)
    with (folder / BLOCK).open("r+b") as file:
        file.write(bytes(PAGE_BYTES))


def no_page_inside(folder: Path) -> None:
    empty_index(folder)
    with (folder / BLOCK).open("r+b") as file:
        file.seek(10 * PAGE_BYTES)
        file.write(bytes(PAGE_BYTES))


@pytest.mark.parametrize("first", [1, 1000])
@pytest.mark.parametrize(
    "lose",
    [no_folder, no_blocks, no_index, empty_index, names_alone, no_first_page, no_page_inside],
)
def test_a_folder_that_did_not_reach_the_disk(
    tmp_path: Path, lose: Callable[[Path], None], first: int
) -> None:
    expected = {first + number: payload(number) for number in range(MESSAGES)}
    with Node(tmp_path) as node:
        with contextlib.closing(Wire(node.port)) as wire:
            create(wire, "NEW", subjects=["new"], first_seq=first, max_msgs=1_000_000)
            create(wire, "IDLE", subjects=["idle"])
            for number in range(MESSAGES):
                assert wire.request("new", payload(number))["seq"] == first + number
        node.kill()
        node.wait_exit()
    new, idle = (tmp_path / "jetstream" / "streams" / name for name in ("NEW.1", "IDLE.2"))
    assert (new / BLOCK).stat().st_size > 11 * PAGE_BYTES, "nothing was written behind the log"
    shutil.rmtree(idle)
    for step in (lose, no_folder):  # what the first start makes need not be there either
        step(new)
        with Node(tmp_path) as node:
            with contextlib.closing(Wire(node.port)) as wire:
                assert read_all(wire, "NEW") == expected, told(node)
                assert wire.request("$JS.API.STREAM.INFO.IDLE")["state"]["messages"] == 0
                assert not {"[ERR]", "[WRN]"} & {*node.log.split()}, node.log
            node.kill()
            node.wait_exit()
    with Node(tmp_path) as node:
        assert node.stop() == 0
    with Node(tmp_path) as node, contextlib.closing(Wire(node.port)) as wire:
        assert read_all(wire, "NEW") == expected, told(node)
        assert wire.request("$JS.API.STREAM.INFO.IDLE")["state"]["messages"] == 0


def test_a_creation_that_did_not_reach_the_log_leaves_nothing(tmp_path: Path) -> None:
    """Its folder and first index are made before the log has it; a kill may come in between."""
    streams = tmp_path / "jetstream" / "streams"
    with Node(tmp_path) as node:
        with contextlib.closing(Wire(node.port)) as wire:
            create(wire, "NEW", subjects=["new"])
        node.kill()
        node.wait_exit()
    unfinished = streams / "UNFINISHED.7"  # as NEW's was then, and no entry names it
    shutil.copytree(streams / "NEW.1", unfinished)
    assert {path.name for path in unfinished.iterdir()} == {"index", "msgs"}
    inspected = subprocess.run(
        [*DOCTOR, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert inspected.returncode == 0, inspected.stdout
    with Node(tmp_path) as node:
        assert not unfinished.exists()
        assert not {"[ERR]", "[WRN]"} & {*node.log.split()}, node.log
        with contextlib.closing(Wire(node.port)) as wire:
            assert wire.request("$JS.API.STREAM.NAMES")["streams"] == ["NEW"]
