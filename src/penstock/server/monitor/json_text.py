"""JSON as the reference prints it: two spaces for each level.

A page with a long list is put together from parts, because encoding tens of thousands of rows in
one go would stall the server: `RowList` encodes a few rows at a time and never touches them again.
"""

from collections.abc import Sequence

import msgspec

ROWS_ENCODED_MAX = 256  # in one go; well below a millisecond

_ENCODER = msgspec.json.Encoder()


def indented(value: msgspec.Struct) -> bytes:
    return msgspec.json.format(_ENCODER.encode(value), indent=2)


class RowList:
    """The rows of a page, encoded as they come."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._waiting: list[msgspec.Struct] = []
        self._encoded = 0

    def __len__(self) -> int:
        return self._encoded + len(self._waiting)

    def add(self, row: msgspec.Struct) -> None:
        self._waiting.append(row)
        if len(self._waiting) >= ROWS_ENCODED_MAX:
            self._encode()

    def under(self, name: str, head: msgspec.Struct) -> bytes:
        """The whole page: the fields of `head`, then the rows as a list called `name`."""
        self._encode()
        opened = indented(head).removesuffix(b"\n}") + b',\n  "%b": [' % name.encode()
        if not self._parts:
            return opened + b"]\n}"
        between = (part for row in self._parts for part in (b",\n", row))
        next(between)  # no comma before the first
        return b"".join((opened, b"\n", *between, b"\n  ]\n}"))

    def _encode(self) -> None:
        if self._waiting:
            self._parts.append(_deeper(self._waiting))
            self._encoded += len(self._waiting)
            self._waiting = []


def _deeper(rows: Sequence[msgspec.Struct]) -> bytes:
    """The rows without the brackets around them, one level deeper than they would stand alone."""
    text = msgspec.json.format(_ENCODER.encode(rows), indent=2)
    bare = text.removeprefix(b"[\n").removesuffix(b"\n]")
    # A line break inside a string is escaped, so every raw one begins a line of the layout.
    return b"  " + bare.replace(b"\n", b"\n  ")
