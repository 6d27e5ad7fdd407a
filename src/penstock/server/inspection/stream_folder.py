"""One stream while it is inspected: its blocks, its consumers, and the small files beside them."""

from collections.abc import Iterator
from pathlib import Path

from penstock.kernel.storage import Overlay, RecentIds
from penstock.server.inspection.block_files import BlockFindings, Progress, open_blocks
from penstock.server.inspection.consumer_files import ConsumerFiles
from penstock.server.inspection.findings import Finding, Places, StreamReport, Weight, told
from penstock.server.jetstream.batch_note import NAME as BATCH
from penstock.server.jetstream.batch_note import BatchNote
from penstock.server.jetstream.consumers.change_file import PREFIX
from penstock.server.jetstream.consumers.state_file import FILES, RECENT_FILES
from penstock.server.jetstream.description import Description
from penstock.server.jetstream.folders import TWINS
from penstock.server.jetstream.losses import joined
from penstock.server.jetstream.recovery import redo
from penstock.storage.block_store import BlockStore
from penstock.storage.journal import CONSUMER_KINDS, Kind, split

_KNOWN = {*TWINS, *FILES, *RECENT_FILES, BATCH, "msgs", "index", "ids"}


class InspectedStream:
    """Opened on an overlay, so whatever is done to it stays here."""

    def __init__(
        self,
        root: Path,
        folder: Path,
        description: Description,
        replayable_from: int | None,
        overlay: Overlay,
        places: Places,
        progress: Progress,
    ) -> None:
        """Raises OSError."""
        self.name = description.config.name
        self.number = description.number
        self.folder = folder
        self._places = places
        opened = open_blocks(root, folder, description, replayable_from, overlay, progress)
        self.mark = opened.mark or 0
        self.store = BlockStore(opened.blocks, None)
        self.lost: list[tuple[int, int]] = []  # what was missing in the log
        logged = replayable_from is not None
        found = BlockFindings(opened, folder, places, logged=logged)
        self.findings = [*found.all()]
        self.consumers = ConsumerFiles(folder, places)
        self.findings += self._beside()
        self.has_records = found.has_records

    def replay(self, position: int, kind: Kind, payload: bytes) -> None:
        """As a start does. Raises OSError."""
        if kind is Kind.JOINED:
            for part, part_payload in split(payload):
                self.replay(position, part, part_payload)
        elif kind in CONSUMER_KINDS:
            self.consumers.replay(position, kind, payload)
        elif position > self.mark:
            redo(self, kind, payload)

    def _beside(self) -> Iterator[Finding]:
        has_ids = (self.folder / "ids").exists() and not self.findings
        if has_ids and not self.store.blocks.take_ids(RecentIds()):
            consequence = "none: a start finds the ids in the blocks, which takes longer"
            problem = "is damaged, or older than the blocks"
            yield self._finding("ids", problem, consequence, Weight.MENDABLE, 0)
        batch = BatchNote(self.folder).read()
        if batch is not None:
            problem = "has a batch that was on its way"
            consequence = "none: it gets into the stream with the next start"
            if not batch:
                problem = "has a batch that is not whole"
                consequence = "none: a batch that was cut off was never begun"
            yield self._finding(BATCH, problem, consequence, Weight.NOTE, 0)
        for path in sorted(self.folder.glob("*")):
            if path.name not in _KNOWN and not path.name.startswith(PREFIX):
                consequence = "none: it is left alone"
                yield self._finding(path.name, "is no part of a stream", consequence, Weight.NOTE)

    def _finding(
        self, name: str, problem: str, consequence: str, weight: Weight, offset: int | None = None
    ) -> Finding:
        return Finding(
            weight=weight,
            file=self._places.name(self.folder / name),
            offset=offset,
            problem=problem,
            consequence=consequence,
        )

    def report(self) -> StreamReport:
        state = self.store.state()
        findings = [*self.findings, *self.consumers.findings]
        for gap in joined(self.lost):
            log = self._places.name(self.folder.parent.parent / "log")
            consequence = f"{told([gap])} {'is' if gap[0] == gap[1] else 'are'} lost"
            problem = f"entries of stream {self.name} are missing in it"
            findings.append(
                Finding(
                    weight=Weight.LOST,
                    file=log,
                    problem=problem,
                    consequence=consequence,
                    lost=(gap,),
                )
            )
        ranges, _ = self.store.blocks.lost()
        return StreamReport(
            name=self.name,
            folder=self._places.name(self.folder),
            messages=state.messages,
            first=state.sequence_first,
            last=state.sequence_last,
            stored=state.bytes,
            blocks=len([*(self.folder / "msgs").glob("*.blk")]),
            consumers=tuple(sorted(self.consumers.names.values())),
            lost=tuple(joined([*ranges, *self.lost])),
            findings=tuple(findings),
        )
