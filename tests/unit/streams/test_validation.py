"""What is refused, beyond what the parity tests compare with the reference: rules of our own,
the limits, and what the order of the rules is for."""

from typing import Any

import pytest

from penstock.model.api_errors import ApiError
from penstock.model.stream_config import StreamConfig
from penstock.streams.resources import AccountLimits, ServerResources, Surroundings
from penstock.streams.validation import check_create, duration_text
from tests.unit.streams.configs import SECOND, SERVER, around, create, refusal, request


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("external", {"mirror": {"name": "O", "external": {"api": "$JS.x.API"}}}),
        ("consumer", {"sources": [{"name": "O", "consumer": {"name": "c"}}]}),
        ("compression", {"compression": "s2"}),
        ("allow_msg_schedules", {"allow_msg_schedules": True}),
        ("allow_batched", {"allow_batched": True}),
    ],
)
def test_what_is_not_built_is_refused_by_name(field: str, fields: dict[str, Any]) -> None:
    assert refusal(**fields) == (10052, f"{field} is not supported")


def test_what_is_not_built_may_have_its_default() -> None:
    create(compression="none", allow_msg_schedules=False, allow_batched=False)


def test_a_stream_begins_where_numbers_are_left() -> None:
    assert create(first_seq=2**61).first_seq == 2**61
    assert refusal(first_seq=2**61 + 1) == (10052, f"first sequence must be <= {2**61}")


def test_markers_imply_ttls_which_counters_forbid() -> None:
    answer = refusal(allow_msg_counter=True, subject_delete_marker_ttl=SECOND)
    assert answer == (10052, "counter stream cannot use message TTLs")


def test_weak_consistency_lets_everybody_answer() -> None:
    config = create(read_consistency="weak")
    assert config.allow_direct and not config.mirror_direct
    mirror = create(read_consistency="weak", mirror={"name": "O"})
    assert mirror.allow_direct and mirror.mirror_direct


def test_strong_consistency_leaves_it_to_the_leader() -> None:
    config = create(read_consistency="strong")
    assert not config.allow_direct and not config.mirror_direct
    mirror = create(create(name="O"), read_consistency="strong", mirror={"name": "O"})
    assert not mirror.allow_direct and mirror.mirror_direct


def test_default_consistency_is_no_consistency() -> None:
    assert create(read_consistency="default", allow_direct=True) == create(allow_direct=True)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (
            {"read_consistency": "weak", "allow_direct": False},
            "read consistency weak requires allow_direct to be true",
        ),
        (
            {"read_consistency": "strong", "allow_direct": True},
            "read consistency strong requires allow_direct to be false",
        ),
        (
            {"read_consistency": "strong", "mirror": {"name": "O"}, "mirror_direct": False},
            "read consistency strong requires mirror_direct to be true",
        ),
    ],
)
def test_a_contrary_value_is_refused(fields: dict[str, Any], reason: str) -> None:
    assert refusal(**fields) == (10052, reason)


def test_a_value_that_agrees_is_fine() -> None:
    assert create(read_consistency="weak", allow_direct=True).allow_direct


def test_consistency_decides_before_the_origin_does() -> None:
    origin = create(name="O", allow_direct=False)
    fields = {"mirror": {"name": "O"}, "read_consistency": "weak", "pedantic": True}
    assert create(origin, **fields).mirror_direct


def test_creating_again_gives_the_stream_that_is_there() -> None:
    existing = create(metadata={"a": "b"})
    assert check_create("T", request(metadata={"a": "b"}), around(existing)) is existing
    assert refusal(existing, metadata={"a": "c"})[0] == 10058


def test_the_first_rule_that_objects_answers() -> None:
    assert refusal(max_age=-1, duplicate_window=-1)[1] == "max age can not be negative"
    assert refusal(num_replicas=-1, max_age=-1)[0] == 10133
    assert refusal(num_replicas=3, max_age=-1)[1] == "max age can not be negative"
    assert refusal(num_replicas=3)[0] == 10074


@pytest.mark.parametrize(
    ("limits", "fields", "err_code"),
    [
        (AccountLimits(streams_max=1), {}, 10027),
        (AccountLimits(consumers_max=5), {"max_consumers": 6}, 10026),
        (AccountLimits(max_bytes_required=True), {}, 10113),
        (AccountLimits(storage_stream_bytes_max=10), {"max_bytes": 11}, 10122),
        (AccountLimits(memory_stream_bytes_max=1), {"max_bytes": 2, "storage": "memory"}, 10122),
        (AccountLimits(storage_bytes_max=150), {"max_bytes": 51}, 10047),
        (AccountLimits(memory_bytes_max=0), {"storage": "memory"}, 10028),
        (AccountLimits(), {"max_bytes": SERVER.storage_bytes_max + 1}, 10047),
    ],
)
def test_limits(limits: AccountLimits, fields: dict[str, Any], err_code: int) -> None:
    other = create(name="OTHER", max_bytes=100)
    outcome = check_create("T", request(**fields), around(other, limits=limits))
    assert isinstance(outcome, ApiError)
    assert outcome.err_code == err_code


def test_the_servers_duplicate_window() -> None:
    server = ServerResources(
        memory_bytes_max=1, storage_bytes_max=1, duplicate_window_max_ns=60 * SECOND
    )
    place = Surroundings(streams={}, server=server)
    outcome = check_create("T", request(), place)
    assert isinstance(outcome, StreamConfig)
    assert outcome.duplicate_window == 60 * SECOND
    refused = check_create("T", request(duplicate_window=61 * SECOND), place)
    assert isinstance(refused, ApiError)
    assert refused.description == "duplicates window can not be larger then server limit of 1m0s"


def test_durations_in_errors() -> None:
    texts = {1: "1ns", 1_500: "1.5µs", 100_000_000: "100ms", SECOND: "1s", 90 * SECOND: "1m30s"}
    texts |= {1_500_000_000: "1.5s", 7_200 * SECOND: "2h0m0s"}
    assert {duration_ns: duration_text(duration_ns) for duration_ns in texts} == texts
