"""Levels that configurations need, and what clients see and cannot set."""

from typing import Any

import pytest

from penstock.model.stream_config import PersistMode, ReadConsistency, StreamConfig
from penstock.streams.versioning import (
    is_level_served,
    required_level,
    shown_metadata,
    stored_metadata,
)


@pytest.mark.parametrize(
    ("fields", "level"),
    [
        ({}, 0),
        ({"allow_msg_ttl": True}, 1),
        ({"subject_delete_marker_ttl": 1}, 1),
        ({"allow_msg_counter": True}, 2),
        ({"allow_atomic": True, "allow_msg_ttl": True}, 2),
        ({"persist_mode": PersistMode.ASYNC}, 2),
        ({"read_consistency": ReadConsistency.WEAK}, 3),
        ({"read_consistency": ReadConsistency.STRONG, "allow_atomic": True}, 3),
        ({"allow_batched": True}, 4),
    ],
)
def test_required_level(fields: dict[str, Any], level: int) -> None:
    assert required_level(StreamConfig(**fields)) == level


def test_clients_cannot_set_our_keys() -> None:
    metadata = {"_nats.req.level": "9", "_nats.ver": "x", "_nats.level": "y", "a": "b"}
    stored = stored_metadata(StreamConfig(metadata=metadata))
    assert stored == {"_nats.req.level": "0", "a": "b"}
    assert shown_metadata(stored) == stored | {"_nats.ver": "2.15.1", "_nats.level": "5"}


def test_the_level_a_request_requires() -> None:
    assert all(is_level_served(level) for level in ("", "0", "5", "+5", "-1", "005"))
    assert not any(is_level_served(level) for level in ("6", "x", "5.0", " 5", "1_0", "9" * 5000))
