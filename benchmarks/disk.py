"""The disk that streams are stored on: a real one, and how long it takes to keep a promise.

On tmpfs a sync costs nothing, so durable figures would mean nothing: such a directory is refused.
"""

from pathlib import Path

from penstock.bench.disk import sync_us

MEMORY_FILE_SYSTEMS = {"tmpfs", "ramfs", "devtmpfs"}


class DiskError(Exception):
    """The directory is not one to measure on."""


def file_system(directory: Path) -> str:
    """The type of the file system that the directory is on: the longest mount point wins."""
    path, found = directory.resolve(), ("", "unknown")
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, mount, kind = line.split()[:3]
        if path.is_relative_to(mount) and len(mount) >= len(found[0]):
            found = (mount, kind)
    return found[1]


def checked(directory: Path) -> str:
    """What the directory is on, for the head of the output; an error if it is in memory."""
    directory.mkdir(parents=True, exist_ok=True)
    kind = file_system(directory)
    if kind in MEMORY_FILE_SYSTEMS:
        raise DiskError(f"{directory} is on {kind}: streams need a real disk, see --store")
    return f"{directory} on {kind}, fdatasync p50 {sync_us(directory):.0f} us"
