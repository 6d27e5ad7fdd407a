"""The server's two clocks. Durations are measured on the monotonic one, people read the other."""

import time
from datetime import UTC, datetime


def monotonic_ns() -> int:
    return time.monotonic_ns()


def wall_ns() -> int:
    return time.time_ns()


def rfc3339(wall_time_ns: int) -> str:
    """A time as JSON of the reference has it: nanoseconds, UTC."""
    seconds, nanoseconds = divmod(wall_time_ns, 1_000_000_000)
    moment = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f".{nanoseconds:09d}".rstrip("0").rstrip(".")
    return f"{moment}{fraction}Z"
