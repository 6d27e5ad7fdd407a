"""The `jetstream` key: a boolean, the word enabled, or a block.

The server does not serve streams yet, but a configuration written for nats-server is checked in
full and kept in `JetStreamSettings`, so that the next release finds nothing it has to reject.
"""

import msgspec

from penstock.config.bounds import INTEGER_MAX
from penstock.config.options import JetStreamLimits, JetStreamSettings
from penstock.config.readers import (
    between,
    boolean,
    duration_text,
    integer,
    path,
    seconds_or_duration_of,
    storage_size,
    string,
    string_of,
)
from penstock.config.report import (
    Changes,
    Reader,
    Report,
    block_of,
    read_block,
    wrong_type,
    wrong_value,
)
from penstock.config.tree import Block, Entry
from penstock.config.unsupported import JETSTREAM_KEYS

SWITCH_WORDS = {"enabled": True, "enable": True, "disabled": False, "disable": False}


def jetstream(entry: Entry, report: Report) -> Changes:
    """The reader of the key at the top level; `block_store_dir` is settled with `store_dir`."""
    value = entry.node.value
    if isinstance(value, bool):
        return {"jetstream": value}
    if isinstance(value, str):
        if value.lower() not in SWITCH_WORDS:
            raise wrong_value(entry, "must be true, false, enabled, disabled or a block")
        return {"jetstream": SWITCH_WORDS[value.lower()]}
    if not isinstance(value, Block):
        raise wrong_type(entry, "true, false, enabled, disabled or a block")
    changes = read_block(value, READERS, JETSTREAM_KEYS, report)
    top = {"jetstream": changes.pop("enabled", True)}
    if "block_store_dir" in changes:
        top["block_store_dir"] = changes.pop("block_store_dir")
    settings = msgspec.structs.replace(JetStreamSettings(), **changes)
    return top | {"jetstream_settings": settings}


def sync_interval(entry: Entry, report: Report) -> Changes:
    value = entry.node.value
    if isinstance(value, str) and value.lower() == "always":
        return {"sync_interval_ns": None}
    value_ns = seconds_or_duration_of(entry, report)
    if value_ns == 0:  # two minutes to the reference, and nobody means that
        raise wrong_value(entry, 'must be more than 0; "always" syncs before every acknowledgement')
    return {"sync_interval_ns": value_ns}


def unique_tag(entry: Entry, _report: Report) -> Changes:
    return {"unique_tag": string_of(entry).strip().lower() or None}


def limits(entry: Entry, report: Report) -> Changes:
    changes = read_block(block_of(entry), LIMIT_READERS, {}, report)
    return {"limits": msgspec.structs.replace(JetStreamLimits(), **changes)}


def batch(entry: Entry, report: Report) -> Changes:
    return read_block(block_of(entry), BATCH_READERS, {}, report)


BATCH_READERS: dict[str, Reader] = {
    "max_inflight_per_stream": integer("batch_max_inflight_per_stream"),
    "max_inflight_total": integer("batch_max_inflight_total"),
    "max_msgs": integer("batch_max_msgs"),
    "timeout": duration_text("batch_timeout_ns"),
}

LIMIT_READERS: dict[str, Reader] = {
    "max_ack_pending": integer("max_ack_pending"),
    "max_ha_assets": integer("max_ha_assets"),
    "max_request_batch": integer("max_request_batch"),
    "duplicate_window": duration_text("duplicate_window_ns"),
    "batch": batch,
}

READERS: dict[str, Reader] = {
    "enable": boolean("enabled"),
    "enabled": boolean("enabled"),
    "store": path("block_store_dir"),
    "store_dir": path("block_store_dir"),
    "storedir": path("block_store_dir"),
    "domain": string("domain"),
    "strict": boolean("strict"),
    "sync": sync_interval,
    "sync_interval": sync_interval,
    "max_mem": storage_size("max_memory"),
    "max_mem_store": storage_size("max_memory"),
    "max_memory_store": storage_size("max_memory"),
    "max_file": storage_size("max_file"),
    "max_file_store": storage_size("max_file"),
    "unique_tag": unique_tag,
    "extension_hint": string("extension_hint"),
    "max_outstanding_catchup": storage_size("max_outstanding_catchup"),
    "max_buffered_size": storage_size("max_buffered_size"),
    "max_buffered_msgs": integer("max_buffered_msgs"),
    "request_queue_limit": integer("request_queue_limit"),
    "info_queue_limit": integer("info_queue_limit"),
    "meta_compact": between("meta_compact", 0, INTEGER_MAX),
    "meta_compact_size": storage_size("meta_compact_size"),
    "meta_compact_sync": boolean("meta_compact_sync"),
    "max_concurrent_io": between("max_concurrent_io", 4, 8192),
    "limits": limits,
}
