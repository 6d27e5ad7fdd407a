"""How long the disk takes to keep a promise: it differs by a factor of a hundred between disks, and
nothing on a file system in memory, so it stands beside every figure of a file stream."""

import os
import tempfile
import time
from pathlib import Path
from statistics import median

SYNCS = 200
SYNC_BYTES = 4096

_sync = getattr(os, "fdatasync", os.fsync)  # not on every system


def sync_us(directory: Path) -> float:
    """Median time of an append of 4 kB that is made durable, as a commit log does it."""
    times = []
    with tempfile.NamedTemporaryFile(dir=directory, prefix="penstock-sync-") as file:
        for _ in range(SYNCS):
            begin = time.perf_counter()
            os.write(file.fileno(), bytes(SYNC_BYTES))
            _sync(file.fileno())
            times.append(time.perf_counter() - begin)
    return median(times) * 1e6
