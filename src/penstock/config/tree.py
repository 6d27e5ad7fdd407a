"""The tree a configuration file becomes: plain values that remember where they stood.

Variables and includes are already resolved. Keys keep their case and their order; a key that is
given again replaces the earlier one and moves to the end, so that "last one wins" holds for
aliases and other spellings of a key too.
"""

from datetime import datetime
from typing import TypeAlias

import msgspec

from penstock.config.problems import Position

Scalar: TypeAlias = str | int | float | bool | datetime


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A value with its position, which for a variable is the place that names it."""

    value: "Scalar | tuple[Node, ...] | Block"
    position: Position
    text: str = ""  # a scalar as it was written, so that 2m and 2000000 can be told apart
    height: int = 0  # of nested blocks and arrays below; bounded, so that walks may recurse

    @property
    def kind(self) -> str:
        return KINDS[type(self.value)]


class Entry(msgspec.Struct, kw_only=True):
    """A key and its value; `used` becomes true when a variable names the key."""

    key: str
    position: Position
    node: Node
    used: bool = False


class Block(msgspec.Struct, frozen=True):
    """The entries between two braces, or of a whole file."""

    entries: dict[str, Entry]

    def assign(self, entry: Entry) -> None:
        self.entries.pop(entry.key, None)
        self.entries[entry.key] = entry


KINDS: dict[type, str] = {
    str: "a string",
    int: "an integer",
    float: "a floating-point number",
    bool: "a boolean",
    datetime: "a date-time",
    tuple: "an array",
    Block: "a block",
}
