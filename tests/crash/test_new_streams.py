"""Streams made since the last checkpoint: the log has them, whatever of their folders is there."""

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.history import read_all
from tests.crash.load import create
from tests.crash.node import Node, told
from tests.crash.wire import Wire

MESSAGES = 40
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
