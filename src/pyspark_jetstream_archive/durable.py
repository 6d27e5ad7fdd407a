"""Files that are there whole or not at all, also after a loss of power."""

import os
import uuid
from pathlib import Path


def write_new(path: Path, content: bytes) -> None:
    """All of it at once. Raises FileExistsError: whoever is first has written it."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)  # unlike a rename it replaces nothing
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_file(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """What was created, renamed or removed in it stays so."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
