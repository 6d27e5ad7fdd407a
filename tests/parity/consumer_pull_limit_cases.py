"""Scenarios of pull requests that end without all they asked for, and of what a consumer allows.

A message's size, as `max_bytes` counts it, is its subject, the reply subject of its delivery, its
headers and its payload; the reply subject holds a time of 19 digits, so sizes are determinate:
92 for one with 50 bytes of payload.
"""

from typing import Any

from tests.parity.consumer_steps import (
    MS,
    SECOND,
    Ack,
    Figures,
    Got,
    GotUntil,
    Leave,
    Pull,
    PullAll,
    Reached,
    Scenarios,
    Steps,
    consumer,
    fetched,
    nak,
    pull,
    set_up,
    stored,
)
from tests.parity.numbered import Pub
from tests.parity.stream_api_cases import grouped, made
from tests.parity.streams_peer import Api

EXPIRES: Scenarios = {
    "nothing came": [*set_up(0), pull(5, expires=50 * MS), Got(1), Figures()],
    "some came": [*set_up(2), pull(5, expires=1500 * MS), Got(3), Figures()],
    "nothing came, with max_bytes": [
        *set_up(0),
        pull(5, expires=50 * MS, max_bytes=1000),
        Got(1),
    ],
    "some came, with max_bytes": [
        *set_up(2),
        pull(5, expires=1500 * MS, max_bytes=1000),
        Got(3),
        Figures(),
    ],
    "the shorter first": [
        *set_up(0),
        pull(1, "a", expires=7 * SECOND),
        pull(2, "b", expires=1 * SECOND),
        pull(3, "c", expires=4 * SECOND),
        Got(3),
        Figures(),
    ],
    "all at once": [
        *set_up(0),
        PullAll({name: {"batch": 1, "expires": 100 * MS} for name in "abc"}),
        Got(3, ordered=False),
        Figures(),
    ],
    "very short": [*set_up(0), pull(1, expires=1), Got(1), Figures()],
    "very short, with messages": [*set_up(3), pull(1, expires=-1 * SECOND), Got(1), Figures()],
    "very long": [*set_up(1), pull(1, expires=(1 << 63) - 1), Got(1), Figures()],
    "very long with heartbeats": [
        *set_up(0),
        pull(1, expires=(1 << 63) - 1, idle_heartbeat=(1 << 63) - 1),
        Pub("t.a", b"x"),
        Got(1),
        Figures(),
    ],
    "those after it still get theirs": [
        *set_up(0),
        pull(1, "a", expires=50 * MS),
        pull(1, "b", expires=60 * SECOND),
        Got(1),
        Pub("t.a", b"1"),
        Got(1),
        Figures(),
    ],
    "none at all waits": [
        *set_up(0),
        pull(1, "a"),
        pull(1, "b", expires=50 * MS),
        Got(1),
        Figures(),
        Pub("t.a", b"1"),
        Got(1),
    ],
}

NO_WAIT: Scenarios = {
    "nothing there": [*set_up(0), pull(1, no_wait=True), Got(1), pull(9, no_wait=True), Got(1)],
    "nothing that matches": [*set_up(3, filter_subject="t.x"), pull(1, no_wait=True), Got(1)],
    "enough there": [*set_up(3), pull(3, no_wait=True), Got(3), Figures()],
    "more than there is": [*set_up(3), pull(5, no_wait=True), Got(4), Figures()],
    "with max_bytes": [*set_up(3), pull(5, no_wait=True, max_bytes=1000), Got(4), Figures()],
    "all delivered": [*set_up(2), *fetched(2), pull(1, no_wait=True), Got(1), Figures()],
    "while others wait, and nothing is there": [
        *set_up(0),
        pull(1, "a", expires=60 * SECOND),
        pull(1, "b", no_wait=True),
        Got(1),
        Pub("t.a", b"1"),
        Got(1),
    ],
    "while others wait for acknowledgements": [
        *set_up(5, max_ack_pending=1),
        pull(3, "a", expires=60 * SECOND),
        Got(1),
        pull(1, "b", no_wait=True),
        pull(1, "c", no_wait=True),
        Figures(),
        Ack(1),
        Got(1),
        Ack(2),
        Got(1),
        Ack(3),
        Got(1),
        Figures(),
    ],
    "more of a batch than is pending": [
        *set_up(3, max_ack_pending=1),
        pull(3, "a", expires=60 * SECOND),
        Got(1),
        pull(1, "b", no_wait=True),
        Figures(),
        pull(1, "c", no_wait=True),
        Got(1),
        Figures(),
    ],
    "at max_ack_pending": [
        *set_up(4, max_ack_pending=2),
        pull(4, "a", no_wait=True),
        Got(2),
        Figures(),
        Ack(1),
        Got(1),
        Ack(2),
        Ack(3),
        Got(1),
        Figures(),
    ],
    "redeliveries count as there": [
        *set_up(1),
        *fetched(1),
        nak(1),
        pull(1, no_wait=True),
        Got(1),
        Figures(),
    ],
    "with expires, nothing there": [
        *set_up(0),
        pull(1, no_wait=True, expires=100 * MS),
        Got(1),
        Figures(),
    ],
    "with expires, some there": [
        *set_up(2),
        pull(5, no_wait=True, expires=60 * SECOND),
        Got(3),
        Figures(),
    ],
    "with expires, some come": [
        *set_up(0),
        pull(5, no_wait=True, expires=60 * SECOND),
        Figures(),
        Pub("t.a", b"1"),
        Got(2),
        Figures(),
    ],
    "with expires and max_bytes": [
        *set_up(2),
        pull(5, no_wait=True, expires=60 * SECOND, max_bytes=1000),
        Got(3),
        pull(5, no_wait=True, expires=50 * MS, max_bytes=1000),
        Got(1),
    ],
    "with expires and heartbeat": [
        *set_up(0),
        pull(1, no_wait=True, expires=2 * SECOND, idle_heartbeat=100 * MS),
        GotUntil("408"),
        Figures(),
    ],
    "two, with expires": [
        *set_up(0),
        pull(2, "a", no_wait=True, expires=60 * SECOND),
        pull(2, "b", no_wait=True, expires=60 * SECOND),
        Figures(),
        Pub("t.a", b"1"),
        Got(2),
        Figures(),
        Pub("t.a", b"2"),
        Got(2),
        Figures(),
    ],
}

SIZED = [made(), *(Pub("t.a", b"x" * size) for size in (50, 50, 50, 500, 50)), consumer()]

MAX_BYTES: Scenarios = {
    "smaller than one": [*SIZED, pull(1, max_bytes=10), Got(1), Figures()],
    "smaller than the second": [*SIZED, pull(5, max_bytes=100), Got(2), Figures()],
    "just one": [*SIZED, pull(5, max_bytes=92), Got(1), Figures(), pull(4, "b"), Got(4)],
    "one less than that": [*SIZED, pull(5, max_bytes=91), Got(1), Figures()],
    "exactly two": [*SIZED, pull(5, max_bytes=92 * 2), Got(2), Figures()],
    "batch of one, exactly": [*SIZED, pull(1, max_bytes=92), Got(1), Figures()],
    "batch of one, with room": [*SIZED, pull(1, max_bytes=1000), Got(2), Figures()],
    "batch of two, with room": [*SIZED, pull(2, max_bytes=1000), Got(3), Figures()],
    "batch of two, with room, no_wait": [
        *SIZED,
        pull(2, max_bytes=1000, no_wait=True),
        Got(3),
        Figures(),
    ],
    "the next request gets what did not fit": [
        *SIZED,
        *fetched(3),
        pull(1, "a", max_bytes=100),
        Got(1),
        pull(1, "b", max_bytes=1000),
        Got(2),
        Figures(),
    ],
    "several waiting, only one fits": [
        *SIZED[:1],
        consumer(),
        pull(1, "a", max_bytes=100),
        pull(1, "b", max_bytes=1000),
        pull(1, "c"),
        Pub("t.a", b"x" * 500),
        Got(3),
        Figures(),
    ],
    "negative": [*SIZED, pull(1, max_bytes=-5), Got(1), Figures()],
    "a redelivery that does not fit": [
        *SIZED,
        *fetched(4),
        nak(4),
        pull(1, "a", max_bytes=100),
        Got(1),
        Figures(),
        pull(1, "b"),
        Got(1),
        Figures(),
    ],
}


def limited(*steps: Any, **config: Any) -> Steps:
    return [*set_up(5, **config), *steps, Figures()]


LIMITS: Scenarios = {
    "max_waiting": [
        *set_up(0, max_waiting=2),
        pull(1, "a"),
        pull(1, "b"),
        pull(1, "c"),
        Got(1),
        pull(1, "d", no_wait=True),
        Got(1),
        pull(1, "e", expires=60 * SECOND, idle_heartbeat=SECOND),
        Figures(),
        Pub("t.a", b"1"),
        Got(1),
        pull(1, "f"),
        Figures(),
    ],
    "max_waiting, with one that left": [
        *set_up(0, max_waiting=2),
        pull(1, "a"),
        pull(1, "b"),
        Leave("P.a"),
        Reached({"waiting": 1}),
        pull(1, "c"),
        Figures(),
        Pub("t.a", b"1"),
        Got(1),
        Pub("t.a", b"2"),
        Got(1),
        Figures(),
    ],
    "max_waiting, with messages": [
        *set_up(5, max_waiting=1),
        pull(1, "a"),
        Got(1),
        pull(1, "b"),
        Got(1),
        Figures(),
    ],
    "max_waiting, one expired": [
        *set_up(0, max_waiting=1),
        pull(1, "a", expires=50 * MS),
        Got(1),
        pull(1, "b"),
        Figures(),
    ],
    "max_batch": limited(
        pull(3, "a"),
        Got(1),
        Pull("3", "a"),
        Got(1),
        pull(3, "a", no_wait=True),
        Got(1),
        pull(2, "a"),
        Got(2),
        Pull(b"", "a"),
        Got(1),
        max_batch=2,
    ),
    "max_expires": limited(
        pull(1, expires=60 * SECOND),
        Got(1),
        pull(1, expires=2 * SECOND + 100 * MS, no_wait=True),
        Got(1),
        pull(1, expires=2 * SECOND),
        Got(1),
        pull(1),
        Got(1),
        max_expires=2 * SECOND,
    ),
    "max_expires written out": [
        made(),
        *(
            step
            for number, duration in enumerate(
                (MS, 1500 * MS, 90 * SECOND, 3600 * SECOND, 3661 * SECOND, 1_500_500_000)
            )
            for step in (
                consumer(f"c{number}", max_expires=duration),
                pull(1, consumer=f"c{number}", expires=100 * 3600 * SECOND),
                Got(1),
            )
        ),
    ],
    "max_bytes": limited(
        pull(1, max_bytes=501),
        Got(1),
        pull(1, max_bytes=500),
        Got(2),
        pull(1),
        Got(1),
        max_bytes=500,
    ),
    "all exceeded at once": limited(
        pull(3, expires=60 * SECOND, max_bytes=501),
        Got(1),
        pull(2, expires=60 * SECOND, max_bytes=501),
        Got(1),
        pull(2, expires=SECOND, max_bytes=501),
        Got(1),
        pull(2, expires=SECOND, max_bytes=501, min_pending=1, id="x", priority=11),
        Got(1),
        pull(2, expires=SECOND, max_bytes=500, min_pending=1, id="x", priority=11),
        Got(1),
        pull(2, expires=SECOND, max_bytes=500, id="x", priority=11),
        Got(1),
        pull(2, expires=SECOND, max_bytes=500, priority=11),
        Got(1),
        pull(2, expires=2 * SECOND, max_bytes=500, priority=9, group="g"),
        Got(3),
        max_batch=2,
        max_expires=2 * SECOND,
        max_bytes=500,
    ),
}

STALLED: Scenarios = {
    "a waiting request at max_ack_pending": [
        *set_up(5, max_ack_pending=2),
        pull(5, expires=60 * SECOND),
        Got(2),
        Figures(),
        Ack(1),
        Got(1),
        Ack(3),
        Got(1),
        Figures(),
    ],
    "expiring at max_ack_pending": [
        *set_up(5, max_ack_pending=2),
        pull(5, expires=1500 * MS),
        Got(3),
        pull(5, expires=100 * MS),
        Got(1),
        Figures(),
    ],
    "heartbeats at max_ack_pending": [
        *set_up(5, max_ack_pending=2),
        pull(5, expires=2 * SECOND, idle_heartbeat=150 * MS),
        GotUntil("408"),
        Figures(),
    ],
    "redeliveries go past max_ack_pending": [
        *set_up(5, max_ack_pending=2),
        *fetched(2),
        pull(3, expires=60 * SECOND),
        Figures(),
        nak(1),
        Got(1),
        nak(2),
        Got(1),
        Figures(),
        Ack(1),
        Got(1),
        Figures(),
    ],
    "purged": [
        *set_up(5, max_ack_pending=2),
        pull(5, expires=60 * SECOND),
        Got(2),
        Api("STREAM.PURGE.T"),
        *stored(1),
        Got(1),
        *stored(1),
        Got(1),
        Figures(),
    ],
}

# What the reference does, and could do otherwise: it says that -1 messages are left.
QUIRKS: Scenarios = {
    "max_bytes without a batch": [*SIZED, Pull({"max_bytes": 1000}), Got(2), Figures()],
}

ALL = grouped(
    {
        "quirk": QUIRKS,
        "expires": EXPIRES,
        "no_wait": NO_WAIT,
        "max_bytes": MAX_BYTES,
        "limits": LIMITS,
        "stalled": STALLED,
    }
)
