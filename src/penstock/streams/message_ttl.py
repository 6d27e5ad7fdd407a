"""`Nats-TTL` as publishers write it: whole seconds, a Go duration of at least one, or `never`."""

import re
from fractions import Fraction

NEVER = -1
_UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)"
_DURATION = re.compile(rf"\+?(?:{_PART})+")
_LENGTH_MAX = 64  # no duration that fits 64 bits needs more
_NS_MAX = 2**63 - 1
_SECOND_NS = 1_000_000_000


def parse_ttl(value: bytes) -> int | None:
    """Seconds, `NEVER`, 0 for none (ADR-43), or None if it is no TTL."""
    text = value.decode(errors="replace")
    if text.lower() == "never":
        return NEVER
    if len(text) > _LENGTH_MAX:
        return None
    if value.isdigit():
        seconds = int(value)
        return seconds if seconds * _SECOND_NS <= _NS_MAX else None
    if _DURATION.fullmatch(text) is None:
        return None
    parts = re.findall(_PART, text)
    total_ns = sum(Fraction("0" + number.rstrip(".")) * _UNITS_NS[unit] for number, unit in parts)
    if total_ns == 0:
        return 0
    return int(total_ns // _SECOND_NS) if _SECOND_NS <= total_ns <= _NS_MAX else None
