"""Durations as text: 2m0s, 1.5s, 100ms."""


def duration_text(duration_ns: int) -> str:
    """As the reference writes a duration into an error or a header."""
    seconds, rest_ns = divmod(duration_ns, 1_000_000_000)
    if not seconds:
        for unit, size in (("ms", 1_000_000), ("µs", 1_000), ("ns", 1)):
            if rest_ns >= size:
                return f"{rest_ns / size:.6f}".rstrip("0").rstrip(".") + unit
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{rest_ns:09d}".rstrip("0") if rest_ns else ""
    longer = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{longer}{seconds}{fraction}s"
