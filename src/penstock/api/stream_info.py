"""How a stream is shown: configuration, state, and on request subjects and what was deleted."""

import itertools
from typing import Any

from penstock.model.stream_config import shown
from penstock.model.timestamps import rfc3339
from penstock.streams.stream import Stream
from penstock.streams.versioning import shown_metadata

SUBJECTS_SHOWN_MAX = 100_000  # of one STREAM.INFO, as the reference
LOST_SHOWN_MAX = 100_000  # nobody asked for them, and a reply has to stay a message
DELETED_SHOWN_MAX = 10_000_000  # a reply that large is of no use to anybody
NEVER = "0001-01-01T00:00:00Z"


def show_config(stream: Stream, *, with_versions: bool) -> dict[str, Any]:
    fields = shown(stream.config)
    if with_versions:
        fields["metadata"] = shown_metadata(stream.config.metadata)
    return fields


def show_state(stream: Stream) -> dict[str, Any]:
    state = stream.store.state()
    fields: dict[str, Any] = {
        "messages": state.messages,
        "bytes": state.bytes,
        # 0 where there never was a message, the next sequence where they are all gone.
        "first_seq": state.sequence_first if stream.has_begun or state.sequence_last else 0,
        "first_ts": rfc3339(state.time_first_ns) if state.messages else NEVER,
        "last_seq": state.sequence_last,
        "last_ts": rfc3339(state.time_last_ns) if state.time_last_ns else NEVER,
        "consumer_count": stream.audience.count,
    }
    if state.subjects:
        fields["num_subjects"] = state.subjects
    if state.deleted:
        fields["num_deleted"] = state.deleted
    if stream.lost:
        fields["lost"] = {"msgs": _listed(stream.lost, LOST_SHOWN_MAX), "bytes": stream.lost_bytes}
    return fields


def show_deleted(stream: Stream) -> list[int]:
    """Every removed sequence between the first and the last message."""
    return _listed(stream.store.deleted(), DELETED_SHOWN_MAX)


def _listed(ranges: list[tuple[int, int]], count_max: int) -> list[int]:
    every = (sequence for first, last in ranges for sequence in range(first, last + 1))
    return [*itertools.islice(every, count_max)]


def show_stream(stream: Stream, now_ns: int, *, with_versions: bool = True) -> dict[str, Any]:
    """A stream as CREATE, UPDATE, INFO and LIST show it."""
    return {
        "config": show_config(stream, with_versions=with_versions),
        "created": rfc3339(stream.created_ns),
        "state": show_state(stream),
        **stream.show_origins(),
        "ts": rfc3339(now_ns),
    }
