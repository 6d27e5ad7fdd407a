"""Scenarios of priority groups: overflow, a pinned client, and priorities.

The name of a pin is the server's; `<pin>` in a request is the one that was seen last.
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
    Missing,
    Pull,
    Reached,
    Scenarios,
    Steps,
    advisories,
    consumer,
    consumer_deleted,
    consumer_info,
    nak,
    pull,
    set_up,
    stored,
)
from tests.parity.numbered import Pub
from tests.parity.stream_api_cases import BAD_BODIES, LEVEL, grouped, made
from tests.parity.streams_peer import Api, Listen, Quiet

LATER = {"expires": 60 * SECOND}  # beyond the end of any scenario
GROUP = {"group": "g"}


def grouped_up(count: int, policy: str, **config: Any) -> Steps:
    return set_up(count, priority_groups=["g"], priority_policy=policy, **config)


def overflow(batch: int = 1, to: str = "a", **fields: Any) -> Pull:
    return pull(batch, to, **{**GROUP, **LATER, **fields})


def unpinned(body: Any = None, name: str = "C", stream: str = "T") -> Api:
    return Api(f"CONSUMER.UNPIN.{stream}.{name}", {"group": "g"} if body is None else body)


REQUESTS: Scenarios = {
    policy: [
        *grouped_up(3, policy),
        consumer_info(),
        pull(1),
        Got(1),
        pull(1, group="x"),
        Got(1),
        pull(1, group=""),
        Got(1),
        pull(1, group="g", priority=10),
        Got(1),
        pull(1, group="g", priority=-1),
        Got(1),
        Pull(b"", "plain"),
        Got(1),
        Pull("1", "plain"),
        Got(1),
        Figures(),
    ]
    for policy in ("overflow", "prioritized")
} | {
    "pinned_client": [
        *grouped_up(3, "pinned_client", priority_timeout=10 * SECOND),
        consumer_info(),
        pull(1),
        Got(1),
        pull(1, group="x"),
        Got(1),
        pull(1, group="g", min_pending=1),
        Got(1),
        pull(1, group="g", min_ack_pending=1),
        Got(1),
        pull(1, group="g", priority=10),
        Got(1),
        Figures(),
    ],
    "none": [
        *set_up(3),
        pull(1, group="g"),
        Got(1),
        pull(1, group="g", priority=3),
        Got(1),
        pull(1, group="g", id="x"),
        Got(1),
        pull(1, group="g", min_pending=1),
        Got(1),
        pull(1, min_ack_pending=1),
        Got(1),
        Figures(),
    ],
    "with ids and minimums where they do not belong": [
        *grouped_up(3, "overflow"),
        pull(1, group="g", id="x"),
        Got(1),
        consumer("P", priority_groups=["g"], priority_policy="prioritized"),
        pull(1, consumer="P", group="g", id="x"),
        Got(1),
        pull(1, consumer="P", group="g", min_pending=1),
        Got(1),
    ],
}

OVERFLOW: Scenarios = {
    "enough pending": [*grouped_up(5, "overflow"), overflow(2, min_pending=4), Got(2), Figures()],
    "not enough pending": [
        *grouped_up(3, "overflow"),
        overflow(1, min_pending=5),
        Figures(),
        Pub("t.a", b"4"),
        Pub("t.a", b"5"),
        Got(1),
        Figures(),
    ],
    "until too few are pending": [
        *grouped_up(5, "overflow"),
        overflow(5, min_pending=4),
        Got(2),
        Figures(),
    ],
    "enough not acknowledged": [
        *grouped_up(5, "overflow"),
        overflow(2, "a"),
        Got(2),
        overflow(1, "b", min_ack_pending=2),
        Got(1),
        overflow(1, "c", min_ack_pending=4),
        Figures(),
        overflow(1, "a"),
        Got(2),
        Figures(),
    ],
    "either will do": [
        *grouped_up(4, "overflow"),
        overflow(1, "a", min_pending=4, min_ack_pending=1),
        Got(1),
        overflow(1, "a", min_pending=4, min_ack_pending=1),
        Got(1),
        Ack(1),
        Ack(2),
        overflow(1, "a", min_pending=4, min_ack_pending=1),
        Figures(),
    ],
    "others first": [
        *grouped_up(0, "overflow"),
        overflow(5, "a", min_pending=100),
        overflow(2, "b"),
        Pub("t.a", b"1"),
        Got(1),
        Pub("t.a", b"2"),
        Got(1),
        Pub("t.a", b"3"),
        Reached({"pending": 1}),
        Figures(),
    ],
    "expires": [
        *grouped_up(2, "overflow"),
        overflow(1, min_pending=5, expires=100 * MS),
        Got(1),
        Figures(),
    ],
    "no_wait": [
        *grouped_up(2, "overflow"),
        pull(1, group="g", min_pending=5, no_wait=True),
        Got(1),
        Figures(),
    ],
    "negative": [*grouped_up(2, "overflow"), overflow(1, min_pending=-1), Got(1), Figures()],
    "redeliveries": [
        *grouped_up(1, "overflow"),
        overflow(1, "a"),
        Got(1),
        overflow(1, "b", min_pending=1),
        overflow(1, "c", min_ack_pending=1),
        nak(1),
        Got(1),
        Figures(),
    ],
}

PINS: Scenarios = {
    "the first is pinned": [
        advisories("PINNED.>"),
        *grouped_up(4, "pinned_client", priority_timeout=30 * SECOND),
        overflow(2, "a"),
        Got(3),
        consumer_info(),
        overflow(1, "b"),
        Figures(),
        overflow(1, "a", id="<pin>"),
        Got(1),
        Figures(),
        overflow(1, "c", id="nonsense"),
        Got(1),
        Figures(),
    ],
    "with headers and payload": [
        made(),
        Pub("t.a", b"x", {"A": "b"}),
        Pub("t.a", b""),
        consumer(priority_groups=["g"], priority_policy="pinned_client", headers_only=True),
        overflow(2),
        Got(2),
    ],
    "a pin that never was": [
        *grouped_up(2, "pinned_client", priority_timeout=30 * SECOND),
        overflow(1, id="nonsense"),
        Got(1),
        Figures(),
        overflow(1),
        Got(1),
    ],
    "wakes nobody else": [
        *grouped_up(0, "pinned_client", priority_timeout=30 * SECOND),
        overflow(2, "a"),
        overflow(2, "b"),
        Pub("t.a", b"1"),
        Got(1),
        Pub("t.a", b"2"),
        Got(1),
        Pub("t.a", b"3"),
        Reached({"pending": 1}),
        overflow(1, "a", id="<pin>"),
        Got(1),
        Figures(),
    ],
    "without a timeout given": [
        *grouped_up(1, "pinned_client"),
        consumer_info(),
        overflow(),
        Got(1),
    ],
    "ends after a time": [
        advisories("*.T.C"),
        *grouped_up(4, "pinned_client", priority_timeout=4 * SECOND),
        Got(1),
        overflow(1, "a"),
        Got(2),
        overflow(1, "b"),
        Got(3),
        Figures(),
    ],
    "kept by requests": [
        *grouped_up(17, "pinned_client", priority_timeout=4 * SECOND),
        overflow(1, "a"),
        Got(1),
        *(step for _ in range(15) for step in (Quiet(), overflow(1, "a", id="<pin>"), Got(1))),
        Figures(),
    ],
    "an old pin after the end": [
        advisories("UNPINNED.>"),
        *grouped_up(4, "pinned_client", priority_timeout=4 * SECOND),
        overflow(1, "a"),
        Got(2),
        overflow(1, "a", id="<pin>"),
        Got(1),
        overflow(1, "a"),
        Got(1),
        consumer_info(),
    ],
    "waiting with the pin when it ends": [
        advisories("UNPINNED.>"),
        *grouped_up(1, "pinned_client", priority_timeout=4 * SECOND),
        overflow(1, "a"),
        Got(1),
        overflow(1, "a", id="<pin>"),
        Got(1),
        Figures(),
        Pub("t.a", b"2"),
        Got(1),
        Figures(),
    ],
    "too large a message": [
        *grouped_up(2, "pinned_client", priority_timeout=30 * SECOND),
        overflow(1, "a", max_bytes=10),
        Got(1),
        consumer_info(),
        overflow(1, "b"),
        Got(1),
    ],
    "redelivered to the pinned": [
        *grouped_up(2, "pinned_client", priority_timeout=30 * SECOND),
        overflow(1, "a"),
        Got(1),
        overflow(1, "b"),
        nak(1),
        overflow(1, "a", id="<pin>"),
        Got(1),
        Figures(),
    ],
    "the pinned goes": [
        *grouped_up(0, "pinned_client", priority_timeout=300 * MS),
        overflow(2, "a"),
        Pub("t.a", b"1"),
        Got(1),
        overflow(1, "b"),
        Leave("P.a"),
        Pub("t.a", b"2"),
        Got(1),
        Figures(),
    ],
    "expires and heartbeats of others": [
        *grouped_up(2, "pinned_client", priority_timeout=30 * SECOND),
        overflow(1, "a"),
        Got(1),
        overflow(1, "b", expires=2 * SECOND, idle_heartbeat=100 * MS),
        GotUntil("408"),
        Figures(),
    ],
}

UNPIN: Scenarios = {
    "by request": [
        *grouped_up(3, "pinned_client", priority_timeout=30 * SECOND),
        overflow(1, "a"),
        Got(1),
        advisories("UNPINNED.>"),
        unpinned(),
        Got(1),
        consumer_info(),
        overflow(1, "b"),
        Got(1),
        Figures(),
    ],
    "wakes those who wait": [
        *grouped_up(3, "pinned_client", priority_timeout=30 * SECOND),
        overflow(1, "a"),
        Got(1),
        overflow(1, "b"),
        Figures(),
        unpinned(),
        Got(1),
        Figures(),
    ],
    "the old pin is refused": [
        *grouped_up(3, "pinned_client", priority_timeout=30 * SECOND),
        overflow(1, "a"),
        Got(1),
        overflow(1, "w", id="<pin>", expires=60 * SECOND),
        Got(1),
        unpinned(),
        overflow(1, "a", id="<pin>"),
        Got(1),
        overflow(1, "b"),
        Got(1),
    ],
    "when none is pinned": [
        advisories("UNPINNED.>"),
        *grouped_up(1, "pinned_client"),
        unpinned(),
        Quiet(),
    ],
    "errors": [
        *grouped_up(1, "pinned_client"),
        consumer("D"),
        *(unpinned(body) for body in BAD_BODIES),
        unpinned(""),
        unpinned({"group": ""}),
        unpinned({"group": "x"}),
        unpinned({"group": "bad name"}),
        unpinned({"group": "x" * 17}),
        unpinned(name="D"),
        unpinned(name="X"),
        unpinned(stream="X"),
        Api("CONSUMER.UNPIN.T.C", "{}", headers={LEVEL: "9"}),
    ],
    "of another policy": [*grouped_up(1, "overflow"), unpinned()],
}

PRIORITIES: Scenarios = {
    "the most important first": [
        *grouped_up(0, "prioritized"),
        overflow(1, "low", priority=9),
        overflow(1, "high", priority=0),
        overflow(1, "middle", priority=5),
        Figures(),
        *(step for number in range(3) for step in (Pub("t.a", b"%d" % number), Got(1))),
        Figures(),
    ],
    "a batch is served to its end": [
        *grouped_up(0, "prioritized"),
        overflow(2, "low", priority=2),
        overflow(3, "high", priority=1),
        *(step for number in range(5) for step in (Pub("t.a", b"%d" % number), Got(1))),
        Figures(),
    ],
    "equals in turn": [
        *grouped_up(0, "prioritized"),
        overflow(2, "a", priority=1),
        overflow(2, "b", priority=1),
        overflow(1, "c"),
        *(step for number in range(5) for step in (Pub("t.a", b"%d" % number), Got(1))),
        Figures(),
    ],
    "one that comes later": [
        *grouped_up(0, "prioritized"),
        overflow(3, "low", priority=5),
        Pub("t.a", b"1"),
        Got(1),
        overflow(1, "high", priority=1),
        Pub("t.a", b"2"),
        Got(1),
        Pub("t.a", b"3"),
        Got(1),
        Figures(),
    ],
    "the first goes": [
        *grouped_up(0, "prioritized"),
        overflow(1, "low", priority=5),
        overflow(1, "high", priority=1),
        Leave("P.high"),
        Pub("t.a", b"1"),
        Got(1),
        Figures(),
    ],
    "max_waiting": [
        *grouped_up(0, "prioritized", max_waiting=1),
        overflow(1, "low", priority=5),
        overflow(1, "high", priority=1),
        Got(1),
        Figures(),
    ],
    "deleted": [
        *grouped_up(0, "prioritized"),
        overflow(1, "low", priority=5),
        overflow(1, "high", priority=1),
        consumer_deleted(),
        Got(2),
    ],
}

CHANGED: Scenarios = {
    "to other groups": [
        *grouped_up(2, "overflow"),
        consumer(priority_groups=["h"], priority_policy="overflow"),
        overflow(1),
        Got(1),
        overflow(1, group="h"),
        Got(1),
        consumer_info(),
    ],
    "from none": [
        *set_up(2),
        consumer(priority_groups=["g"], priority_policy="pinned_client"),
        overflow(1),
        Got(1),
        consumer_info(),
    ],
    "from pinned to none": [
        *grouped_up(3, "pinned_client", priority_timeout=30 * SECOND),
        overflow(1, "a"),
        Got(1),
        consumer(),
        consumer_info(),
    ],
    "ephemeral of inactive clients": [
        made(),
        *stored(1),
        Listen("never"),
        consumer(
            priority_groups=["g"], priority_policy="pinned_client", inactive_threshold=10 * MS
        ),
        Missing(),
    ],
}

ALL = grouped(
    {
        "request": REQUESTS,
        "overflow": OVERFLOW,
        "pin": PINS,
        "unpin": UNPIN,
        "priority": PRIORITIES,
        "change": CHANGED,
    }
)
