"""Durations as people read them on the pages: Go's text, and the reference's own for uptimes."""

_MICROSECOND_NS = 1_000
_MILLISECOND_NS = 1_000_000
_SECOND_NS = 1_000_000_000
_MINUTE_NS = 60 * _SECOND_NS
_HOUR_NS = 60 * _MINUTE_NS


def duration_text(duration_ns: int) -> str:
    """`1.5ms`, `1m5s`, `2h0m0.25s`: the largest unit leads, no zeros trail."""
    if duration_ns < 0:
        return "-" + duration_text(-duration_ns)
    if duration_ns == 0:
        return "0s"
    if duration_ns < _MICROSECOND_NS:
        return f"{duration_ns}ns"
    if duration_ns < _MILLISECOND_NS:
        return _decimal(duration_ns, 3) + "µs"
    if duration_ns < _SECOND_NS:
        return _decimal(duration_ns, 6) + "ms"
    hours, rest_ns = divmod(duration_ns, _HOUR_NS)
    minutes, seconds_ns = divmod(rest_ns, _MINUTE_NS)
    text = f"{hours}h" if hours else ""
    if hours or minutes:
        text += f"{minutes}m"
    return text + _decimal(seconds_ns, 9) + "s"


def rtt_text(rtt_ns: int) -> str:
    """A round trip; below a millisecond whole microseconds are enough."""
    if _MICROSECOND_NS < rtt_ns < _MILLISECOND_NS:
        rtt_ns -= rtt_ns % _MICROSECOND_NS
    return duration_text(rtt_ns)


def uptime_text(duration_ns: int) -> str:
    """`5s`, `1m5s`, `2d0h0m1s`, `1y0d3h4m5s`: whole seconds, and units up to years."""
    seconds = max(0, duration_ns) // _SECOND_NS
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    years, days = divmod(days, 365)
    parts = ((years, "y"), (days, "d"), (hours, "h"), (minutes, "m"), (seconds, "s"))
    first = next((place for place, (count, _) in enumerate(parts) if count), len(parts) - 1)
    return "".join(f"{count}{unit}" for count, unit in parts[first:])


def _decimal(count: int, places: int) -> str:
    whole, fraction = divmod(count, 10**places)
    return f"{whole}.{fraction:0{places}d}".rstrip("0").rstrip(".")
