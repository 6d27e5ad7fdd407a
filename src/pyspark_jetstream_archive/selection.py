"""Which messages of an archive are meant: by subject, and from one place to another.

A place is a sequence or a date (UTC), both included. The ledger of a Spark sink that wrote to the
stream is never meant: it is about that sink and that stream.
"""

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_jetstream.sink_plan import LEDGER
from pyspark_jetstream_archive.folder import ArchiveError, File

EVERY = ">"
_FIRST, _LAST = 1, (1 << 63) - 1


@dataclass(frozen=True)
class Selection:
    """Part of an archive. Dates are texts, which sort as dates do."""

    subjects: str = EVERY
    without: str = ""  # a pattern
    first: int = _FIRST
    last: int = _LAST
    date_first: str = ""
    date_last: str = "9999-12-31"

    def has(self, file: File) -> bool:
        """Whether some of its messages may be meant."""
        is_of_dates = self.date_first <= file.date <= self.date_last
        return is_of_dates and file.first <= self.last and file.last >= self.first

    def mask(self, rows: pa.Table) -> pa.ChunkedArray:
        sequences = rows["seq"]
        found = pc.and_(
            pc.greater_equal(sequences, self.first), pc.less_equal(sequences, self.last)
        )
        if self.subjects != EVERY:
            found = pc.and_(found, _matches(rows, self.subjects))
        if self.without:
            found = pc.and_not(found, _matches(rows, self.without))
        return found


def selection_of(told: Mapping[str, str], stream: str) -> Selection:
    """Of `subjects`, `from` and `to`; without them, all of the stream. Raises ArchiveError."""
    bounds: dict[str, int | str] = {}
    for name, sequence, date in (("from", "first", "date_first"), ("to", "last", "date_last")):
        text = told.get(name, "")
        if text.isascii() and text.isdigit():
            bounds[sequence] = int(text)
        elif text:
            bounds[date] = _date(name, text)
    subjects = told.get("subjects") or EVERY
    for pattern in subjects.split(","):
        if not re.fullmatch(r"[^\s.]+(\.[^\s.]+)*", pattern):
            raise ArchiveError(f"subjects has {pattern!r}; allowed: such as orders.*.eu, orders.>")
    return Selection(subjects, f"{LEDGER}.{stream}.>", **bounds)  # type: ignore[arg-type]


def _date(name: str, text: str) -> str:
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        allowed = "a sequence such as 17, or a date such as 2026-01-31"
        raise ArchiveError(f"{name} is {text!r}; allowed: {allowed}") from None


def _matches(rows: pa.Table, subjects: str) -> pa.ChunkedArray:
    every = "|".join(_of_pattern(pattern) for pattern in subjects.split(","))
    return pc.match_substring_regex(rows["subject"], f"^({every})$")


def _of_pattern(pattern: str) -> str:
    tokens = {"*": r"[^.]+", EVERY: r".+"}
    return r"\.".join(tokens.get(token) or re.escape(token) for token in pattern.split("."))
