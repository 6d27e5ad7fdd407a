"""The server's two clocks. Durations are measured on the monotonic one, people read the other."""

import time


def monotonic_ns() -> int:
    return time.monotonic_ns()


def wall_ns() -> int:
    return time.time_ns()


class SteadyClock:
    """The wall clock as it was at the start, from there on at the pace of the monotonic one.

    Durations can be measured on it, and its times still mean something after a restart.
    """

    def __init__(self) -> None:
        self._offset_ns = wall_ns() - monotonic_ns()

    def now_ns(self) -> int:
        return self._offset_ns + monotonic_ns()
