"""The server's two clocks. Durations are measured on the monotonic one, people read the other."""

import time


def monotonic_ns() -> int:
    return time.monotonic_ns()


def wall_ns() -> int:
    return time.time_ns()
