"""Levels that consumers need, and what clients cannot set."""

from typing import Any

import pytest

from penstock.consumers.versioning import required_level, stored_metadata
from penstock.model.consumer_config import AckPolicy, ConsumerConfig, PriorityPolicy


@pytest.mark.parametrize(
    ("fields", "level"),
    [
        ({}, 0),
        ({"pause_until": "2024-01-01T00:00:00Z"}, 1),
        ({"pause_until": "0001-01-01T00:00:00Z"}, 0),
        ({"priority_policy": PriorityPolicy.OVERFLOW}, 1),
        ({"priority_groups": ("a",)}, 1),
        ({"priority_timeout": -5}, 1),
        ({"ack_policy": AckPolicy.FLOW_CONTROL}, 4),
        ({"ack_policy": AckPolicy.FLOW_CONTROL, "priority_timeout": 5}, 4),
    ],
)
def test_required_level(fields: dict[str, Any], level: int) -> None:
    assert required_level(ConsumerConfig(**fields)) == level


def test_clients_cannot_set_our_keys() -> None:
    metadata = {"_nats.req.level": "9", "_nats.ver": "x", "_nats.level": "y", "a": "b"}
    stored = stored_metadata(ConsumerConfig(metadata=metadata))
    assert stored == {"_nats.req.level": "0", "a": "b"}
