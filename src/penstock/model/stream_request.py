"""What STREAM.CREATE and STREAM.UPDATE ask for, read from JSON as `reading` says."""

import msgspec

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
from penstock.model.stream_config import (
    ConsumerLimits,
    External,
    Placement,
    Republish,
    Source,
    SourceConsumer,
    StreamConfig,
    SubjectTransform,
)


class StreamRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration as it was asked for."""

    config: StreamConfig
    given: frozenset[str] = frozenset()  # the fields that the request names, null aside
    pedantic: bool = False  # refuse what would otherwise be adjusted


def parse_stream_request(payload: bytes, strict: bool = True) -> StreamRequest:
    """The request in a payload; raises the `ApiError` 10025 for anything but a proper one.

    As the reference: nothing at all and null are an empty request, and bytes that are no UTF-8
    are replaced.
    """
    text = payload.decode(errors="replace")
    try:
        fields = parse_object(text)
        known = frozenset({*StreamConfig.__struct_fields__, "pedantic"})
        given = settled(fields, known, READING, strict)
        pedantic = msgspec.convert(given.pop("pedantic", False), bool)
        config = msgspec.convert(given, StreamConfig)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise not_json(str(error)) from None
    return StreamRequest(config=config, given=frozenset(given), pedantic=pedantic)


def _any_case(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _default_if_empty(value: object) -> object:
    return "default" if value == "" else value


READING = Reading(
    parts={
        "consumer": SourceConsumer,
        "consumer_limits": ConsumerLimits,
        "external": External,
        "mirror": Source,
        "placement": Placement,
        "republish": Republish,
        "sources": Source,
        "subject_transform": SubjectTransform,
        "subject_transforms": SubjectTransform,
    },
    readers={
        "discard": _any_case,
        "first_seq": read_uint64,
        "metadata": read_metadata,
        "opt_start_seq": read_uint64,
        "opt_start_time": read_moment,
        "persist_mode": _default_if_empty,
        "subjects": read_texts,
        "tags": read_texts,
    },
    never_null=frozenset({"retention", "discard", "storage", "compression", "persist_mode"}),
    empty_is_absent=frozenset({"read_consistency"}),  # an update without it keeps the value
)
