"""The files of the directory itself: the format and its copy, the salt, what else lies there."""

import re
from collections.abc import Iterator
from pathlib import Path

from penstock.model.errors import StorageError
from penstock.server.inspection.findings import Finding, Places, Weight
from penstock.server.inspection.twins import read_twins
from penstock.server.jetstream.directory import FORMAT
from penstock.server.jetstream.foreign import HINT, foreign_accounts
from penstock.server.jetstream.special_files import FORMAT_FILES, KNOWN

_ANY_FORMAT = re.compile(rb"penstock store \d+\n")
_SALT_BYTES = 8


def check_directory(root: Path, places: Places) -> Iterator[Finding]:
    """Raises StorageError if another version wrote it."""
    yield from _check_format(root, places)
    salt = root / "salt"
    if not salt.exists() or len(salt.read_bytes()) != _SALT_BYTES:
        yield Finding(
            weight=Weight.MENDABLE,
            file=places.name(salt),
            offset=0 if salt.exists() else None,
            problem=f"does not have its {_SALT_BYTES} bytes" if salt.exists() else "is missing",
            consequence="none: it is only for new files of the log, and is made anew",
        )
    foreign = foreign_accounts(root)
    for path in sorted(root.iterdir()):
        if path.name not in KNOWN:
            yield Finding(
                weight=Weight.NOTE,
                file=places.name(path),
                problem=f"has {HINT}" if path in foreign else "is no part of a store",
                consequence="none: it is left alone",
            )
    restores = root / "restores"
    if restores.is_dir() and any(restores.iterdir()):
        yield Finding(
            weight=Weight.NOTE,
            file=places.name(restores),
            problem="has a restore that did not come to its end",
            consequence="none: the next start clears it",
        )


def _check_format(root: Path, places: Places) -> list[Finding]:
    return read_twins(root, FORMAT_FILES, _decoded, places, _hopeless)[1]


def other_format(root: Path) -> str:
    """The format of another version, if that is what both files or the only one have."""
    contents = [(root / name).read_bytes() for name in FORMAT_FILES if (root / name).exists()]
    is_other = bool(contents) and all(
        _ANY_FORMAT.fullmatch(content) and content != FORMAT.encode() for content in contents
    )
    return contents[0].decode().strip() if is_other else ""


def refuse_other_format(root: Path) -> None:
    if other := other_format(root):
        known = FORMAT.strip()
        hint = f"the store's format is {other!r}, this version knows {known!r}"
        raise StorageError("read", str(root / FORMAT_FILES[0]), hint)


def _decoded(content: bytes) -> str:
    if content != FORMAT.encode():
        raise ValueError(f"it is not {FORMAT.strip()!r}")
    return FORMAT


def _hopeless(_problem: str) -> tuple[Weight, str]:
    return Weight.MENDABLE, "no server starts here; both are written anew, for the rest is known"
