"""How much streams hold, against what the server may hold.

Publishes add up as they come. What a purge or a limit frees is found out by counting again when
there seems to be too much; so the sum is never too small, and exact before anybody is refused.
"""

from penstock.model.stream_config import Storage
from penstock.streams.registry import Registry
from penstock.streams.resources import ServerResources


class Usage:
    """The bytes of all streams, by storage."""

    def __init__(self, registry: Registry, resources: ServerResources) -> None:
        self._registry = registry
        self._max = {
            Storage.MEMORY: resources.memory_bytes_max,
            Storage.FILE: resources.storage_bytes_max,
        }
        self._held = dict.fromkeys(Storage, 0)

    def add(self, storage: Storage, size: int) -> None:
        self._held[storage] += max(0, size)

    def left(self, storage: Storage) -> int:
        """What may still be stored at least; exact if it is nothing."""
        if self._held[storage] >= self._max[storage]:
            self._recount()
        return self._max[storage] - self._held[storage]

    def _recount(self) -> None:
        self._held = dict.fromkeys(Storage, 0)
        for stream in self._registry:
            self._held[stream.config.storage] += stream.state().bytes
