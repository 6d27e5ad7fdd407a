"""Requests are read strictly, and anything at all is either a request or 10025."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.api_errors import ApiError
from penstock.model.stream_config import Discard, Source, StreamConfig, shown
from penstock.model.stream_request import parse_stream_request


def test_a_request_says_what_it_named() -> None:
    request = parse_stream_request(b'{"name":"T","Max_Msgs":5,"max_age":null,"pedantic":true}')
    assert request.config == StreamConfig(name="T", max_msgs=5)
    assert request.given == {"name", "max_msgs"}
    assert request.pedantic


def test_nothing_and_null_are_an_empty_request() -> None:
    for payload in (b"", b" \r\n", b"null", b"{}"):
        assert parse_stream_request(payload).config == StreamConfig()


def test_null_in_a_list_is_an_empty_item() -> None:
    payload = b'{"subjects":[null,"a"],"sources":[null],"metadata":{"k":null}}'
    config = parse_stream_request(payload).config
    assert config.subjects == ("", "a")
    assert config.sources == (Source(),)
    assert config.metadata == {"k": ""}


def test_enumerations_are_never_null_and_discard_has_any_case() -> None:
    assert parse_stream_request(b'{"discard":"New"}').config.discard is Discard.NEW
    with pytest.raises(ApiError, match="Expected `str`"):
        parse_stream_request(b'{"retention":null}')


def test_an_empty_read_consistency_says_nothing() -> None:
    assert parse_stream_request(b'{"read_consistency":""}').given == frozenset()


@pytest.mark.parametrize(
    "payload",
    [
        b"{",
        b"[]",
        b"[" * 100_000,
        b'{"metadata":' + b"[" * 100_000,
        b'{"max_msgs":' + b"9" * 100_000 + b"}",
        b'{"max_msgs":1.0}',
        b'{"max_msgs":true}',
        b'{"first_seq":18446744073709551616}',
        b'{"max_msg_size":2147483648}',
        b'{"foo":1}',
        b'{"sources":[{"foo":1}]}',
        b'{"mirror":{"opt_start_time":"yesterday"}}',
        b'{"mirror":{"opt_start_time":5}}',
        b'{"name":"T"}{"name":"U"}',
    ],
    ids=lambda payload: payload[:40].decode(),
)
def test_what_is_not_a_request(payload: bytes) -> None:
    with pytest.raises(ApiError) as caught:
        parse_stream_request(payload)
    assert (caught.value.code, caught.value.err_code) == (400, 10025)
    assert caught.value.description.startswith("invalid JSON: ")


def test_unknown_fields_pass_where_the_server_is_not_strict() -> None:
    payload = b'{"name":"T","foo":1,"mirror":{"name":"O","bar":[]}}'
    config = parse_stream_request(payload, strict=False).config
    assert config == StreamConfig(name="T", mirror=Source(name="O"))


@given(st.binary(max_size=200))
def test_any_bytes(payload: bytes) -> None:
    try:
        parse_stream_request(payload)
    except ApiError as error:
        assert error.err_code == 10025


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(StreamConfig.__struct_fields__), JSON_VALUES, max_size=4))
def test_any_values(fields: dict[str, object]) -> None:
    try:
        parse_stream_request(json.dumps(fields).encode())
    except ApiError as error:
        assert error.err_code == 10025


def test_what_a_reply_shows_can_be_sent_back() -> None:
    payload = (
        b'{"name":"T","sources":[{"name":"O","opt_start_time":"2024-01-01T00:00:00.10Z"}],'
        b'"persist_mode":"async","republish":{"dest":"r"},"read_consistency":"weak"}'
    )
    config = parse_stream_request(payload).config
    assert parse_stream_request(json.dumps(shown(config)).encode()).config == config


def test_what_is_empty_is_left_out_by_name() -> None:
    assert shown(StreamConfig(name="T")) == {
        "name": "T",
        "retention": "limits",
        "max_consumers": 0,
        "max_msgs": 0,
        "max_bytes": 0,
        "max_age": 0,
        "max_msgs_per_subject": 0,
        "discard": "old",
        "storage": "file",
        "num_replicas": 0,
        "compression": "none",
        "allow_direct": False,
        "mirror_direct": False,
        "sealed": False,
        "deny_delete": False,
        "deny_purge": False,
        "allow_rollup_hdrs": False,
        "consumer_limits": {},
        "allow_msg_ttl": False,
    }


def test_a_text_is_not_taken_for_a_mode() -> None:
    fields = shown(StreamConfig(description="default"))
    assert fields["description"] == "default"
    assert "persist_mode" not in fields
