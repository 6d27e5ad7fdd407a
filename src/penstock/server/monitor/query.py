"""The parameters of a page, read as strictly as the reference reads them.

A name that is given twice counts the first time. What cannot be read is a `QueryError` in the
reference's words, which name the Go function that refused: scripts may look for them.
"""

import json
import re
from urllib.parse import parse_qsl

_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
_SIGNED = re.compile(r"[+-]?[0-9]+")
_UNSIGNED = re.compile(r"[0-9]+")
_DIGITS_MAX = 20  # of a 64-bit number; more is not worth converting


class QueryError(ValueError):
    """A parameter that makes no sense; the text is the answer."""


class Query:
    """Parameters by name; one that is missing or empty has the value zero of its type."""

    def __init__(self, text: bytes) -> None:
        self._values: dict[str, str] = {}
        for name, value in parse_qsl(text.decode("latin-1"), keep_blank_values=True):
            self._values.setdefault(name, value)

    def text(self, name: str) -> str:
        return self._values.get(name, "")

    def boolean(self, name: str) -> bool:
        text = self.text(name)
        if not text:
            return False
        if text not in _BOOLEANS:
            raise _refused(name, "boolean", "ParseBool", text, "invalid syntax")
        return _BOOLEANS[text]

    def integer(self, name: str) -> int:
        return self._number(name, "int", "Atoi", _SIGNED, range(-(1 << 63), 1 << 63))

    def unsigned(self, name: str) -> int:
        return self._number(name, "uint64", "ParseUint", _UNSIGNED, range(1 << 64))

    def _number(
        self, name: str, kind: str, function: str, syntax: re.Pattern[str], allowed: range
    ) -> int:
        text = self.text(name)
        if not text:
            return 0
        if not syntax.fullmatch(text):
            raise _refused(name, kind, function, text, "invalid syntax")
        digits = text.lstrip("+-").lstrip("0")
        value = int(text) if len(digits) <= _DIGITS_MAX else allowed.stop
        if value not in allowed:
            raise _refused(name, kind, function, text, "value out of range")
        return value


def _refused(name: str, kind: str, function: str, text: str, why: str) -> QueryError:
    quoted = json.dumps(text, ensure_ascii=False)
    return QueryError(
        f"Error decoding {kind} for '{name}': strconv.{function}: parsing {quoted}: {why}"
    )
