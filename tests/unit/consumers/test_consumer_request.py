"""Requests are read strictly, and anything at all is either a request or 10025."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model.api_errors import ApiError
from penstock.model.consumer_config import AckPolicy, ConsumerConfig, DeliverPolicy
from penstock.model.consumer_request import Action, ConsumerRequest, parse_consumer_request
from penstock.model.stream_config import shown


def test_a_request_says_what_it_named() -> None:
    payload = (
        b'{"Stream_Name":"T","config":{"ACK_POLICY":"all","max_deliver":null},"action":"create"}'
    )
    request = parse_consumer_request(payload)
    config = ConsumerConfig(ack_policy=AckPolicy.ALL)
    assert request == ConsumerRequest(stream_name="T", config=config, action=Action.CREATE)


def test_nothing_and_null_are_an_empty_request() -> None:
    for payload in (b"", b" \r\n", b"null", b"{}", b'{"config":null}'):
        assert parse_consumer_request(payload) == ConsumerRequest()


def test_null_in_a_list_is_an_empty_item() -> None:
    payload = b'{"config":{"filter_subjects":[null,"a"],"backoff":[null,5],"metadata":{"k":null}}}'
    config = parse_consumer_request(payload).config
    assert config.filter_subjects == ("", "a")
    assert config.backoff == (0, 5)
    assert config.metadata == {"k": ""}


def test_an_old_word_for_all() -> None:
    config = parse_consumer_request(b'{"config":{"deliver_policy":"undefined"}}').config
    assert config.deliver_policy is DeliverPolicy.ALL


@pytest.mark.parametrize(
    "payload",
    [
        b"{",
        b"[]",
        b"[" * 100_000,
        b'{"config":' + b"[" * 100_000,
        b'{"config":[]}',
        b'{"config":{"max_deliver":' + b"9" * 100_000 + b"}}",
        b'{"config":{"max_deliver":1.0}}',
        b'{"config":{"opt_start_seq":18446744073709551616}}',
        b'{"config":{"rate_limit_bps":-1}}',
        b'{"config":{"ack_wait":9223372036854775808}}',
        b'{"config":{"ack_policy":null}}',
        b'{"config":{"pause_until":"tomorrow"}}',
        b'{"config":{"foo":1}}',
        b'{"foo":1}',
        b'{"action":null}',
        b'{"action":"Create"}',
        b'{"stream_name":"T"}{"stream_name":"U"}',
    ],
    ids=lambda payload: payload[:40].decode(),
)
def test_what_is_not_a_request(payload: bytes) -> None:
    with pytest.raises(ApiError) as caught:
        parse_consumer_request(payload)
    assert (caught.value.code, caught.value.err_code) == (400, 10025)
    assert caught.value.description.startswith("invalid JSON: ")


def test_an_error_says_where() -> None:
    with pytest.raises(ApiError, match=r"\$\.config\.max_waiting"):
        parse_consumer_request(b'{"config":{"max_waiting":"5"}}')


def test_unknown_fields_pass_where_the_server_is_not_strict() -> None:
    payload = b'{"stream_name":"T","foo":1,"config":{"name":"C","bar":[]}}'
    request = parse_consumer_request(payload, strict=False)
    assert request == ConsumerRequest(stream_name="T", config=ConsumerConfig(name="C"))


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(payload: bytes) -> None:
    try:
        parse_consumer_request(payload)
    except ApiError as error:
        assert error.err_code == 10025


def test_what_a_reply_shows_can_be_sent_back() -> None:
    payload = (
        b'{"config":{"name":"C","opt_start_time":"2024-01-01T00:00:00.10Z","backoff":[1,2],'
        b'"priority_policy":"overflow","filter_subjects":["a","b"],"metadata":{"a":"b"}}}'
    )
    config = parse_consumer_request(payload).config
    back = json.dumps({"config": shown(config)}).encode()
    assert parse_consumer_request(back).config == config


def test_what_is_empty_is_left_out_by_name() -> None:
    assert shown(ConsumerConfig()) == {
        "deliver_policy": "all",
        "ack_policy": "none",
        "replay_policy": "instant",
        "num_replicas": 0,
    }


def test_a_text_is_not_taken_for_a_policy() -> None:
    fields = shown(ConsumerConfig(description="none", deliver_group="none"))
    assert (fields["description"], fields["deliver_group"]) == ("none", "none")
    assert "priority_policy" not in fields
