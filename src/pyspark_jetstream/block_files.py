"""The block files of a stream, where a process can see them: `storeDir` of a penstock server.

    <storeDir>/jetstream/streams/NAME.N/description.json, msgs/<number>.blk, index

A live server writes while these are read, so nothing in them is taken for granted: the server says
which sequences have messages, the kernel verifies every record, and where a message is not found
the server is asked for it and for all behind it. A block that is replaced meanwhile is at worst
such a place.
"""

import json
import re
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.kernel.columns import BlockRows, Taken
from penstock.kernel.storage import Overlay, open_examined
from pyspark_jetstream.arrow_batches import Columns
from pyspark_jetstream.ranges import Range
from pyspark_jetstream.stream_facts import StreamFacts, nanoseconds

# Of one batch: it stays in a core's cache until Spark has it.
BATCH_ROWS = 8192
BATCH_BYTES = 1 << 20

_STREAMS = Path("jetstream") / "streams"
_NAME_CHARACTERS_MAX = 200  # folders are cut there
_SAFE = "$+,=@-_ "
_BLOCKS = "msgs"
_BLOCK = re.compile(r"([1-9]\d*|0)\.blk")
_SEQUENCE_BITS = (1 << 62) - 1
_HEAD_BYTES = 12  # a length of 4 bytes, then the sequence


class NoFilesError(Exception):
    """The files of a stream cannot be read from here, and why."""


@dataclass(frozen=True)
class StreamFolder:
    """The folder of one stream."""

    path: Path
    created_ns: int
    config: dict[str, object]

    def blocks(self) -> list[tuple[int, Path]]:
        """By number, which is the order of their messages."""
        matches = ((_BLOCK.fullmatch(path.name), path) for path in (self.path / _BLOCKS).iterdir())
        return sorted((int(match[1]), path) for match, path in matches if match)


def find_folder(store_dir: str, stream: str, created: str = "") -> StreamFolder | None:
    """Of a stream that was created then, or of the youngest of its name.

    None if it has none, or none that says so yet: a server describes a young stream in its log
    first. Raises `NoFilesError` if the store cannot be seen from here.
    """
    streams = Path(store_dir) / _STREAMS
    if not streams.is_dir():
        raise NoFilesError(f"option storeDir: there is no {_STREAMS} in {store_dir}")
    beginning = urllib.parse.quote(stream, safe=_SAFE)[:_NAME_CHARACTERS_MAX]
    numbered = re.compile(re.escape(beginning) + r"\.(\d+)")
    matches = [(path, numbered.fullmatch(path.name)) for path in streams.iterdir()]
    youngest_first = sorted(
        ((int(match[1]), path) for path, match in matches if match), reverse=True
    )
    wanted_ns = nanoseconds(created) if created else None
    for _, path in youngest_first:
        folder = _described(path)
        if folder is None or folder.config.get("name") != stream:
            continue
        if wanted_ns is None or folder.created_ns == wanted_ns:
            return folder
    return None


def scan(folder: StreamFolder, part: Range, wanted: int, reached: list[int]) -> Iterator[Columns]:
    """The rows of a range, as far as the files have it; `reached` is told the first that is left.

    Messages that the files do not have end the scan, whoever asks goes on from there.
    """
    assert part.removed is not None, "planned without knowing what is removed"
    rows = BlockRows(
        str(folder.path / _BLOCKS),
        part.stream,
        wanted,
        part.is_counter,
        [subject.encode() for subject in part.subjects],
        (part.start, part.end - 1),
        list(part.removed),
    )
    reached[:] = [rows.next_sequence()]
    for number, _ in _from(folder.blocks(), part.start):
        if rows.next_sequence() >= part.end:
            break
        try:
            rows.begin(number)
        except FileNotFoundError:
            continue  # removed meanwhile, with all its messages
        taken = Taken.FULL
        while taken == Taken.FULL:
            taken = Taken(rows.fill(BATCH_ROWS, BATCH_BYTES))
            if count := len(rows):
                yield rows.take(), count
            reached[:] = [rows.next_sequence()]
        if taken != Taken.MORE:
            break


def facts_of_files(store_dir: str, stream: str) -> tuple[StreamFacts, list[tuple[int, int]]]:
    """Of a store that no server uses: what a server would say, and what is removed."""
    folder = find_folder(store_dir, stream)
    if folder is None:
        raise NoFilesError(f"option storeDir: there are no files of stream {stream} in {store_dir}")
    overlay = Overlay(str(folder.path.parent))
    blocks, _, _ = open_examined(str(folder.path.parent), folder.path.name, stream, None, overlay)
    messages, size, first, _, last, *_ = blocks.state()
    facts = StreamFacts(
        name=stream,
        created="",
        first=first if messages else last + 1,
        last=last,
        messages=messages,
        bytes=size,
        is_direct=True,
        is_counter=bool(folder.config.get("allow_msg_counter")),
        is_file=True,
        removed_count=0,
    )
    return facts, blocks.deleted()


def _from(blocks: list[tuple[int, Path]], sequence: int) -> list[tuple[int, Path]]:
    """The blocks that may have a sequence or later ones."""
    begin = 0
    for place, (_, path) in enumerate(blocks):
        first = _first_sequence(path)
        if first > sequence:
            break
        if first:
            begin = place
    return blocks[begin:]


def _first_sequence(path: Path) -> int:
    """Of the first record, whatever it is; 0 if there is none, or it is a note."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except FileNotFoundError:
        return 0
    return int.from_bytes(head[4:], "little") & _SEQUENCE_BITS if len(head) == _HEAD_BYTES else 0


def _described(path: Path) -> StreamFolder | None:
    for name in ("description.json", "description.copy"):
        try:
            told = json.loads((path / name).read_text().partition("\n")[0])
            return StreamFolder(path, int(told["created_ns"]), told["config"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None
