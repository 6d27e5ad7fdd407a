"""What surrounds a stream: the account's other streams, its limits, and what the server has left.

A stream with `max_bytes` reserves that much. The account's limit holds for the sum of what its
streams reserve, the server's for the sum over all accounts; without `max_bytes` a stream still
has to fit one byte. Nothing here counts messages: that is checked when they are stored.
"""

from collections.abc import Mapping

import msgspec

from penstock.model.api_errors import ApiError, Fault
from penstock.model.stream_config import Storage, StreamConfig


class AccountLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What an account may use; -1 is no limit."""

    memory_bytes_max: int = -1
    storage_bytes_max: int = -1
    streams_max: int = -1
    consumers_max: int = -1
    memory_stream_bytes_max: int = -1
    storage_stream_bytes_max: int = -1
    max_bytes_required: bool = False


class ServerResources(msgspec.Struct, frozen=True, kw_only=True):
    """What the server has to give, and what the streams of all accounts have reserved of it."""

    memory_bytes_max: int
    storage_bytes_max: int
    memory_bytes_reserved: int = 0
    storage_bytes_reserved: int = 0
    duplicate_window_max_ns: int = 0  # 0: no limit


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """All that a configuration is checked against."""

    streams: Mapping[str, StreamConfig]  # of the account, by name; on an update also the old one
    server: ServerResources
    limits: AccountLimits = AccountLimits()

    def others(self, name: str) -> list[StreamConfig]:
        """The streams but the one that is being changed."""
        return [config for other, config in self.streams.items() if other != name]


def too_many_streams(config: StreamConfig, around: Surroundings) -> ApiError | None:
    if 0 < around.limits.streams_max <= len(around.others(config.name)):
        return Fault.STREAMS_EXCEEDED.error()
    return None


def stream_bytes_outside_limits(config: StreamConfig, around: Surroundings) -> ApiError | None:
    """Whether `max_bytes` is what the account wants of each stream."""
    limits = around.limits
    if limits.max_bytes_required and config.max_bytes <= 0:
        return Fault.MAX_BYTES_REQUIRED.error()
    in_memory = config.storage is Storage.MEMORY
    limit = limits.memory_stream_bytes_max if in_memory else limits.storage_stream_bytes_max
    if 0 < limit < config.max_bytes:
        return Fault.MAX_BYTES_EXCEEDED.error()
    return None


def exceeded(
    config: StreamConfig, around: Surroundings, old: StreamConfig | None = None
) -> ApiError | None:
    """Whether the account or the server cannot give what the configuration reserves.

    On an update the server has already given what `old` reserved.
    """
    limits, server = around.limits, around.server
    if 0 < limits.consumers_max < config.max_consumers:
        return Fault.CONSUMERS_EXCEEDED.error()
    in_memory = config.storage is Storage.MEMORY
    wanted = config.max_bytes if config.max_bytes >= 0 else int(old is None)
    added = wanted if old is None else max(0, wanted - max(0, old.max_bytes))
    account_max = limits.memory_bytes_max if in_memory else limits.storage_bytes_max
    reserved = 0
    if account_max >= 0:  # else nobody wants to know
        others = around.others(config.name)
        same = [other for other in others if other.storage is config.storage]
        reserved = sum(max(0, other.max_bytes) for other in same)
    server_left = (
        server.memory_bytes_max - server.memory_bytes_reserved
        if in_memory
        else server.storage_bytes_max - server.storage_bytes_reserved
    )
    if (account_max >= 0 and reserved + wanted > account_max) or added > server_left:
        return Fault.MEMORY_EXCEEDED.error() if in_memory else Fault.STORAGE_EXCEEDED.error()
    return None
