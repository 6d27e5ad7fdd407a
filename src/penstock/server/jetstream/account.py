"""`$JS.API.INFO`: what the account uses and may use."""

from typing import Any

from penstock.model.stream_config import Storage
from penstock.model.version import API_LEVEL
from penstock.streams.registry import Registry

UNLIMITED = {
    "max_memory": -1,
    "max_storage": -1,
    "max_streams": -1,
    "max_consumers": -1,
    "max_ack_pending": -1,
    "memory_max_stream_bytes": -1,
    "storage_max_stream_bytes": -1,
    "max_bytes_required": False,
}


def account_info(registry: Registry, total: int, errors: int) -> dict[str, Any]:
    used = dict.fromkeys(Storage, 0)
    for stream in registry:
        used[stream.config.storage] += stream.store.state().bytes
    reserved = registry.reserved_bytes()
    return {
        "memory": used[Storage.MEMORY],
        "storage": used[Storage.FILE],
        "reserved_memory": reserved[Storage.MEMORY],
        "reserved_storage": reserved[Storage.FILE],
        "streams": len(registry),
        "consumers": sum(stream.audience.count for stream in registry),
        "limits": UNLIMITED,
        "api": {"level": API_LEVEL, "total": total, "errors": errors},
    }
