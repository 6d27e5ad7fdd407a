"""What pull requests may say beyond what the parity tests send, and no input raises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.consumers.pull_request import (
    Asked,
    Preference,
    PullRequest,
    Refusal,
    first_refusal,
    parse_pull,
)
from penstock.model.consumer_config import ConsumerConfig, PriorityPolicy


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", PullRequest()),
        (b" \t7\r\n", PullRequest(batch=7)),
        (b"+7", PullRequest(batch=7)),
        (b"-3", PullRequest(batch=-3)),
        (b"1_0", PullRequest()),
        (b"\xd9\xa3", PullRequest()),  # a digit, but not one of ours
        (b"9223372036854775808", PullRequest()),
        (b"9" * 5000, PullRequest()),
        (b"\xff\xfe", PullRequest()),
    ],
)
def test_numbers_and_what_is_none(body: bytes, expected: PullRequest) -> None:
    assert parse_pull(body) == expected


def test_json_with_everything() -> None:
    body = (
        b' {"batch":3,"Max_Bytes":4,"no_wait":true,"expires":100,"idle_heartbeat":50,'
        b'"group":"g","min_pending":1,"min_ack_pending":2,"id":"i","priority":5,"other":[{}]}'
    )
    preference = Preference("g", 1, 2, "i", 5)
    assert parse_pull(body) == PullRequest(3, 4, True, 100, 50, preference)


def test_null_is_nothing() -> None:
    assert parse_pull(b'{"batch":null,"group":null}') == PullRequest(
        batch=0, preference=Preference()
    )


@pytest.mark.parametrize(
    "body", [b"{", b'{"batch":true}', b'{"no_wait":1}', b'{"batch":1.0}', b'{"group":5}']
)
def test_refused_json(body: bytes) -> None:
    refusal = parse_pull(body)
    assert isinstance(refusal, Refusal)
    assert refusal.headers.startswith(b"NATS/1.0 400 Bad Request - ")


@given(st.one_of(st.binary(), st.binary().map(lambda rest: b"{" + rest)))
def test_no_input_raises_or_breaks_the_header(body: bytes) -> None:
    answer = parse_pull(body)
    if isinstance(answer, Refusal):
        assert answer.headers.count(b"\r\n") == 2
        assert b"\n" not in answer.headers.replace(b"\r\n", b"")


def test_the_first_limit_that_objects_is_told() -> None:
    config = ConsumerConfig(max_batch=1, max_expires=1_500_000_000, max_bytes=10)
    request = PullRequest(batch=2, expires_ns=2_000_000_000, max_bytes=11)
    told = []
    for name in ("batch", "expires_ns", "max_bytes"):
        refusal = first_refusal(Asked(request, config, ""))
        assert refusal is not None
        told.append(refusal.headers)
        request = request._replace(**{name: 1})
    assert told == [
        b"NATS/1.0 409 Exceeded MaxRequestBatch of 1\r\n\r\n",
        b"NATS/1.0 409 Exceeded MaxRequestExpires of 1.5s\r\n\r\n",
        b"NATS/1.0 409 Exceeded MaxRequestMaxBytes of 10\r\n\r\n",
    ]
    assert first_refusal(Asked(request, config, "")) is None


def test_a_pin_that_is_anothers() -> None:
    config = ConsumerConfig(
        priority_policy=PriorityPolicy.PINNED_CLIENT, priority_groups=("g",), priority_timeout=1
    )
    for pin, is_refused in (("", False), ("mine", False), ("other", True)):
        request = PullRequest(preference=Preference(group="g", id="mine"))
        assert (first_refusal(Asked(request, config, pin)) is not None) is is_refused
