"""The blocks and the index of one stream: opened as a start would, and then read to the last byte.

An opening finds what it needs to find; an examination finds the rest. Both answer in numbers of
blocks and sequences, which become findings here.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from penstock.kernel.storage import (
    Blocks,
    BlockSummary,
    Flaw,
    FlawKind,
    IndexCondition,
    Opening,
    Overlay,
    block_summaries,
    examine,
    open_examined,
)
from penstock.model.stream_config import PersistMode
from penstock.server.inspection.findings import (
    Finding,
    Places,
    Range,
    Weight,
    counted,
    told,
    without,
)
from penstock.server.jetstream.description import Description

Progress = Callable[[int], None]  # so many bytes more were read

_INDEX = {
    IndexCondition.MISSING: "is missing",
    IndexCondition.DAMAGED: "is damaged",
    IndexCondition.FOREIGN: "is another stream's",
    IndexCondition.STALE: "does not fit the blocks",
}
_FLAWS = {
    FlawKind.RECORD: "these bytes are not what was written",
    FlawKind.LENGTH: "a length in this record is not what was written",
    FlawKind.LENGTHS: "a length somewhere in this block is not what was written",
    FlawKind.NOTE: "this note of the store has a flaw, and can be read all the same",
    FlawKind.COUNT: "the index counts other messages in this block than it has",
}


class OpenedBlocks(NamedTuple):
    """The blocks of one stream and what was found on the way."""

    blocks: Blocks
    mark: int | None  # the log entry up to which they are complete
    opening: Opening
    flaws: list[Flaw]


def open_blocks(
    root: Path,
    folder: Path,
    description: Description,
    replayable_from: int | None,
    overlay: Overlay | None,
    progress: Progress,
) -> OpenedBlocks:
    """Opens and examines. Without an overlay it mends what an opening mends. Raises OSError."""
    if description.config.persist_mode is PersistMode.ASYNC:
        replayable_from = None  # the log has nothing of it
    path = folder.relative_to(root).as_posix()
    is_all_logged = description.is_empty and replayable_from is not None
    blocks, mark, found = open_examined(
        str(root), path, description.config.name, replayable_from, overlay, is_all_logged
    )
    sizes = {row.number: row.bytes for row in map(_summary, block_summaries(blocks))}
    flaws: list[Flaw] = []
    number: int | None = 0
    while number is not None:
        rows, number = examine(blocks, number)
        flaws += [Flaw(*row) for row in rows]
        if number is not None:
            progress(sizes.get(number - 1, 0))
    return OpenedBlocks(blocks, mark, Opening(*found), flaws)


class _Gap(NamedTuple):
    """Sequences that are lost together."""

    before: BlockSummary | None  # the block in front of them
    numbers: list[int]  # of the blocks that should be there
    lost: list[Range]


class BlockFindings:
    """What is to be said about them."""

    def __init__(self, opened: OpenedBlocks, folder: Path, places: Places, *, logged: bool) -> None:
        self._opening = opened.opening
        self._flaws = opened.flaws
        self._rows = [_summary(row) for row in block_summaries(opened.blocks)]
        self._folder = folder
        self._places = places
        self._logged = logged
        self._condition = IndexCondition(opened.opening.condition)

    @property
    def has_records(self) -> bool:
        """Whether anything in the blocks could be read."""
        return any(row.records for row in self._rows)

    def all(self) -> Iterator[Finding]:
        yield from self._index()
        yield from self._names()
        for flaw in self._flaws:
            yield self._flaw(flaw)
        yield from self._missing()
        if known := self._opening.lost_before:
            verb = "was" if counted(known) == 1 else "were"
            yield Finding(
                weight=Weight.NOTE,
                file=self._name("index"),
                problem=f"{told(known)} {verb} found lost before",
                consequence="none that is new: stream info tells of it",
            )

    def _index(self) -> Iterator[Finding]:
        flaws, unused = self._opening.index_flaws, self._condition in _INDEX
        if not flaws and not unused:
            return
        # Without a log, a kill may come before the index was ever written, or long after.
        is_normal = not self._logged and not flaws
        unused_end = "none: it is made again from the blocks, which takes a start a little longer"
        yield Finding(
            weight=Weight.NOTE if is_normal else Weight.MENDABLE,
            file=self._name("index"),
            offset=flaws[0] if flaws else None,
            problem=_INDEX.get(self._condition, "one of the two copies of its head is damaged"),
            consequence=unused_end if unused else "none: the other copy is used",
        )

    def _names(self) -> Iterator[Finding]:
        for number, own in self._opening.moved:
            yield Finding(
                weight=Weight.MENDABLE,
                file=self._block(number),
                offset=0,
                problem=f"is block {own} under another name",
                consequence="none: it gets its own name back",
            )
        missing = {number for gap in self._gaps() for number in gap.numbers}
        for path in self._opening.unreadable:
            name = Path(path).name
            if name not in {f"{number}.blk" for number in missing}:
                yield Finding(
                    weight=Weight.NOTE,
                    file=self._name(f"msgs/{name}"),
                    offset=0,
                    problem="nothing in it can be read",
                    consequence="none that is known: no message is missing, and it is left alone",
                )

    def _flaw(self, flaw: Flaw) -> Finding:
        kind = FlawKind(flaw.kind)
        new = without(flaw.lost, self._opening.lost_before)
        if new:
            weight, consequence = Weight.LOST, f"{_lost(new)}, and no other"
        elif flaw.lost:
            weight, consequence = Weight.NOTE, f"{told(flaw.lost)}: a loss that was known before"
        elif kind in (FlawKind.NOTE, FlawKind.COUNT):
            weight, consequence = Weight.MENDABLE, "none: it is written anew"
        elif kind is FlawKind.LENGTHS:
            weight, consequence = Weight.LOST, "a message may have a wrong subject or wrong headers"
        else:
            weight = Weight.NOTE
            consequence = "no living message is concerned"
            if self._condition in _INDEX:
                consequence += "; if it was the note of a removal, what was removed is back"
        return Finding(
            weight=weight,
            file=self._block(flaw.block),
            offset=flaw.offset,
            size=flaw.bytes,
            problem=_FLAWS[kind],
            consequence=consequence,
            lost=tuple(new),
        )

    def _gaps(self) -> list[_Gap]:
        """Sequences that are lost and in no damaged record, by the place where they should be."""
        explained = [lost for flaw in self._flaws for lost in flaw.lost]
        known = sorted([*self._opening.lost_before, *explained])
        gaps: dict[int, _Gap] = {}
        rows = [row for row in self._rows if row.records]
        for first, last in without(self._opening.lost, known):
            before = max((row for row in rows if row.last < first), default=None)
            start = 1 if before is None else before.number + 1
            end = min((row.number for row in rows if row.first > last), default=start)
            gap = gaps.setdefault(start, _Gap(before, [*range(start, end)], []))
            gap.lost.append((first, last))
        return [*gaps.values()]

    def _missing(self) -> Iterator[Finding]:
        tail_block, tail_offset, tail_bytes = self._opening.tail
        has_tail = tail_bytes > 0
        for gap in self._gaps():
            if gap.numbers:
                yield self._absent(gap)
            elif has_tail and gap.before is not None and gap.before.number == tail_block:
                has_tail = False
                yield self._cut(tail_block, tail_offset, tail_bytes, gap.lost)
            else:
                row = gap.before or BlockSummary(1, 0, 0, 0, 0)
                is_there = (self._folder / f"msgs/{row.number}.blk").exists()
                yield Finding(
                    weight=Weight.LOST,
                    file=self._block(row.number),
                    offset=row.bytes if is_there else None,
                    problem="ends too early" if is_there else "is missing",
                    consequence=_lost(gap.lost),
                    lost=tuple(gap.lost),
                )
        if has_tail:
            yield self._cut(tail_block, tail_offset, tail_bytes, [])

    def _absent(self, gap: _Gap) -> Finding:
        path = self._folder / f"msgs/{gap.numbers[0]}.blk"
        others = f" (and {len(gap.numbers) - 1} more behind it)" if len(gap.numbers) > 1 else ""
        is_there = path.exists()
        return Finding(
            weight=Weight.LOST,
            file=self._places.name(path),
            offset=0 if is_there else None,
            size=path.stat().st_size if is_there else None,
            problem=("nothing in it can be read" if is_there else "is missing") + others,
            consequence=_lost(gap.lost) + ("; the file is left alone" if is_there else ""),
            lost=tuple(gap.lost),
        )

    def _cut(self, number: int, offset: int, size: int, lost: list[Range]) -> Finding:
        unacknowledged = "none that is known: nothing behind it was acknowledged, or it was damaged"
        return Finding(
            weight=Weight.LOST if lost else Weight.MENDABLE,
            file=self._block(number),
            offset=offset,
            size=size,
            problem="ends with bytes that are no whole record: cut off, or damaged since",
            consequence=_lost(lost) if lost else unacknowledged,
            lost=tuple(lost),
        )

    def _block(self, number: int) -> str:
        return self._name(f"msgs/{number}.blk")

    def _name(self, name: str) -> str:
        return self._places.name(self._folder / name)


def _lost(ranges: list[Range]) -> str:
    return f"{told(ranges)} {'is' if counted(ranges) == 1 else 'are'} lost"


def _summary(row: tuple[int, int, int, int, int]) -> BlockSummary:
    return BlockSummary(*row)
