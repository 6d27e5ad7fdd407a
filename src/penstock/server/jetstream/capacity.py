"""How much memory and disk streams may reserve: what the configuration says, or three quarters of
what the machine has when the server starts, as the reference; of the disk, what is free and what
streams hold already, or a server that starts on a disk with little space could not use what a purge
frees."""

import os
from pathlib import Path

from penstock.config.options import JetStreamSettings
from penstock.streams.resources import ServerResources

_BYTES_IF_UNKNOWN = 1 << 40


def capacity(settings: JetStreamSettings, store_dir: Path, held_bytes: int) -> ServerResources:
    """Without what streams have reserved."""
    return ServerResources(
        memory_bytes_max=_limit(settings.max_memory, _memory_bytes()),
        storage_bytes_max=_limit(settings.max_file, _disk_bytes(store_dir) + held_bytes),
        duplicate_window_max_ns=settings.limits.duplicate_window_ns or 0,
    )


def _limit(configured: int | None, available: int) -> int:
    return available // 4 * 3 if configured is None or configured < 0 else configured


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return _BYTES_IF_UNKNOWN


def _disk_bytes(store_dir: Path) -> int:
    try:
        figures = os.statvfs(store_dir)
    except OSError:
        return _BYTES_IF_UNKNOWN
    return figures.f_bavail * figures.f_frsize
