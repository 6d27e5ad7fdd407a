"""The commit log: every entry in order, what cannot be read, and what lies behind its end."""

from collections.abc import Iterator
from pathlib import Path

from penstock.kernel.storage import Log, Overlay
from penstock.server.inspection.findings import Finding, Places, Weight, first_difference
from penstock.server.jetstream.log_format import GROUP_MAGICS, SECTOR_BYTES

_HEADER_BYTES = 40
_HEADER_COPY_AT = 256
_GROUP_MAGIC_AT = slice(8, 12)
_OWN_NAMES = ("spare", "unfinished")
_OWN_SUFFIXES = (".log", ".aside")
_CHUNK_BYTES = 1 << 20


def open_log(root: Path, overlay: Overlay) -> Log:
    """The salt is only for entries that nobody will write."""
    return Log(str(root), "log", 0, overlay=overlay)


def check_log_files(root: Path, log: Log, places: Places) -> Iterator[Finding]:
    """What can be told before its entries are read."""
    folder = root / "log"
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.suffix == ".log":
            yield from _check_header(path, places)
        elif path.name not in _OWN_NAMES and path.suffix not in _OWN_SUFFIXES:
            yield Finding(
                weight=Weight.NOTE,
                file=places.name(path),
                problem="is no file of the log",
                consequence="none: it is left alone",
            )
    if (torn := log.torn()) is not None:
        yield _unfinished(root / torn[0], torn[1], places)
    elif (end := log.end()) is not None and _has_remains(root / end[0], end[1]):
        yield _unfinished(root / end[0], end[1], places)


def _unfinished(path: Path, offset: int, places: Places) -> Finding:
    return Finding(
        weight=Weight.MENDABLE,
        file=places.name(path),
        offset=offset,
        problem="ends with entries that are not whole: cut off, or damaged since",
        consequence="none if the power failed just then, for nothing in them was acknowledged;"
        " else what they say is lost",
    )


def _check_header(path: Path, places: Places) -> Iterator[Finding]:
    if (offset := _head_difference(path)) is not None:
        yield Finding(
            weight=Weight.MENDABLE,
            file=places.name(path),
            offset=offset,
            problem="the two copies of its head differ",
            consequence="none as long as one of them can be read",
        )


def _head_difference(path: Path) -> int | None:
    """Where the two copies of a segment's head differ."""
    with path.open("rb") as file:
        sector = file.read(SECTOR_BYTES)
    head, copy = sector[:_HEADER_BYTES], sector[_HEADER_COPY_AT : _HEADER_COPY_AT + _HEADER_BYTES]
    return None if head == copy else first_difference(head, copy)


def _has_remains(path: Path, end: int) -> bool:
    """Whether something lies behind the end that is no content of an earlier use of the file: there
    is something at once, no older group anywhere behind it, and then nothing."""
    with path.open("rb") as file:
        file.seek(end)
        if not file.read(SECTOR_BYTES).strip(b"\0"):
            return False
        file.seek(end)
        last = b""
        while chunk := file.read(_CHUNK_BYTES):
            heads = range(0, len(chunk), SECTOR_BYTES)
            if any(chunk[at:][_GROUP_MAGIC_AT] in GROUP_MAGICS for at in heads):
                return False
            last = chunk
    return not last[-SECTOR_BYTES:].strip(b"\0") or len(last) < _CHUNK_BYTES


def check_losses(log: Log, root: Path, places: Places) -> Iterator[Finding]:
    """What replay had to mend or to leave out."""
    for name, offset in log.mended():
        yield Finding(
            weight=Weight.MENDABLE,
            file=places.name(root / name),
            offset=offset,
            problem="single bits of these entries are not what was written",
            consequence="none: which ones is known from their checks",
        )
    for name, offset, first, last in log.lost():
        path = root / name
        is_header = offset == SECTOR_BYTES and _head_difference(path) is not None
        yield Finding(
            weight=Weight.LOST,
            file=places.name(path),
            offset=0 if is_header else offset,
            problem="its head is damaged, and its copy: nothing in it can be verified"
            if is_header
            else "these entries are not what was written",
            consequence=f"entries {first} to {last} are lost: what they did since the last"
            " checkpoints is not done",
        )


def check_end(log: Log, mark: int, places: Places, root: Path) -> Iterator[Finding]:
    """What a missing part had nobody knows; but a checkpoint may have gone further."""
    if mark > log.last():
        yield Finding(
            weight=Weight.MENDABLE,
            file=places.name(root / "log"),
            problem=f"ends with entry {log.last()}, and a checkpoint has entry {mark}: its last"
            " file is missing or was cut short, unless the power failed just then",
            consequence="everything up to the checkpoint is there; what came after it is not",
        )
