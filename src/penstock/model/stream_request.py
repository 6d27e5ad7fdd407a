"""What STREAM.CREATE and STREAM.UPDATE ask for, read from JSON.

Reading is strict, as the reference is by default: an unknown field or a wrong type is 10025. It is
lenient where the reference is: names in any case, null for "not given" (but not for the
enumerations), null in a list for an empty item. First the fields are settled by hand, guided by
the structs so that no input decides how deep we go; then msgspec checks the types. A server whose
configuration says `strict: false` lets unknown fields pass, and that is all.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from penstock.model.api_errors import ApiError, Fault
from penstock.model.stream_config import (
    ConsumerLimits,
    External,
    Part,
    Placement,
    Republish,
    Source,
    SourceConsumer,
    StreamConfig,
    SubjectTransform,
)
from penstock.model.timestamps import canonical

UINT64_MAX = 2**64 - 1


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
        given = _settled(fields, StreamConfig, strict, frozenset({"pedantic"}))
        pedantic = msgspec.convert(given.pop("pedantic", False), bool)
        config = msgspec.convert(given, StreamConfig)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _not_json(str(error)) from None
    return StreamRequest(config=config, given=frozenset(given), pedantic=pedantic)


def parse_object(text: str) -> dict[str, object]:
    """A JSON object; nothing and null are an empty one. Raises what msgspec raises."""
    if not text.strip(" \t\r\n"):
        return {}
    return msgspec.json.decode(text, type=dict[str, object] | None) or {}


def _settled(
    fields: dict[str, Any], kind: type[Part], strict: bool, also: frozenset[str] = frozenset()
) -> dict[str, object]:
    """The fields under their own names, without the ones that are null."""
    known = {*kind.__struct_fields__, *also}
    settled: dict[str, object] = {}
    for given, value in fields.items():
        name = given.lower()
        if name not in known:
            if strict:
                raise _not_json(f'json: unknown field "{given}"')
        elif name in PARTS:
            if value is not None:
                settled[name] = _parts(value, PARTS[name], strict)
        elif value is None and name not in NEVER_NULL:
            continue
        elif value != "" or name not in EMPTY_IS_ABSENT:
            settled[name] = READERS.get(name, _unchanged)(value)
    return settled


def _parts(value: object, kind: type[Part], strict: bool) -> object:
    """A part or a list of them; what is neither is left for msgspec to refuse."""
    if isinstance(value, dict):
        return _settled(value, kind, strict)
    if isinstance(value, list):
        return [
            _settled(item or {}, kind, strict) if isinstance(item, dict | None) else item
            for item in value
        ]
    return value


def _unchanged(value: object) -> object:
    return value


def _texts(value: object) -> object:
    if not isinstance(value, list):
        return value
    return ["" if item is None else item for item in value]


def _metadata(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return {key: "" if item is None else item for key, item in value.items()}


def _sequence(value: object) -> object:
    if isinstance(value, int) and value > UINT64_MAX:
        raise _not_json(f"{value} is not a sequence")
    return value


def _moment(value: object) -> object:
    if not isinstance(value, str):
        raise _not_json("a moment is a string")
    moment = canonical(value)
    if moment is None:
        raise _not_json(f'"{value}" is not a moment as RFC 3339 writes it')
    return moment


def _any_case(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _default_if_empty(value: object) -> object:
    return "default" if value == "" else value


def _not_json(reason: str) -> ApiError:
    return Fault.INVALID_JSON.error(reason=reason)


EMPTY_IS_ABSENT = {"read_consistency"}  # an update without it keeps the value
NEVER_NULL = {"retention", "discard", "storage", "compression", "persist_mode"}
PARTS: dict[str, type[Part]] = {
    "consumer": SourceConsumer,
    "consumer_limits": ConsumerLimits,
    "external": External,
    "mirror": Source,
    "placement": Placement,
    "republish": Republish,
    "sources": Source,
    "subject_transform": SubjectTransform,
    "subject_transforms": SubjectTransform,
}
READERS: dict[str, Callable[[object], object]] = {
    "discard": _any_case,
    "first_seq": _sequence,
    "metadata": _metadata,
    "opt_start_seq": _sequence,
    "opt_start_time": _moment,
    "persist_mode": _default_if_empty,
    "subjects": _texts,
    "tags": _texts,
}
