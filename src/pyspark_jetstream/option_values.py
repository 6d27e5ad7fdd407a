"""The values of options: texts in, numbers, names and places out, or an `OptionError`.

Words follow Spark's Kafka source: offsets are `earliest`, `latest` or JSON for each stream, where
-2 stands for earliest and -1 for latest; times are milliseconds since 1970.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from penstock.kernel.hub import is_valid_pattern

EARLIEST = -2
LATEST = -1
SEQUENCE_MAX = (1 << 62) - 1
_DIGITS_MAX = 100

_DURATION = re.compile(r"(\d+) *(ms|s|m|h|d)?")
_MILLISECONDS_MAX = (1 << 63) // 1_000_000  # servers count nanoseconds in 64 bits: year 2262
_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, None: 1}
_STREAM = re.compile(r"[^\s.*>/\\]+")

Options = Mapping[str, str]


class OptionError(ValueError):
    """An option is not what it may be."""

    def __init__(self, name: str, value: str | None, allowed: str) -> None:
        problem = "" if value is None else f"{value!r} cannot be; allowed: "
        super().__init__(f"option {name}: {problem}{allowed}")


@dataclass(frozen=True)
class Place:
    """A place in streams: earliest, latest, sequences (of each stream), sequence (of all), time."""

    kind: str
    sequences: tuple[tuple[str, int], ...] = ()
    sequence: int = 0
    time_ns: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.sequences)


def words(options: Options, name: str, default: str) -> tuple[str, ...]:
    """Several, with commas between."""
    found = tuple(word.strip() for word in options.get(name, default).split(",") if word.strip())
    if not found:
        raise OptionError(name, options[name], "at least one, commas between several")
    return found


def streams(options: Options, name: str) -> tuple[str, ...]:
    names = words(options, name, "")
    for stream in names:
        if not _STREAM.fullmatch(stream):
            raise OptionError(name, stream, "names of streams: no blanks, dots or wildcards")
    return tuple(dict.fromkeys(names))


def subjects(options: Options, name: str) -> tuple[str, ...]:
    if name not in options:
        return ()
    patterns = words(options, name, "")
    for pattern in patterns:
        if not is_valid_pattern(pattern.encode()):
            raise OptionError(name, pattern, "subjects such as orders.eu, orders.*.new, orders.>")
    return () if ">" in patterns else tuple(dict.fromkeys(patterns))


def flag(options: Options, name: str, *, default: bool) -> bool:
    value = options.get(name, str(default)).lower()
    if value not in ("true", "false"):
        raise OptionError(name, options[name], "true, false")
    return value == "true"


def choice(options: Options, name: str, allowed: tuple[str, ...]) -> str:
    """The first is the default."""
    value = options.get(name, allowed[0]).lower()
    if value not in allowed:
        raise OptionError(name, options[name], ", ".join(allowed))
    return value


def at_least(options: Options, name: str, least: int, *, default: int) -> int:
    if name not in options:
        return default
    number = _whole(options[name])
    if number is None or not least <= number <= SEQUENCE_MAX:
        raise OptionError(name, options[name], f"a whole number from {least} on")
    return number


def _whole(text: str) -> int | None:
    """A number that is not longer than any that can be meant."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX else None


def duration_ms(options: Options, name: str, *, default: str) -> int:
    value = options.get(name, default)
    match = _DURATION.fullmatch(value.strip())
    if match is None or len(match[1]) > _DIGITS_MAX:
        raise OptionError(name, value, "a time such as 500ms, 30s, 15m, 1h")
    return int(match[1]) * _MILLISECONDS[match[2]]


def time_ns(options: Options, name: str) -> int | None:
    if name not in options:
        return None
    value = options[name].strip()
    allowed = "milliseconds since 1970, or a time such as 2026-01-31T12:00:00Z"
    if value.isascii() and value.isdigit():
        milliseconds = _whole(value)
        if milliseconds is None or milliseconds > _MILLISECONDS_MAX:  # it has micro- or nanoseconds
            raise OptionError(name, options[name], allowed)
        return milliseconds * 1_000_000
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise OptionError(name, options[name], allowed) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    whole = int(moment.replace(microsecond=0).timestamp())
    return whole * 1_000_000_000 + moment.microsecond * 1000


def offsets(options: Options, name: str, default: str) -> Place:
    value = options.get(name, default).strip()
    if value.lower() in ("earliest", "latest"):
        return Place(value.lower())
    allowed = 'earliest, latest, or JSON such as {"ORDERS": 17}'
    try:
        told = json.loads(value)
    except ValueError:
        raise OptionError(name, value, allowed) from None
    if not isinstance(told, dict) or not told:
        raise OptionError(name, value, allowed)
    for sequence in told.values():
        is_number = isinstance(sequence, int) and not isinstance(sequence, bool)
        if not is_number or not (sequence in (EARLIEST, LATEST) or 0 < sequence <= SEQUENCE_MAX):
            allowed = "sequences from 1 on, -2 for earliest, -1 for latest"
            raise OptionError(name, str(sequence), allowed)
    return Place("sequences", sequences=tuple(sorted(told.items())))
