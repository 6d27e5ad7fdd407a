"""A hub without sockets, and the walk through its vector that the server's turn does.

`small_hub` has small bounds, so that short examples reach them. `walk` hands every frame that
Python must look at to `on_frame`, sends the rest through the bulk lane, and returns what a server
would have to answer: unanswered requests, and frames for its own parts.
"""

from collections.abc import Callable
from typing import NamedTuple

from penstock.kernel.hub import Frame, Hub

LINE_BYTES_MAX = 64
PAYLOAD_BYTES_MAX = 4000


class Walked(NamedTuple):
    """What is left to do after a walk, in the order it came up."""

    unanswered: list[Frame]
    served: list[tuple[int, Frame]]


FrameHandler = Callable[[int, Frame, Walked], None]


def small_hub(
    *,
    line_bytes_max: int = LINE_BYTES_MAX,
    payload_bytes_max: int = PAYLOAD_BYTES_MAX,
    pending_bytes_max: int = 1 << 26,
    read_bytes_max: int = 1 << 16,
    seed: int = 1,
    accounts: int = 1,
) -> Hub:
    hub = Hub(
        control_line_bytes_max=line_bytes_max,
        payload_bytes_max=payload_bytes_max,
        pending_bytes_max=pending_bytes_max,
        crowded_bytes=1 << 26,
        read_bytes_max=read_bytes_max,
        turn_bytes_max=1 << 26,
        seed=seed,
    )
    for _ in range(accounts):
        hub.add_account()
    return hub


def open_client(
    hub: Hub,
    *,
    account: int = 0,
    bulk: bool = True,
    echo: bool = True,
    headers: bool = True,
    no_responders: bool = False,
) -> int:
    """A client that is through with CONNECT."""
    connection = hub.open(account, False)
    hub.switch(connection, account, bulk, echo, headers, no_responders)
    return connection


def frames_of(hub: Hub) -> list[Frame]:
    """All frames of the vector, looked at one by one and not delivered."""
    found: list[Frame] = []
    position = 0
    while (group := hub.next_group(position)) is not None:
        _, start, position, _ = group
        columns = [hub.frame(index) for index in range(start, position)]
        found += [Frame(*one) for one in columns if one is not None]
    return found


def publish_frame(hub: Hub, index: int, walked: Walked) -> None:
    """The careful lane's way out, as in the server."""
    _bulk(hub, index, index + 1, hub.runs(index, index + 1), walked)


def walk(hub: Hub, on_frame: FrameHandler) -> Walked:
    walked = Walked([], [])
    position = 0
    while (group := hub.next_group(position)) is not None:
        bulk, start, position, runs = group
        if bulk:
            _bulk(hub, start, position, runs, walked)
            continue
        for index in range(start, position):
            columns = hub.frame(index)
            if columns is not None:
                on_frame(index, Frame(*columns), walked)
    return walked


def _bulk(hub: Hub, start: int, end: int, runs: list[tuple[int, int, int]], walked: Walked) -> None:
    while (index := hub.fan_out(start, end)) >= 0:
        columns = hub.frame(index)
        assert columns is not None
        walked.unanswered.append(Frame(*columns))
        start = index + 1
    for target, run_start, run_end in runs:
        for position in range(run_start, run_end):
            picked = hub.picked(position)
            assert picked is not None
            columns = hub.frame(picked)
            assert columns is not None
            walked.served.append((target, Frame(*columns)))
