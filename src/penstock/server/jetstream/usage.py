"""How much streams hold, against what the server may hold.

Publishes add up as they come. What a purge or a limit frees is found out by counting again when
there seems to be too much; so the sum is never too small, and exact before anybody is refused.
Streams in files have the disk's end before them as well.
"""

from typing import Protocol

from penstock.model.stream_config import Storage
from penstock.streams.registry import Registry
from penstock.streams.resources import ServerResources


class Disk(Protocol):
    """Where streams in files are."""

    def left(self) -> int: ...
    def add(self, size: int) -> None: ...


class Usage:
    """The bytes of all streams, by storage."""

    def __init__(self, registry: Registry, resources: ServerResources, disk: Disk) -> None:
        self._registry = registry
        self._disk = disk
        self._held = dict.fromkeys(Storage, 0)
        self.allow(resources)

    def allow(self, resources: ServerResources) -> None:
        """So much there may be from now on."""
        self._max = {
            Storage.MEMORY: resources.memory_bytes_max,
            Storage.FILE: resources.storage_bytes_max,
        }

    def add(self, storage: Storage, size: int) -> None:
        self._held[storage] += max(0, size)

    def held(self, storage: Storage) -> int:
        self._recount()
        return self._held[storage]

    def left(self, storage: Storage) -> int:
        """What may still be stored at least; exact if it is nothing."""
        if self._held[storage] >= self._max[storage]:
            self._recount()
        left = self._max[storage] - self._held[storage]
        return left if storage is Storage.MEMORY else min(left, self._disk.left())

    def appended(self, size: int) -> None:
        """So much goes to the disk, whether it stays in its stream or not."""
        self._disk.add(size)

    def disk_left(self) -> int:
        return self._disk.left()

    def _recount(self) -> None:
        self._held = dict.fromkeys(Storage, 0)
        for stream in self._registry:
            self._held[stream.config.storage] += stream.store.state().bytes
