"""Go's duration text, because configuration files and clients write it: 2s, 1h30m, 1.5s, -1m.

Durations are whole nanoseconds. Fractions are computed with integers: 0.1s is exactly 100000000.
"""

import re

NS_MAX = 2**63 - 1
UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, the micro sign
    "μs": 1_000,  # U+03BC, the Greek letter: Go takes both
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
PART = re.compile(r"(?P<whole>[0-9]{0,19})(?:\.(?P<fraction>[0-9]{0,19}))?(?P<unit>[a-zµμ]+)")
EXAMPLE = 'a duration such as "2s", "500ms" or "1h30m"'


def duration_ns(text: str) -> int | None:
    """Nanoseconds, or None if `text` is not a duration that fits into 64 bits."""
    digits = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
    if digits == "0":
        return 0
    total_ns = 0
    offset = 0
    while offset < len(digits) or offset == 0:
        match = PART.match(digits, offset)
        if match is None or match["unit"] not in UNITS_NS:
            return None
        whole, fraction = match["whole"], match["fraction"] or ""
        if not whole and not fraction:
            return None
        unit_ns = UNITS_NS[match["unit"]]
        total_ns += int(whole or "0") * unit_ns
        total_ns += int(fraction or "0") * unit_ns // 10 ** len(fraction)
        offset = match.end()
        if total_ns > NS_MAX:
            return None
    return -total_ns if text.startswith("-") else total_ns
