"""Filters that Spark pushes down, as bounds of what is read: seq, timestamp, subject and stream.

Sequences and whole subjects are exact, so Spark need not look again. A time is exact in what is
kept of it, microseconds, while streams have nanoseconds; the beginning of a subject is so only up
to its last dot. Those are used and given back, and Spark looks at what is left.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
)

from penstock.kernel.hub import SubjectIndex, is_valid_literal
from pyspark_jetstream.planning import Bounds

_MICROSECOND_NS = 1000
_NEVER_NULL = (("stream",), ("subject",), ("seq",), ("timestamp",), ("data",))


def push(filters: Iterable[Filter], bounds: Bounds, subjects: tuple[str, ...]) -> Iterator[Filter]:
    """Narrows bounds; gives back what Spark still has to look at. `subjects` are the options'."""
    for one in filters:
        attribute: tuple[str, ...] = getattr(one, "attribute", ())
        if isinstance(one, IsNotNull) and attribute in _NEVER_NULL:
            continue
        narrow = _COLUMNS.get(attribute[0]) if len(attribute) == 1 else None
        is_exact = narrow is not None and narrow(_without_nulls(one), bounds, subjects)
        if not is_exact:
            yield one


def _without_nulls(one: Filter) -> Filter:
    """Nothing is equal to a null, so a list is the same without."""
    if isinstance(one, In):
        return In(one.attribute, tuple(value for value in one.value if value is not None))
    return one


def _seq(one: Filter, bounds: Bounds, _subjects: tuple[str, ...]) -> bool:
    value: Any = getattr(one, "value", None)
    if isinstance(one, In):
        bounds.start = max(bounds.start, min(value, default=1))
        bounds.end = min(bounds.end, max(value, default=0) + 1)
        return False
    edges = _edges(one, value, 1) if isinstance(value, int) else None
    if edges is None:
        return False
    start, end = edges
    if start is not None:
        bounds.start = max(bounds.start, start)
    if end is not None:
        bounds.end = min(bounds.end, end)
    return True


def _timestamp(one: Filter, bounds: Bounds, _subjects: tuple[str, ...]) -> bool:
    value: Any = getattr(one, "value", None)
    if not isinstance(value, datetime):
        return False
    edges = _edges(one, _nanoseconds(value), _MICROSECOND_NS)
    if edges is None:
        return False
    start, end = edges
    if start is not None:
        bounds.start_ns = max(bounds.start_ns or start, start)
    if end is not None:
        bounds.end_ns = end if bounds.end_ns is None else min(bounds.end_ns, end)
    return False


def _edges(one: Filter, value: int, unit: int) -> tuple[int | None, int | None] | None:
    """First, and one behind the last, of what a comparison lets through."""
    if isinstance(one, EqualTo):
        return value, value + unit
    if isinstance(one, GreaterThan):
        return value + unit, None
    if isinstance(one, GreaterThanOrEqual):
        return value, None
    if isinstance(one, LessThan):
        return None, value
    if isinstance(one, LessThanOrEqual):
        return None, value + unit
    return None


def _subject(one: Filter, bounds: Bounds, subjects: tuple[str, ...]) -> bool:
    if bounds.subjects:
        return False  # one filter is pushed, the others are Spark's
    value: Any = getattr(one, "value", None)
    if value is None:
        return False
    if isinstance(one, StringStartsWith):
        beginning, dot, _ = value.rpartition(".")
        if dot and not subjects and is_valid_literal(beginning.encode()):
            bounds.subjects = (f"{beginning}.>",)
        return False
    if isinstance(one, EqualTo):
        wanted = [value]
    elif isinstance(one, In):
        wanted = list(dict.fromkeys(value))
    else:
        return False
    bounds.subjects = tuple(name for name in wanted if _is_read(name, subjects))
    bounds.is_empty = bounds.is_empty or not bounds.subjects
    return True


def _is_read(name: str, subjects: tuple[str, ...]) -> bool:
    """Whether the options let a subject in, if it is one at all."""
    if not is_valid_literal(name.encode()):
        return False
    index = SubjectIndex()
    for number, pattern in enumerate(subjects or (">",)):
        index.insert(pattern.encode(), number)
    return bool(index.find(name.encode()))


def _stream(one: Filter, bounds: Bounds, _subjects: tuple[str, ...]) -> bool:
    value: Any = getattr(one, "value", None)
    if not isinstance(one, EqualTo | In):
        return False
    names = frozenset([value] if isinstance(one, EqualTo) else value)
    bounds.streams = names if bounds.streams is None else bounds.streams & names
    return True


def _nanoseconds(moment: datetime) -> int:
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    whole = int(moment.replace(microsecond=0).timestamp())
    return whole * 1_000_000_000 + moment.microsecond * _MICROSECOND_NS


_COLUMNS: dict[str, Callable[[Filter, Bounds, tuple[str, ...]], bool]] = {
    "seq": _seq,
    "timestamp": _timestamp,
    "subject": _subject,
    "stream": _stream,
}
