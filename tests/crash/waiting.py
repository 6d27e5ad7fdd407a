"""Waiting for what is to happen, however slow the machine is: a limit is there for what never does.

No test takes a fixed time for an event. On a busy machine a second may hold nothing.
"""

import time
from collections.abc import Callable

SECONDS_MAX = 60.0
LOOK_SECONDS = 0.01


def wait_until(
    is_so: Callable[[], bool], told: Callable[[], object], seconds_max: float = SECONDS_MAX
) -> None:
    """`told` is what an assertion says of how things are."""
    deadline = time.monotonic() + seconds_max
    while not is_so():
        assert time.monotonic() < deadline, f"after {seconds_max} s: {told()}"
        time.sleep(LOOK_SECONDS)
