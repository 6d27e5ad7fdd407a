"""Messages that leave a stream: because their time is over, or because somebody asked for it.

If a stream wants delete markers, one takes the place of a subject's last message, in the same
change as the removal, so that nobody sees one without the other. Limits, rollups and purges of
everything leave no markers.
"""

from collections.abc import Sequence
from typing import NamedTuple

from penstock.streams import delete_markers, purging
from penstock.streams.republish import Republished
from penstock.streams.stream import Stream

EXPIRED_AT_ONCE_MAX = 1_000  # about a millisecond; then others have their turn
_MARKED_COST = 4  # times as much, where markers may take the place


class Departure(NamedTuple):
    """How many left, and what others are told of the markers."""

    messages: int
    copies: list[Republished]
    is_cut: bool = False  # more are to go
    cost: int = 0  # as many messages could have been removed where there are no markers


def is_due(stream: Stream, now_ns: int) -> bool:
    """Whether something may be over."""
    if not stream.is_expiring:
        return False
    age_max_ns = stream.config.max_age or None
    next_ns = stream.store.lifetimes.next_over_ns(age_max_ns)
    return next_ns is not None and next_ns <= now_ns


def expire(stream: Stream, now_ns: int, count_max: int) -> Departure:
    """Removes what is older than max_age and what has lived as long as it was to, about so many
    messages at the most."""
    config, store = stream.config, stream.store
    older_than_ns = now_ns - config.max_age if config.max_age > 0 else None
    is_marked = config.subject_delete_marker_ttl > 0
    aged = 0
    if is_marked:
        count_max = max(1, count_max // _MARKED_COST)
    if older_than_ns is not None and not is_marked and not store.lifetimes.figures().endless:
        aged = store.expire(older_than_ns, count_max)
        if aged and _has_older(stream, older_than_ns):
            return Departure(aged, [], is_cut=True, cost=aged)
        older_than_ns = None
    over = store.lifetimes.over(now_ns, older_than_ns, count_max)
    if not over.sequences:
        return Departure(aged, [], cost=aged)
    gone = _take_out(stream, over.sequences, delete_markers.MAX_AGE, now_ns)
    cost = len(over.sequences) * (_MARKED_COST if is_marked else 1)
    return Departure(aged + gone.messages, gone.copies, over.is_cut, aged + cost)


def remove(stream: Stream, sequence: int, now_ns: int, *, erase: bool) -> Departure:
    """Removes one message, if it is there."""
    return _take_out(stream, [sequence], delete_markers.REMOVE, now_ns, erase=erase)


def purge(stream: Stream, pattern: bytes, sequence: int, keep: int, now_ns: int) -> Departure:
    """Removes messages; 0 for `sequence` and `keep` means no such bound."""
    if pattern in purging.EVERYTHING or keep:
        count = purging.purge(stream.store, pattern=pattern, sequence=sequence, keep=keep)
        return Departure(count, [])
    state = stream.store.state()
    end = sequence or state.sequence_last + 1
    found = purging.matching(stream.store, pattern, state.sequence_first, end)
    return _take_out(stream, found, delete_markers.PURGE, now_ns)


def _take_out(
    stream: Stream, sequences: Sequence[int], reason: bytes, now_ns: int, *, erase: bool = False
) -> Departure:
    config, lasts = stream.config, []
    if config.subject_delete_marker_ttl > 0 and not config.sealed:
        found = stream.store.lifetimes.lasts(sequences)
        lasts = [last for last in found if not delete_markers.is_marker(last.headers)]
    headers = delete_markers.marker_headers(config, reason) if lasts else b""
    count, copies = stream.replace(sequences, lasts, headers, now_ns, erase=erase)
    return Departure(count, copies)


def _has_older(stream: Stream, than_ns: int) -> bool:
    state = stream.store.state()
    return state.messages > 0 and state.time_first_ns < than_ns
