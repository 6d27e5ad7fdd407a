"""Purging: everything, or what matches a pattern, below a sequence, or all but the last few."""

from penstock.storage.store import Record, Store

EVERYTHING = (b"", b">")
ROLLUP_SUBJECT, ROLLUP_ALL = b"sub", b"all"  # the values of Nats-Rollup


def purge(store: Store, *, pattern: bytes, sequence: int, keep: int) -> int:
    """Removes messages and returns how many; 0 for `sequence` and `keep` means no such bound."""
    state = store.state()
    end = sequence or state.sequence_last + 1
    if pattern in EVERYTHING:
        return store.remove_below(_keep_from(store, keep) if keep else end)
    found = matching(store, pattern, state.sequence_first, end)
    if keep:
        found = found[: max(0, len(found) - keep)]
    return store.replace(found) if found else 0


def roll_up(store: Store, record: Record, scope: bytes) -> str:
    """A message that stands for all before it, of its subject or of the stream; which subjects
    those are."""
    pattern = record.subject if scope == ROLLUP_SUBJECT else b""
    purge(store, pattern=pattern, sequence=record.sequence, keep=0)
    return pattern.decode(errors="replace")


def _keep_from(store: Store, keep: int) -> int:
    """The sequence from which on the last `keep` messages are."""
    state = store.state()
    if keep >= state.messages:
        return 0
    start = state.sequence_last - keep + 1
    for first, last in reversed(store.deleted()):
        if last < start:
            break
        start -= last - first + 1  # as many before as are missing here
    return start


def matching(store: Store, pattern: bytes, start: int, end: int) -> list[int]:
    """The messages from one sequence up to another whose subjects match."""
    found = []
    sequence = store.next_matching(pattern, start)
    while sequence is not None and sequence < end:
        found.append(sequence)
        sequence = store.next_matching(pattern, sequence + 1)
    return found
