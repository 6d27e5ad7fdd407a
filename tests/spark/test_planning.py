"""Ranges, admission and filters: arithmetic, without a server."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest

pytest.importorskip("pyspark")

from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    CaseInsensitiveDict,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
    StringContains,
    StringStartsWith,
)
from pyspark.sql.pandas.types import to_arrow_schema

from pyspark_jetstream.admission import Available, admitted, is_enough
from pyspark_jetstream.filters import push
from pyspark_jetstream.options import stream_read_options
from pyspark_jetstream.planning import Bounds
from pyspark_jetstream.ranges import PARTITION_BYTES, Range, split
from pyspark_jetstream.rows import arrow_schema, row_type
from pyspark_jetstream.stream_facts import ranges_of


@pytest.mark.parametrize("with_headers", [True, False])
def test_the_schemas_of_arrow_and_of_spark_are_the_same(with_headers: bool) -> None:
    rows = row_type(with_headers)
    assert arrow_schema(tuple(rows.names)) == to_arrow_schema(rows, timezone="UTC")


@given(st.integers(1, 1000), st.integers(0, 500), st.integers(0, 20), st.floats(0, 1e6))
def test_a_range_is_cut_without_gaps(start: int, length: int, least: int, size: float) -> None:
    parts = split([Range("A", start, start + length, message_bytes=size)], least)
    covered = [sequence for part in parts for sequence in range(part.start, part.end)]
    assert covered == list(range(start, start + length))
    assert len(parts) >= min(least, length)
    assert all((part.sequences - 1) * size <= PARTITION_BYTES for part in parts)


def test_what_is_removed_goes_with_its_part() -> None:
    removed = ((2, 3), (5, 8), (10, 10))
    parts = split([Range("A", 1, 11, removed=removed)], 2)
    assert [(part.start, part.end, part.removed) for part in parts] == [
        (1, 6, ((2, 3), (5, 5))),
        (6, 11, ((6, 8), (10, 10))),
    ]


@given(st.sets(st.integers(1, 60)))
def test_runs_of_sequences(sequences: set[int]) -> None:
    runs = ranges_of(sorted(sequences))
    assert {one for first, last in runs for one in range(first, last + 1)} == sequences
    assert all(before[1] + 1 < after[0] for before, after in pairwise(runs))


def limits(**given: str):  # type: ignore[no-untyped-def]
    return stream_read_options(CaseInsensitiveDict({"stream": "A"} | given))


def test_admission_is_shared_in_proportion() -> None:
    available = {"A": Available(1, 301, 10.0), "B": Available(50, 150, 10.0)}
    assert admitted(available, limits()) == {"A": 301, "B": 150}
    assert admitted(available, limits(maxOffsetsPerTrigger="40")) == {"A": 31, "B": 60}
    assert admitted(available, limits(maxBytesPerTrigger="400")) == {"A": 31, "B": 60}
    both = limits(maxOffsetsPerTrigger="40", maxBytesPerTrigger="40")
    assert admitted(available, both) == {"A": 4, "B": 51}


def test_every_stream_comes_on() -> None:
    available = {"A": Available(1, 1_000_001, 1.0), "B": Available(5, 6, 1.0)}
    ends = admitted(available, limits(maxOffsetsPerTrigger="10"))
    assert (ends["A"], ends["B"]) == (10, 6)


def test_a_batch_waits_for_enough_or_long_enough() -> None:
    available = {"A": Available(1, 11, 1.0)}
    waiting = limits(minOffsetsPerTrigger="100", maxTriggerDelay="2s")
    assert not is_enough(available, waiting, 1999)
    assert is_enough(available, waiting, 2000)
    assert is_enough(available, limits(minOffsetsPerTrigger="10"), 0)


def pushed(*filters, subjects=()):  # type: ignore[no-untyped-def]
    bounds = Bounds()
    return bounds, list(push(filters, bounds, subjects))


def test_sequences_are_exact() -> None:
    bounds, left = pushed(GreaterThan(("seq",), 5), LessThanOrEqual(("seq",), 9))
    assert (bounds.start, bounds.end, left) == (6, 10, [])
    bounds, left = pushed(GreaterThanOrEqual(("seq",), 5), LessThan(("seq",), 9))
    assert (bounds.start, bounds.end, left) == (5, 9, [])
    bounds, left = pushed(EqualTo(("seq",), 7))
    assert (bounds.start, bounds.end, left) == (7, 8, [])
    bounds, left = pushed(In(("seq",), (9, 4)))
    assert (bounds.start, bounds.end, len(left)) == (4, 10, 1)


def test_times_narrow_and_are_looked_at_again() -> None:
    moment = datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC)
    bounds, left = pushed(GreaterThan(("timestamp",), moment), LessThan(("timestamp",), moment))
    assert (bounds.start_ns, bounds.end_ns, len(left)) == (1_000_006_000, 1_000_005_000, 2)


def test_subjects_within_what_the_options_have() -> None:
    bounds, left = pushed(EqualTo(("subject",), "a.b"), subjects=("a.*",))
    assert (bounds.subjects, bounds.is_empty, left) == (("a.b",), False, [])
    bounds, left = pushed(EqualTo(("subject",), "b.b"), subjects=("a.*",))
    assert (bounds.is_empty, left) == (True, [])
    bounds, left = pushed(In(("subject",), ("a", "b.*", "c")))
    assert (bounds.subjects, left) == (("a", "c"), [])
    bounds, left = pushed(StringStartsWith(("subject",), "a.b.c"))
    assert (bounds.subjects, len(left)) == (("a.b.>",), 1)


def test_what_cannot_be_pushed_is_sparks() -> None:
    bounds, left = pushed(StringContains(("subject",), "a"), EqualTo(("data",), b"x"))
    assert (bounds, len(left)) == (Bounds(), 2)
    bounds, left = pushed(EqualTo(("stream",), "A"), In(("stream",), ("A", "B")))
    assert (bounds.streams, left) == (frozenset({"A"}), [])
