"""From options to ranges of sequences: where each stream's part begins and ends.

Everything is asked of the servers once, here, on the driver; partitions carry it. What is told of a
stream is of one moment, so all partitions of a read agree about it.
"""

import logging
from dataclasses import dataclass, field, replace

from pyspark_jetstream.block_files import facts_of_files
from pyspark_jetstream.connection import Connection
from pyspark_jetstream.data_loss import check_start
from pyspark_jetstream.option_values import EARLIEST, LATEST, OptionError, Place
from pyspark_jetstream.options import ReadOptions
from pyspark_jetstream.ranges import Range
from pyspark_jetstream.stream_facts import (
    Ranges,
    StreamFacts,
    check_direct,
    leader_last,
    look,
    removed_sequences,
    sequence_at,
)

_LOG = logging.getLogger(__name__)


@dataclass
class Bounds:
    """What filters have left of a read; times in nanoseconds, ends exclusive."""

    start: int = 1
    end: int = 1 << 62
    start_ns: int | None = None
    end_ns: int | None = None
    subjects: tuple[str, ...] = ()  # none: all that the options have
    streams: frozenset[str] | None = None
    is_empty: bool = False
    pushed: list[str] = field(default_factory=list)


class Planner:
    """Asks one server about the streams of one read."""

    def __init__(self, options: ReadOptions, connection: Connection) -> None:
        self._options = options
        self._connection = connection

    def facts(self, stream: str) -> StreamFacts:
        """As of now; the end is the leader's, if that is asked for."""
        facts = look(self._connection, stream)
        check_direct(facts)  # of blocks too: what a server has in its log alone is asked for
        if not self._options.is_strong:
            return facts
        # The last message may have been removed since, which does not take its sequence back.
        last = max(facts.last, leader_last(self._connection, stream))
        return replace(facts, last=last)

    def sequence(self, place: Place, facts: StreamFacts) -> int:
        """Where a place is in a stream."""
        if place.kind == "time":
            return sequence_at(self._connection, facts, place.time_ns)
        return known_sequence(place, facts)

    def ranges(self, bounds: Bounds) -> list[Range]:
        """Of a batch."""
        wanted = [
            name
            for name in self._options.streams
            if bounds.streams is None or name in bounds.streams
        ]
        return [] if bounds.is_empty else [self._range(name, bounds) for name in wanted]

    def range(self, facts: StreamFacts, start: int, end: int, subjects: tuple[str, ...]) -> Range:
        return Range(
            stream=facts.name,
            start=start,
            end=end,
            created=facts.created,
            is_counter=facts.is_counter,
            message_bytes=facts.message_bytes,
            subjects=subjects,
            removed=self._removed(facts) if end > start else None,
        )

    def _range(self, name: str, bounds: Bounds) -> Range:
        facts = self.facts(name)
        start, end = self._edges(facts)
        if bounds.start_ns is not None:
            start = max(start, sequence_at(self._connection, facts, bounds.start_ns))
        if bounds.end_ns is not None:
            end = min(end, sequence_at(self._connection, facts, bounds.end_ns))
        start, end = max(start, bounds.start), min(end, bounds.end)
        return self.range(facts, start, end, bounds.subjects or self._options.subjects)

    def _edges(self, facts: StreamFacts) -> tuple[int, int]:
        options = self._options
        start = self.sequence(options.start, facts)
        end = min(self.sequence(options.end, facts), facts.end)
        if options.as_of is not None:
            end = self._as_of(options.as_of, facts)
        return check_start(options, facts, start, ""), end

    def _as_of(self, place: Place, facts: StreamFacts) -> int:
        if place.kind == "time":
            return sequence_at(self._connection, facts, place.time_ns + 1)
        return as_of_end(place, facts)

    def _removed(self, facts: StreamFacts) -> Ranges | None:
        """Only who reads files needs it."""
        options = self._options
        if options.mode == "protocol" or not options.store_dir or not facts.is_file:
            return None
        removed = removed_sequences(self._connection, facts)
        if removed is None:
            _LOG.info("stream %s has too many removed messages to read its files", facts.name)
        return removed


def file_ranges(options: ReadOptions, bounds: Bounds) -> list[Range]:
    """Of a store that no server uses."""
    ranges = []
    for name in options.streams:
        if bounds.is_empty or (bounds.streams is not None and name not in bounds.streams):
            continue
        facts, removed = facts_of_files(options.store_dir, name)
        for place in (options.start, options.end, options.as_of):
            if place is not None and place.kind == "time":
                allowed = "with servers; files alone are read by sequences"
                raise OptionError("servers", None, f"times are looked up {allowed}")
        start = check_start(options, facts, known_sequence(options.start, facts), "")
        end = min(known_sequence(options.end, facts), facts.end)
        if options.as_of is not None:
            end = as_of_end(options.as_of, facts)
        ranges.append(
            Range(
                stream=name,
                start=max(start, bounds.start),
                end=min(end, bounds.end),
                is_counter=facts.is_counter,
                message_bytes=facts.message_bytes,
                subjects=bounds.subjects or options.subjects,
                removed=tuple(removed),
                is_offline=True,
            )
        )
    return ranges


def known_sequence(place: Place, facts: StreamFacts) -> int:
    """Where a place is that needs no looking up."""
    edges = {"earliest": facts.first, "latest": facts.end}
    if place.kind in edges:
        return edges[place.kind]
    sequence = dict(place.sequences)[facts.name]
    return {EARLIEST: facts.first, LATEST: facts.end}.get(sequence, sequence)


def as_of_end(place: Place, facts: StreamFacts) -> int:
    if place.sequence > facts.last:
        allowed = f"a sequence that stream {facts.name} has come to; it is at {facts.last}"
        raise OptionError("asOfSequence", str(place.sequence), allowed)
    return place.sequence + 1
