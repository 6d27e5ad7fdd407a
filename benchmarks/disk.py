"""The disk that streams are stored on: a real one, and how long it takes to keep a promise.

On tmpfs a sync costs nothing, so durable figures would mean nothing: such a directory is refused.
What fdatasync takes differs by a factor of a hundred between disks, so it stands beside the
figures: the median for 4 kB appended to a file, which is what a commit log does.
"""

import os
import tempfile
import time
from pathlib import Path
from statistics import median

MEMORY_FILE_SYSTEMS = {"tmpfs", "ramfs", "devtmpfs"}
SYNCS = 200
SYNC_BYTES = 4096


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


def fdatasync_us(directory: Path) -> float:
    """Median time of an append of 4 kB with fdatasync."""
    times = []
    with tempfile.NamedTemporaryFile(dir=directory, prefix="penstock-sync-") as file:
        for _ in range(SYNCS):
            begin = time.perf_counter()
            os.write(file.fileno(), bytes(SYNC_BYTES))
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - begin)
    return median(times) * 1e6


def checked(directory: Path) -> str:
    """What the directory is on, for the head of the output; an error if it is in memory."""
    directory.mkdir(parents=True, exist_ok=True)
    kind = file_system(directory)
    if kind in MEMORY_FILE_SYSTEMS:
        raise DiskError(f"{directory} is on {kind}: streams need a real disk, see --store")
    return f"{directory} on {kind}, fdatasync p50 {fdatasync_us(directory):.0f} us"
