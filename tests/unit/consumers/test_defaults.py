"""What a consumer gets that nobody asked for; pedantic requests get an error instead."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.consumers.draft import Limits
from penstock.consumers.outcome import Decision
from penstock.model.consumer_config import AckPolicy, ConsumerConfig, PriorityPolicy
from penstock.model.stream_config import ConsumerLimits, StreamConfig, shown
from tests.unit.consumers.configs import (
    SECOND,
    answer,
    around,
    config,
    decided,
    refusal,
    request,
)

LIMITED = StreamConfig(
    name="T",
    num_replicas=1,
    consumer_limits=ConsumerLimits(inactive_threshold=7, max_ack_pending=5),
)


def test_pull_and_push() -> None:
    assert shown(config(ack_policy="explicit")) == {
        "name": "C",
        "deliver_policy": "all",
        "ack_policy": "explicit",
        "ack_wait": 30 * SECOND,
        "max_deliver": -1,
        "replay_policy": "instant",
        "max_waiting": 512,
        "max_ack_pending": 1000,
        "inactive_threshold": 5 * SECOND,
        "num_replicas": 0,
        "metadata": {"_nats.req.level": "0"},
    }
    assert shown(config(durable_name="C", deliver_subject="d")) == {
        "durable_name": "C",
        "name": "C",
        "deliver_policy": "all",
        "ack_policy": "none",
        "max_deliver": -1,
        "replay_policy": "instant",
        "deliver_subject": "d",
        "num_replicas": 0,
        "metadata": {"_nats.req.level": "0"},
    }


def test_backoff_begins_with_the_ack_wait() -> None:
    made = config(ack_policy="explicit", ack_wait=9, backoff=[3, 4])
    assert (made.ack_wait, made.max_deliver) == (3, -1)


@pytest.mark.parametrize(
    ("limits", "pending"),
    [
        (Limits(), 1000),
        (Limits(server_ack_pending_max=2000), 1000),
        (Limits(server_ack_pending_max=70), 70),
        (Limits(server_ack_pending_max=70, account_ack_pending_max=60), 60),
        (Limits(server_ack_pending_max=60, account_ack_pending_max=70), 60),
    ],
)
def test_max_ack_pending_within_the_limits(limits: Limits, pending: int) -> None:
    where = around(limits=limits)
    assert config(where, ack_policy="all").max_ack_pending == pending
    assert config(where, ack_policy="none").max_ack_pending == 0


def test_limits_of_stream_and_server_are_defaults() -> None:
    where = around(stream=LIMITED, limits=Limits(server_batch_max=20))
    made = config(where, durable_name="C")
    assert (made.max_ack_pending, made.inactive_threshold, made.max_batch) == (5, 7, 20)
    assert config(where, deliver_subject="d", ack_policy="all").max_batch == 0


def test_pins_end() -> None:
    pinned = {"priority_policy": "pinned_client", "priority_groups": ["g"]}
    assert config(**pinned).priority_timeout == 120 * SECOND
    assert config(**pinned | {"priority_policy": "overflow"}).priority_timeout == 0


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"max_deliver": -2}, "max_deliver must be set to -1"),
        ({"max_bytes": -1}, "max_bytes must not be negative"),
        ({"backoff": [3]}, "first backoff value has to equal batch AckWait"),
        ({}, "max_ack_pending must be set if it's configured in stream limits"),
        (
            {"max_ack_pending": 1},
            "inactive_threshold must be set if it's configured in stream limits",
        ),
        (
            {"max_ack_pending": 1, "inactive_threshold": 1},
            "max_request_batch must be set if it's JetStream limits are set",
        ),
    ],
)
def test_pedantic(fields: dict[str, Any], reason: str) -> None:
    where = around(stream=LIMITED, limits=Limits(server_batch_max=20))
    asked = request(pedantic=True, **fields)
    assert refusal(asked, where) == (10157, f"pedantic mode: {reason}")
    decided(request(**fields), where)


NUMBERS = st.sampled_from((-(2**63), -2, -1, 0, 1, 2, 10**9, 2**63 - 1))
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "durable_name": st.sampled_from(("", "C")),
    "ack_policy": st.sampled_from([*AckPolicy]),
    "backoff": st.lists(NUMBERS, max_size=2),
    "deliver_subject": st.sampled_from(("", "d")),
    "priority_groups": st.lists(st.just("g"), max_size=1),
    "priority_policy": st.sampled_from([*PriorityPolicy]),
    **dict.fromkeys(
        (
            "ack_wait",
            "max_deliver",
            "max_waiting",
            "max_ack_pending",
            "max_batch",
            "max_expires",
            "max_bytes",
            "idle_heartbeat",
            "inactive_threshold",
            "priority_timeout",
        ),
        NUMBERS,
    ),
}


@settings(deadline=None)
@given(st.fixed_dictionaries({}, optional=FIELDS), st.booleans())
def test_what_is_decided_stays_decided(fields: dict[str, Any], limited: bool) -> None:
    """Asking for what a consumer has got changes nothing."""
    where = around(stream=LIMITED if limited else StreamConfig(name="T", num_replicas=1))
    outcome = answer(request(**fields), where)
    if not isinstance(outcome, Decision):
        return
    again = request("create", **shown(outcome.config))
    made: dict[str, ConsumerConfig] = {"C": outcome.config}
    second = decided(again, around(made, stream=where.stream))
    # A level once asked for by a negative timeout, which then is none, is not needed again.
    assert shown(second.config) | {"metadata": {}} == shown(outcome.config) | {"metadata": {}}
    assert not second.is_new
