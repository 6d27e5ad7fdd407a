"""How far streams went in entries of the commit log that do not verify.

Such entries are left out. A stream that has later ones shows by them what is missing. One whose
last entries were among them does not: it would seem to end before, nothing of it would be told as
lost, and the next message would get a number that an acknowledged one had. So their group is
walked as if it were whole, for numbers only: messages that would follow exactly on what the stream
has are taken to have been there, and are lost. If it is a number that is damaged, none fits, or
the walk ends early, and less is told.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from penstock.kernel.storage import Log
from penstock.server.jetstream.keeper import Kept
from penstock.server.jetstream.log_format import (
    CHECK_BYTES,
    CHUNK_BYTES,
    GROUP_MAGICS,
    SECTOR_BYTES,
)
from penstock.storage.journal import Kind, split

_GROUP = struct.Struct("<8x4sIQQ")  # magic, entries, first entry, length
_ENTRY = struct.Struct("<QQ")  # length and kind, stream
_RUN = struct.Struct("<Qq")  # first sequence, time (penstock-turn, run_bytes.rs)
_RUN_MESSAGE = struct.Struct("<HII")  # lengths of subject, headers, payload
_COPIES = struct.Struct("<Q")  # the sequence before (penstock-blocks, copies.rs)
_COPY = struct.Struct("<QqHII")  # sequence, time, and the lengths


class Reach(NamedTuple):
    """What an entry says of one stream's numbers."""

    stream: int
    first: int
    last: int


def note_lost_ends(log: Log, root: Path, by_number: dict[int, Kept]) -> None:
    """After a replay: streams go on behind what was lost at their ends."""
    for path, offset, first, last in log.lost():
        for reach in _reaches(root / path, offset, first, last):
            kept = by_number.get(reach.stream)
            if kept is not None and _follows(reach, kept):
                kept.lost.append((reach.first, reach.last))
                # Numbers are taken by messages alone: one that comes and goes takes them all.
                kept.store.blocks.append(reach.last, 0, b"lost", b"", b"")
                kept.store.blocks.remove(reach.last, False)


def _follows(reach: Reach, kept: Kept) -> bool:
    """A mirror gets from its origin what it does not have."""
    is_next = kept.store.state().sequence_last + 1 == reach.first <= reach.last
    return is_next and kept.stream.config.mirror is None


def _reaches(path: Path, offset: int, first: int, last: int) -> Iterator[Reach]:
    """Of the entries from `first` to `last`; the first of them is in the group at the offset."""
    size = path.stat().st_size
    with path.open("rb") as file:
        while True:
            file.seek(offset)
            head = file.read(_GROUP.size)
            if len(head) < _GROUP.size:
                return
            magic, count, number, length = _GROUP.unpack(head)
            is_here = number <= last and first < number + count
            if magic not in GROUP_MAGICS or not is_here or length > size - offset - _GROUP.size:
                return
            for entry, (stream, kind, payload) in enumerate(_entries(file.read(length)), number):
                if first <= entry <= last:
                    yield from _of_entry(stream, kind, payload)
            first = number + count
            offset += _sectors_bytes(length, has_checks=magic == GROUP_MAGICS[0])


def _sectors_bytes(length: int, *, has_checks: bool) -> int:
    checks = -(-length // CHUNK_BYTES) * CHECK_BYTES if has_checks else 0
    return -(-(_GROUP.size + length + checks) // SECTOR_BYTES) * SECTOR_BYTES


def _entries(group: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = 0
    while at + _ENTRY.size <= len(group):
        length_and_kind, stream = _ENTRY.unpack_from(group, at)
        at += _ENTRY.size
        end = at + (length_and_kind >> 8)
        if end > len(group):
            return
        yield stream, length_and_kind & 0xFF, group[at:end]
        at = end


def _of_entry(stream: int, kind: int, payload: bytes) -> Iterator[Reach]:
    try:
        parts = [*split(payload)] if kind == Kind.JOINED else [(kind, payload)]
        for part_kind, part in parts:
            if part_kind == Kind.RUN:
                first = _RUN.unpack_from(part)[0]
                yield Reach(stream, first, first + _messages(part) - 1)
            elif part_kind == Kind.COPIED:
                before = _COPIES.unpack_from(part)[0]
                yield Reach(stream, before + 1, _last_copied(part, before))
    except (struct.error, ValueError):
        return


def _messages(run: bytes) -> int:
    at, count = _RUN.size, 0
    while at + _RUN_MESSAGE.size <= len(run):
        at += _RUN_MESSAGE.size + sum(_RUN_MESSAGE.unpack_from(run, at))
        count += 1
    return count


def _last_copied(copies: bytes, before: int) -> int:
    """As far as each follows on the one before it."""
    at, last = _COPIES.size, before
    while at + _COPY.size <= len(copies):
        sequence, _time_ns, *lengths = _COPY.unpack_from(copies, at)
        if sequence != last + 1:
            break
        last = sequence
        at += _COPY.size + sum(lengths)
    return last
