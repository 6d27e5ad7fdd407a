"""The kernel's columns: stored messages as the buffers of Arrow arrays.

Everything here mirrors crates/penstock-columns.
"""

import enum
from typing import NamedTuple

from penstock.kernel import _native

Answers = _native.Answers
BlockRows = _native.BlockRows
Memory = _native.Memory


class Outcome(NamedTuple):
    """What `Answers.outcome` answers."""

    code: int  # the status that ended the request; 0 while it goes on
    words: bytes
    pending: int
    first: int  # sequences of what came, wanted or not
    last: int


class Taken(enum.IntEnum):
    """What `BlockRows.fill` answers (block_rows.rs)."""

    FULL = 0  # there may be more of this block
    MORE = 1  # the next block goes on
    COMPLETE = 2  # the range is complete
    MISSING = 3  # the next message is not there


class Buffers(NamedTuple):
    """One column of what `take` answers."""

    nulls: int
    validity: Memory  # empty: all values are there
    parts: list[Memory]
