"""How the JSON of a request is read: as strictly as the reference reads it, and as leniently.

Strict: an unknown field or a wrong type is 10025; a server whose configuration says `strict: false`
lets unknown fields pass, and that is all. Lenient: names in any case, null for "not given" (but not
for the enumerations), null in a list for an empty item. `settled` brings the fields into shape by
hand, guided by what is known so that no input decides how deep it goes; then msgspec checks the
types. What is special about a field stands in a `Reading`.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from penstock.model.api_errors import ApiError, Fault
from penstock.model.timestamps import canonical

UINT64_MAX = 2**64 - 1


class Reading(NamedTuple):
    """How the fields of a kind of request are read, by their names wherever they stand."""

    parts: Mapping[str, type[msgspec.Struct]]  # fields with fields of their own, or lists of such
    readers: Mapping[str, Callable[[object], object]]  # fields that need more than msgspec
    never_null: frozenset[str]  # the enumerations
    empty_is_absent: frozenset[str] = frozenset()


def parse_object(text: str) -> dict[str, object]:
    """A JSON object; nothing and null are an empty one. Raises what msgspec raises."""
    if not text.strip(" \t\r\n"):
        return {}
    return msgspec.json.decode(text, type=dict[str, object] | None) or {}


def settled(
    fields: dict[str, Any], known: frozenset[str], reading: Reading, strict: bool
) -> dict[str, object]:
    """The fields under their own names, without the ones that are null."""
    found: dict[str, object] = {}
    for given, value in fields.items():
        name = given.lower()
        if name not in known:
            if strict:
                raise not_json(f'json: unknown field "{given}"')
        elif name in reading.parts:
            if value is not None:
                found[name] = _parts(value, reading.parts[name], reading, strict)
        elif value is None and name not in reading.never_null:
            continue
        elif value != "" or name not in reading.empty_is_absent:
            found[name] = reading.readers.get(name, _unchanged)(value)
    return found


def _parts(value: object, kind: type[msgspec.Struct], reading: Reading, strict: bool) -> object:
    """A part or a list of them; what is neither is left for msgspec to refuse."""
    known = frozenset(kind.__struct_fields__)
    if isinstance(value, dict):
        return settled(value, known, reading, strict)
    if isinstance(value, list):
        return [
            settled(item or {}, known, reading, strict) if isinstance(item, dict | None) else item
            for item in value
        ]
    return value


def _unchanged(value: object) -> object:
    return value


def read_texts(value: object) -> object:
    if not isinstance(value, list):
        return value
    return ["" if item is None else item for item in value]


def read_metadata(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return {key: "" if item is None else item for key, item in value.items()}


def read_uint64(value: object) -> object:
    if isinstance(value, int) and value > UINT64_MAX:
        raise not_json(f"{value} does not fit 64 bits")
    return value


def read_moment(value: object) -> object:
    if not isinstance(value, str):
        raise not_json("a moment is a string")
    moment = canonical(value)
    if moment is None:
        raise not_json(f'"{value}" is not a moment as RFC 3339 writes it')
    return moment


def not_json(reason: str) -> ApiError:
    return Fault.INVALID_JSON.error(reason=reason)
