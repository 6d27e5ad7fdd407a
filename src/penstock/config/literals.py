"""One scalar token to its value: numbers with units, quoted text with escapes, date-times.

The units and escapes are those of the reference: a bare letter is decimal (1k = 1000), with b or
i it is binary (1kb = 1ki = 1kib = 1024). Where the reference silently wraps or drops a value (an
integer above 64 bits, the unit `kbb`), it is an error here.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime

from lark import Token

from penstock.config.bounds import INTEGER_DIGITS_MAX, INTEGER_MAX
from penstock.config.problems import config_error, cut
from penstock.config.syntax import position_of
from penstock.config.tree import Scalar

UNIT_LETTERS = "kmgtpe"
UNITS = {"": 1} | {
    letter + suffix: (1000 if suffix == "" else 1024) ** power
    for power, letter in enumerate(UNIT_LETTERS, start=1)
    for suffix in ("", "b", "i", "ib")
}
NUMBER = re.compile(r"(-?)([0-9]+)([a-z]*)", re.IGNORECASE)

ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|(.))", re.DOTALL)
ESCAPES = {"t": b"\t", "n": b"\n", "r": b"\r", '"': b'"', "\\": b"\\"}
ESCAPES_WORDS = r"only \xXX, \t, \n, \r, \" and \\ are escapes; use single quotes for plain text"

TRUE_WORDS = frozenset({"true", "yes", "on"})


class LiteralError(ValueError):
    """What is wrong with the text of one scalar; the caller knows where it stands."""


def scalar(token: Token, file: str) -> Scalar:
    """The value that `token` writes."""
    try:
        return READERS[token.type](str(token))
    except LiteralError as error:
        raise config_error(position_of(token, file), str(error)) from None


def integer(text: str) -> int:
    match = NUMBER.fullmatch(text)
    assert match is not None
    sign, digits, unit = match.groups()
    digits = digits.lstrip("0") or "0"
    multiplier = UNITS.get(unit.lower())
    if multiplier is None:
        units = "k, kb, kib, m, mb, mib, g, gb, gib and so on"
        raise LiteralError(f"unknown unit {cut(unit)!r}: units are {units}")
    value = int(digits) * multiplier if len(digits) <= INTEGER_DIGITS_MAX else INTEGER_MAX + 1
    if value > INTEGER_MAX:
        raise LiteralError("the integer does not fit into 64 bits")
    return -value if sign else value


def date_time(text: str) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise LiteralError(f"{text!r} is not a date-time such as 2026-01-31T23:59:59Z") from None


def boolean(text: str) -> bool:
    return text.lower() in TRUE_WORDS


def inner(text: str) -> str:
    """The text between the two quotes or parentheses, as it stands."""
    return text[1:-1]


def unescape(text: str) -> str:
    """Escapes write bytes, so the whole must be UTF-8 after them, not before."""
    if "\\" not in text:
        return text
    parts: list[bytes] = []
    end = 0
    for match in ESCAPE.finditer(text):
        parts.append(text[end : match.start()].encode(errors="surrogateescape"))
        hexadecimal, letter = match.groups()
        if hexadecimal is not None:
            parts.append(bytes.fromhex(hexadecimal))
        elif letter in ESCAPES:
            parts.append(ESCAPES[letter])
        else:
            raise LiteralError(f"{match.group()!r} is not an escape: {ESCAPES_WORDS}")
        end = match.end()
    parts.append(text[end:].encode(errors="surrogateescape"))
    try:
        return b"".join(parts).decode()
    except UnicodeDecodeError:
        raise LiteralError("with its escapes the text is not UTF-8") from None


def double_quoted(text: str) -> str:
    return unescape(inner(text))


READERS: dict[str, Callable[[str], Scalar]] = {
    "INTEGER": integer,
    "FLOAT": float,
    "DATETIME": date_time,
    "BOOLEAN": boolean,
    "DOUBLE_QUOTED": double_quoted,
    "SINGLE_QUOTED": inner,
    "TEXT_BLOCK": inner,
    "WORD": unescape,
    "ELEMENT": unescape,
}
