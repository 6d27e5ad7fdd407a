"""What may change once a consumer exists."""

from typing import Any

import pytest

from penstock.consumers.updates import is_same, paused
from penstock.model.consumer_config import ConsumerConfig
from tests.unit.consumers.configs import SECOND, around, config, decided, refusal, request

PUSH = {"deliver_subject": "d"}


def updated(old: ConsumerConfig, **fields: Any) -> ConsumerConfig:
    return decided(request(**fields), around({"C": old})).config


@pytest.mark.parametrize(
    ("start", "change", "reason"),
    [
        ({}, {"deliver_policy": "new"}, "deliver policy can not be updated"),
        ({}, {"mem_storage": True}, "storage type can not be updated"),
        ({}, {"ack_policy": "all"}, "ack policy can not be updated"),
        ({}, {"replay_policy": "original"}, "replay policy can not be updated"),
        ({}, {"max_waiting": 5}, "max waiting can not be updated"),
        ({}, PUSH, "can not update pull consumer to push based"),
        (PUSH, {}, "can not update push consumer to pull based"),
        (PUSH, {**PUSH, "idle_heartbeat": SECOND}, "heart beats can not be updated"),
    ],
)
def test_what_stays(start: dict[str, Any], change: dict[str, Any], reason: str) -> None:
    assert refusal(request(**change), around({"C": config(**start)})) == (10012, reason)


def test_what_changes() -> None:
    old = config(description="old", filter_subject="t.x", metadata={"a": "b"})
    new = updated(old, max_deliver=3, filter_subjects=["t.y", "t.z"])
    assert (new.description, new.filters, new.max_deliver) == ("", ("t.y", "t.z"), 3)
    assert "a" not in new.metadata


def test_a_start_time_may_be_written_otherwise() -> None:
    start = {"deliver_policy": "by_start_time", "opt_start_time": "2024-01-01T00:00:00Z"}
    moved = start | {"opt_start_time": "2024-01-01T00:00:00.1Z"}
    rewritten = start | {"opt_start_time": "2024-01-01T02:00:00+02:00"}
    old = config(**start)
    assert refusal(request(**moved), around({"C": old}))[1] == "start time can not be updated"
    assert updated(old, **rewritten).opt_start_time == "2024-01-01T02:00:00+02:00"


def test_the_deliver_subject_changes_while_nobody_listens() -> None:
    consumers = {"C": config(**PUSH)}
    asked = request(deliver_subject="e")
    assert decided(asked, around(consumers)).config.deliver_subject == "e"
    assert refusal(asked, around(consumers, is_bound=True))[0] == 10013


def test_actions() -> None:
    old = {"C": config(durable_name="C")}
    assert refusal(request("update"), around())[0] == 10149
    assert refusal(request("create"), around(old))[0] == 10148
    assert not decided(request("create", durable_name="C"), around(old)).is_new
    assert not decided(request("update", durable_name="C"), around(old)).is_new
    assert decided(request("create"), around()).is_new


def test_an_ephemeral_consumer_is_the_same_only_with_its_threshold() -> None:
    """As the reference, which compares before it fills the threshold in."""
    old = {"C": config()}
    assert refusal(request("create"), around(old))[0] == 10148
    assert not decided(request("create", inactive_threshold=5 * SECOND), around(old)).is_new


def test_the_threshold_follows_what_the_consumer_was() -> None:
    ephemeral, durable = config(), config(durable_name="C")
    assert updated(ephemeral, durable_name="C").inactive_threshold == 5 * SECOND
    assert updated(updated(ephemeral, durable_name="C"), durable_name="C").inactive_threshold == 0
    assert updated(durable).inactive_threshold == 0
    assert updated(updated(durable)).inactive_threshold == 0


def test_the_level_does_not_tell_consumers_apart() -> None:
    assert is_same(ConsumerConfig(metadata={"_nats.req.level": "1"}), ConsumerConfig())
    assert not is_same(ConsumerConfig(metadata={"a": "1"}), ConsumerConfig())


def test_a_pause_has_its_own_request() -> None:
    old = config(pause_until="2044-01-01T00:00:00+02:00")
    assert old.metadata["_nats.req.level"] == "1"
    assert updated(old).pause_until == "2043-12-31T22:00:00Z"
    assert updated(old, pause_until="2055-01-01T00:00:00Z").pause_until == "2043-12-31T22:00:00Z"
    for until in (None, "0001-01-01T00:00:00Z", "0001-01-01T02:00:00+02:00"):
        ended = paused(old, until)
        assert ended.pause_until is None
        assert ended.metadata["_nats.req.level"] == "0"
    begun = paused(config(metadata={"a": "b"}), "2044-01-01T00:00:00.50+02:00")
    assert begun.pause_until == "2043-12-31T22:00:00.5Z"
    assert begun.metadata == {"a": "b", "_nats.req.level": "1"}


@pytest.mark.parametrize("until", ["9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+05:00"])
def test_a_pause_beyond_the_calendar_stays_as_it_was_written(until: str) -> None:
    assert updated(config(pause_until=until)).pause_until == until
    assert paused(config(), until).pause_until == until
