"""Ports for servers that are started again at the same place, or that must know each other's.

Systems give away high ports by themselves: to whoever listens at port 0, and to every connection
that goes out. What a killed server has left there may be another's before it is back. So these are
chosen below, where nobody gets one without asking for it, and at random, for runs side by side.
"""

import random
import socket
from contextlib import ExitStack, closing

from tests.server_process import HOST

FIRST, LAST = 20_000, 32_000  # Linux gives away 32768 and more, others 49152 and more
TRIES_MAX = 1000
_CHANCE = random.SystemRandom()  # the common one begins the same in every process of a test run


def free_ports(count: int) -> list[int]:
    """Different ones, which nobody has now."""
    found: list[int] = []
    with ExitStack() as held:
        for _ in range(TRIES_MAX):
            if len(found) == count:
                return found
            one = held.enter_context(closing(socket.socket()))
            # As servers do it: connections that are over do not stand in the way.
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                one.bind((HOST, _CHANCE.randrange(FIRST, LAST)))
                one.listen()
            except OSError:
                continue
            found.append(one.getsockname()[1])
    raise AssertionError(f"no {count} free ports from {FIRST} to {LAST}")


def free_port() -> int:
    return free_ports(1)[0]
