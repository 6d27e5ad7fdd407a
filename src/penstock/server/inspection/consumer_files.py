"""The files of one stream's consumers: the state and its twin, recent states, changes since."""

from pathlib import Path

import msgspec

from penstock.server.inspection.findings import Finding, Places, Weight, first_difference
from penstock.server.jetstream.consumers.change_file import (
    PREFIX,
    editions,
    read_changes,
    whole_changes,
)
from penstock.server.jetstream.consumers.record import ConsumerRecord
from penstock.server.jetstream.consumers.state_file import (
    FILES,
    RECENT_FILES,
    SavedConsumers,
    read_consumers,
)
from penstock.storage.journal import Kind

_LOST = (
    "the stream's consumers are lost, but for what the log has of them: they must be made again,"
    " and begin where they are told to; the file is replaced then"
)
_OLDER = "the newest state that is whole counts: messages acknowledged since may come again"


class ConsumerFiles:
    """Read once; then told what the log has."""

    def __init__(self, folder: Path, places: Places) -> None:
        self._folder = folder
        self._places = places
        self.names: dict[int, str] = {}
        self.findings: list[Finding] = []
        self.mark = 0
        saved, _ = read_consumers(folder)
        if saved is not None:
            self.mark = saved.mark
            for consumer in saved.consumers:
                self._take(consumer.record)
        self._follow_changes(0 if saved is None else saved.numbers_used)
        self._check_states(saved is not None)
        self._check_changes()

    @property
    def is_damaged(self) -> bool:
        """Something is to be written anew, from what could be read."""
        return any(found.weight is Weight.MENDABLE for found in self.findings)

    def remove_outdated(self) -> None:
        """A newer state is durable: recent ones and changes that could not be read go."""
        for found in self.findings:
            name = Path(found.file).name
            if name in RECENT_FILES or name.startswith(PREFIX):
                (self._folder / name).unlink(missing_ok=True)

    def replay(self, position: int, kind: Kind, payload: bytes) -> None:
        if position <= self.mark:
            return
        if kind is Kind.CONSUMER:
            self._take(payload)
        elif kind is Kind.CONSUMER_DELETED:
            self.names.pop(msgspec.json.decode(payload, type=int), None)

    def _follow_changes(self, numbers_used: int) -> None:
        """Who was made and deleted since the state, where there is no log."""
        for change in read_changes(self._folder):
            if change.record and change.consumer > numbers_used:
                self._take(change.record)
            elif not change.number and not change.record:
                self.names.pop(change.consumer, None)

    def _take(self, encoded: bytes) -> None:
        try:
            record = ConsumerRecord.decode(encoded)
        except (ValueError, msgspec.MsgspecError) as error:
            self._find(FILES[0], f"has a consumer that cannot be read: {error}", _LOST, Weight.LOST)
            return
        self.names[record.number] = record.name

    def _check_states(self, is_known: bool) -> None:
        contents = {
            name: (self._folder / name).read_bytes()
            for name in (*FILES, *RECENT_FILES)
            if (self._folder / name).exists()
        }
        whole = {name: content for name, content in contents.items() if _is_whole(content)}
        twin = next((whole[name] for name in FILES if name in whole), None)
        for name in contents.keys() - whole.keys():
            if not is_known:
                self._find(name, "the checksum does not match", _LOST, Weight.LOST, 0)
            elif name in FILES and twin is not None:
                offset = first_difference(contents[name], twin)
                end = "none: its twin is whole, and it is written anew from that"
                self._find(name, "the checksum does not match", end, Weight.MENDABLE, offset)
            else:
                self._find(name, "the checksum does not match", _OLDER, Weight.MENDABLE, 0)
        missing = [name for name in FILES if name not in contents]
        if twin is not None and missing:
            end = "none: its twin is whole, and it is written anew from that"
            self._find(missing[0], "is missing", end, Weight.MENDABLE)

    def _check_changes(self) -> None:
        for edition in editions(self._folder):
            name = f"{PREFIX}{edition}"
            data = (self._folder / name).read_bytes()
            end = max((end for _, end in whole_changes(data)), default=0)
            if end < len(data):
                problem = "ends with a change that is not whole: cut off, or damaged since"
                consequence = "it is not made: messages acknowledged since may come again"
                self._find(name, problem, consequence, Weight.MENDABLE, end)

    def _find(
        self, name: str, problem: str, consequence: str, weight: Weight, offset: int | None = None
    ) -> None:
        path = self._folder / name
        finding = Finding(
            weight=weight,
            file=self._places.name(path),
            offset=offset,
            size=path.stat().st_size - (offset or 0) if path.exists() else None,
            problem=problem,
            consequence=consequence,
        )
        self.findings.append(finding)


def _is_whole(content: bytes) -> bool:
    try:
        SavedConsumers.decode(content)
    except ValueError:
        return False
    return True
