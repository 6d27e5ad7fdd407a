"""Reading messages: by sequence, the last or the next of a subject, from a time on.

Pure lookups on a store; which message is meant is one `Wanted`. A pattern that is no proper
pattern matches nothing, so no store ever sees one. The requests and the answers on the wire are
made elsewhere.
"""

from collections.abc import Iterator
from typing import NamedTuple

from penstock.kernel.hub import is_valid_pattern
from penstock.storage.store import Lookup, Record

EVERYTHING = b">"
_SEQUENCE_MAX = 2**63 - 1  # no message has it


class Wanted(NamedTuple):
    """Which message: exactly one of the ways is set, save that `next_of` goes with the others."""

    sequence: int = 0
    last_of: bytes = b""
    next_of: bytes = b""
    time_ns: int | None = None


def find(store: Lookup, wanted: Wanted) -> Record | None:
    """The message asked for, if there is one."""
    sequence = _find_sequence(store, wanted)
    return None if sequence is None else store.load(sequence)


def start_of(store: Lookup, wanted: Wanted) -> int:
    """The sequence from which on to read."""
    if wanted.time_ns is not None:
        return store.sequence_at(wanted.time_ns)
    return max(wanted.sequence, 1)


def walk(store: Lookup, pattern: bytes, sequence: int, up_to: int) -> Iterator[Record]:
    """Messages that match, from a sequence on, in order."""
    if not is_valid_pattern(pattern):
        return
    found = store.next_matching(pattern, sequence)
    while found is not None and found <= up_to:
        record = store.load(found)
        if record is not None:
            yield record
        found = store.next_matching(pattern, found + 1)


def _find_sequence(store: Lookup, wanted: Wanted) -> int | None:
    if wanted.last_of:
        return _find_last(store, wanted.last_of)
    start = start_of(store, wanted)
    if not wanted.next_of:
        return start
    if not is_valid_pattern(wanted.next_of):
        return None
    return store.next_matching(wanted.next_of, start)


def _find_last(store: Lookup, pattern: bytes) -> int | None:
    """As the reference, the last of everything is the last sequence, even if it was removed."""
    if pattern == EVERYTHING:
        return store.state().sequence_last
    return store.last_matching(pattern, _SEQUENCE_MAX) if is_valid_pattern(pattern) else None
