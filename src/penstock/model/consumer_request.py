"""What CONSUMER.CREATE asks for, read from JSON as `reading` says."""

import enum

import msgspec

from penstock.model.consumer_config import ConsumerConfig
from penstock.model.reading import (
    Reading,
    not_json,
    parse_object,
    read_metadata,
    read_moment,
    read_texts,
    read_uint64,
    settled,
)


class Action(enum.StrEnum):
    """What the sender expects: that there is no such consumer, that there is one, or either."""

    CREATE_OR_UPDATE = ""
    CREATE = "create"
    UPDATE = "update"


class ConsumerRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A consumer as it was asked for."""

    stream_name: str = ""
    config: ConsumerConfig = ConsumerConfig()
    action: Action = Action.CREATE_OR_UPDATE
    pedantic: bool = False  # refuse what would otherwise be adjusted


def parse_consumer_request(payload: bytes, strict: bool = True) -> ConsumerRequest:
    """The request in a payload; raises the `ApiError` 10025 for anything but a proper one.

    As for streams, nothing at all and null are an empty request, and bytes that are no UTF-8 are
    replaced.
    """
    text = payload.decode(errors="replace")
    try:
        fields = settled(parse_object(text), _FIELDS, READING, strict)
        return msgspec.convert(fields, ConsumerRequest)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise not_json(str(error)) from None


def _durations(value: object) -> object:
    if not isinstance(value, list):
        return value
    return [0 if item is None else item for item in value]


def _all_if_undefined(value: object) -> object:
    """Old clients called it undefined."""
    return "all" if value == "undefined" else value


_FIELDS = frozenset(ConsumerRequest.__struct_fields__)
READING = Reading(
    parts={"config": ConsumerConfig},
    readers={
        "backoff": _durations,
        "deliver_policy": _all_if_undefined,
        "filter_subjects": read_texts,
        "metadata": read_metadata,
        "opt_start_seq": read_uint64,
        "opt_start_time": read_moment,
        "pause_until": read_moment,
        "priority_groups": read_texts,
        "rate_limit_bps": read_uint64,
    },
    never_null=frozenset(
        {"action", "deliver_policy", "ack_policy", "replay_policy", "priority_policy"}
    ),
)
