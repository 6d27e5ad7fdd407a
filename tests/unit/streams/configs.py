"""Short ways to a request, its surroundings and the answer."""

import json
from typing import Any

from penstock.model.api_errors import ApiError
from penstock.model.stream_config import StreamConfig
from penstock.model.stream_request import StreamRequest, parse_stream_request
from penstock.streams.resources import AccountLimits, ServerResources, Surroundings
from penstock.streams.updates import UpdateState, check_update
from penstock.streams.validation import check_create

SECOND = 1_000_000_000
SERVER = ServerResources(memory_bytes_max=1_000_000, storage_bytes_max=1_000_000_000)


def request(**fields: Any) -> StreamRequest:
    return parse_stream_request(json.dumps({"name": "T", **fields}).encode())


def around(*streams: StreamConfig, limits: AccountLimits | None = None) -> Surroundings:
    by_name = {config.name: config for config in streams}
    return Surroundings(streams=by_name, server=SERVER, limits=limits or AccountLimits())


def create(*others: StreamConfig, **fields: Any) -> StreamConfig:
    """The configuration of a stream that can be made."""
    outcome = check_create(fields.get("name", "T"), request(**fields), around(*others))
    assert isinstance(outcome, StreamConfig), outcome
    return outcome


def refusal(*others: StreamConfig, **fields: Any) -> tuple[int, str]:
    """Why a stream cannot be made."""
    outcome = check_create(fields.get("name", "T"), request(**fields), around(*others))
    assert isinstance(outcome, ApiError), outcome
    return outcome.err_code, outcome.description


def update(
    old: StreamConfig, *others: StreamConfig, messages: int = 0, **fields: Any
) -> StreamConfig:
    """The configuration after an update that is allowed."""
    state = UpdateState(messages=messages)
    outcome = check_update(old.name, request(**fields), state, around(old, *others))
    assert isinstance(outcome, StreamConfig), outcome
    return outcome


def update_refusal(
    old: StreamConfig, *others: StreamConfig, messages: int = 0, **fields: Any
) -> tuple[int, str]:
    """Why an update is not allowed."""
    state = UpdateState(messages=messages)
    outcome = check_update(old.name, request(**fields), state, around(old, *others))
    assert isinstance(outcome, ApiError), outcome
    return outcome.err_code, outcome.description
