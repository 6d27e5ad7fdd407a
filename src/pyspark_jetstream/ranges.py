"""Ranges of sequences: what a partition reads, and how a range splits into several.

A stream is one log, so its range may be cut anywhere. By default a partition has so many
bytes that the tenth of a second which a task of Python costs Spark by itself hardly counts;
`minPartitions` asks for more of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pyspark.sql.datasource import InputPartition

from pyspark_jetstream.stream_facts import Ranges

PARTITION_BYTES = 256 << 20
PARTITIONS_MAX = 10_000


@dataclass(frozen=True)
class Range(InputPartition):
    """Sequences from `start` up to but without `end`, of one stream."""

    stream: str
    start: int
    end: int
    created: str = ""  # of the stream it was planned for
    is_counter: bool = False
    message_bytes: float = 0.0
    subjects: tuple[str, ...] = ()
    removed: Ranges | None = None  # of these sequences; None: not known, so files are not read
    is_offline: bool = False  # there is no server, only files

    @property
    def sequences(self) -> int:
        return self.end - self.start


def split(ranges: Sequence[Range], partitions_min: int) -> list[Range]:
    """Into parts of about the same bytes."""
    ranges = [one for one in ranges if one.sequences > 0]
    total = sum(one.sequences for one in ranges)
    parts: list[Range] = []
    for one in ranges:
        by_bytes = -int(-one.sequences * one.message_bytes // PARTITION_BYTES)
        by_number = -int(-partitions_min * one.sequences // total)
        count = min(max(by_bytes, by_number, 1), one.sequences, PARTITIONS_MAX)
        cuts = [one.start + one.sequences * place // count for place in range(count + 1)]
        for start, end in pairwise(cuts):
            parts.append(replace(one, start=start, end=end, removed=_within(one, start, end)))
    return parts


def _within(one: Range, start: int, end: int) -> Ranges | None:
    if one.removed is None:
        return None
    touching = (run for run in one.removed if run[1] >= start and run[0] < end)
    return tuple((max(first, start), min(last, end - 1)) for first, last in touching)
