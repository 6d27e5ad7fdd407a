"""What an inspection finds, as data: each finding names a file, a place, and what follows."""

import enum
from pathlib import Path

import msgspec

Range = tuple[int, int]  # first and last of a run of sequences


class Weight(enum.IntEnum):
    """What a finding means for whoever needs the store."""

    NOTE = 0  # no damage
    MENDABLE = 1  # damage that costs nothing once it is mended
    LOST = 2  # something is gone; the rest is served
    STUCK = 3  # something may be there that no server can use, and it cannot be mended here


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as it was written."""

    weight: Weight
    file: str  # relative to the store directory
    problem: str
    consequence: str
    offset: int | None = None
    size: int | None = None  # in bytes
    lost: tuple[Range, ...] = ()  # sequences


class StreamReport(msgspec.Struct, frozen=True, kw_only=True):
    """A stream as the next start would find it."""

    name: str
    folder: str
    messages: int
    first: int
    last: int
    stored: int  # bytes
    blocks: int
    consumers: tuple[str, ...]
    lost: tuple[Range, ...]  # all that are known now
    findings: tuple[Finding, ...]


class LogReport(msgspec.Struct, frozen=True, kw_only=True):
    """The commit log."""

    files: int
    first: int  # the entries it has
    last: int


class StoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """Everything."""

    directory: str
    synced: str  # how the last server did it: always or interval
    log: LogReport
    streams: tuple[StreamReport, ...]
    findings: tuple[Finding, ...]  # that concern no single stream

    def all_findings(self) -> list[Finding]:
        return [*self.findings, *(found for stream in self.streams for found in stream.findings)]

    @property
    def weight(self) -> Weight:
        return max((found.weight for found in self.all_findings()), default=Weight.NOTE)


class Places:
    """Names files as a report does."""

    def __init__(self, store_dir: Path) -> None:
        self._store_dir = store_dir

    def name(self, path: Path | str) -> str:
        path = Path(path)
        return str(path.relative_to(self._store_dir) if path.is_absolute() else path)


def counted(ranges: tuple[Range, ...] | list[Range]) -> int:
    return sum(last - first + 1 for first, last in ranges)


def told(ranges: tuple[Range, ...] | list[Range], most: int = 5) -> str:
    """In words: `message 7`, `messages 7 to 9 and 12`."""
    parts = [str(first) if first == last else f"{first} to {last}" for first, last in ranges]
    more = len(parts) - most
    if more > 0:
        parts = [*parts[:most], f"{more} more ranges"]
    listed = parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
    return f"message{'' if counted(ranges) == 1 else 's'} {listed}"


def first_difference(one: bytes, other: bytes) -> int:
    """Where two contents differ; the end of the shorter one if it is the beginning of the other."""
    pairs = enumerate(zip(one, other, strict=False))
    shorter = min(len(one), len(other))
    return next((offset for offset, (left, right) in pairs if left != right), shorter)


def without(ranges: list[Range], known: list[Range]) -> list[Range]:
    """What of some ranges is in none of the others, which are in order and apart."""
    left: list[Range] = []
    for start, end in ranges:
        first = start
        for low, high in known:
            if high < first or low > end:
                continue
            if low > first:
                left.append((first, low - 1))
            first = high + 1
        if first <= end:
            left.append((first, end))
    return left
