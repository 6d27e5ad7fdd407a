"""Small files that must survive: written aside, synced, and renamed into their place."""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path


def sync(path: Path) -> None:
    """Makes a file, or the names in a directory, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace(path: Path, data: bytes) -> None:
    """The file has either its old content or the new one, whatever happens."""
    _write_aside(path, data)
    _aside(path).replace(path)
    sync(path.parent)


def replace_all(paths: Sequence[Path], data: bytes) -> None:
    """The same content for files of one folder; all are as they were if it fails."""
    before = [path.read_bytes() if path.exists() else None for path in paths]
    try:
        for path in paths:
            _write_aside(path, data)
        for path in paths:
            _aside(path).replace(path)
        sync(paths[0].parent)
    except OSError:
        with contextlib.suppress(OSError):  # of the same disk: what can be done is done
            for path, content in zip(paths, before, strict=True):
                _put_back(path, content)
        raise


def _put_back(path: Path, content: bytes | None) -> None:
    _aside(path).unlink(missing_ok=True)
    if content is None:
        path.unlink(missing_ok=True)
    elif path.read_bytes() != content:
        replace(path, content)


def _write_aside(path: Path, data: bytes) -> None:
    with _aside(path).open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _aside(path: Path) -> Path:
    return path.with_name(path.name + ".unfinished")
