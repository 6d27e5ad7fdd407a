"""The kernel's storage: blocks, recent ids, lifetimes, the commit log, the lock of a directory,
archives."""

import enum
from typing import NamedTuple

from penstock.kernel import _native

Blocks = _native.Store
Checkpoint = _native.Checkpoint
Copies = _native.Copies
RecentIds = _native.RecentIds
Log = _native.Log
StoreLock = _native.StoreLock
Overlay = _native.Overlay
open_examined = _native.open_examined
examine = _native.examine
block_summaries = _native.block_summaries
S2Reader = _native.S2Reader
ForeignBlocks = _native.ForeignBlocks
s2_start = _native.s2_start
s2_chunk = _native.s2_chunk
EntryDecoder = _native.EntryDecoder
encode_entry = _native.encode_entry
encode_message = _native.encode_message
parse_lifetime = _native.parse_lifetime


class CopyStop(enum.IntEnum):
    """Why `Copies.take` ended (penstock-blocks, copies.rs)."""

    OVER = 1  # there is nothing more
    FULL = 2  # there is as much as was asked for
    SPECIAL = 3  # the next message is to be looked at
    BUSY = 4  # much was looked at; there may be more


class IndexCondition(enum.IntEnum):
    """What an opening made of the index of a store (penstock-blocks, recovery.rs)."""

    NEW = 0  # there was nothing at all
    USED = 1
    PARTIAL = 2  # made without the table of subjects, which takes a scan
    MISSING = 3
    DAMAGED = 4
    FOREIGN = 5  # of another stream
    STALE = 6  # it does not fit the blocks


class Opening(NamedTuple):
    """What `open_examined` has found."""

    condition: int  # an IndexCondition
    index_flaws: list[int]  # offsets of its parts that do not verify
    lost: list[tuple[int, int]]  # sequences
    lost_before: list[tuple[int, int]]  # of them, what an earlier opening knew of
    tail: tuple[int, int, int]  # the block that ended in something else, its length, and of that
    moved: list[tuple[int, int]]  # the numbers of blocks, and what they had to be
    unreadable: list[str]


class FlawKind(enum.IntEnum):
    """What is wrong in a block (penstock-blocks, examination.rs)."""

    RECORD = 1  # bytes that are no record
    LENGTH = 2  # a length in a record is not what it was
    LENGTHS = 3  # the same, and nobody knows whose
    NOTE = 4  # a note or an erased record with a flaw that can be read all the same
    COUNT = 5  # the index counts other messages than there are


class Flaw(NamedTuple):
    """One of what `examine` answers."""

    kind: int
    block: int
    offset: int
    bytes: int
    lost: list[tuple[int, int]]


class BlockSummary(NamedTuple):
    """One of what `block_summaries` answers."""

    number: int
    first: int
    last: int
    records: int
    bytes: int
