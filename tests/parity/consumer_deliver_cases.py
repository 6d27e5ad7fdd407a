"""Scenarios of deliver policies: where a consumer starts, what it takes, and what it counts."""

from typing import Any

from tests.parity.consumer_steps import (
    SECOND,
    Ack,
    Figures,
    Got,
    GotUntil,
    Reached,
    Scenarios,
    Steps,
    consumer,
    consumer_info,
    fetched,
    pull,
    stored,
)
from tests.parity.numbered import Pub
from tests.parity.stream_api_cases import grouped, made, purge, removed, updated

LATER = {"expires": 60 * SECOND}  # beyond the end of any scenario
END: Steps = [pull(99, no_wait=True), GotUntil("404")]  # all that is there

# Twelve messages on t.0, t.1 and t.2 in turn.
CONTENT: Steps = [made(), *stored(12, 3)]

POLICIES: dict[str, dict[str, Any]] = {
    "all": {},
    "last": {"deliver_policy": "last"},
    "new": {"deliver_policy": "new"},
    "from 5": {"deliver_policy": "by_start_sequence", "opt_start_seq": 5},
    "since 5": {"deliver_policy": "by_start_time", "opt_start_time": "<time 5>"},
    "last of each": {"deliver_policy": "last_per_subject"},
}
# The last of each subject needs a filter.
EVERYTHING: dict[str, dict[str, Any]] = {"last of each": {"filter_subject": "t.>"}}
FILTERS: dict[str, dict[str, Any]] = {
    "one subject": {"filter_subject": "t.1"},
    "a wildcard": {"filter_subject": "t.*"},
    "two subjects": {"filter_subjects": ["t.0", "t.2"]},
    "nothing": {"filter_subject": "t.x"},
    "one in a list": {"filter_subjects": ["t.2"]},
    "something and nothing": {"filter_subjects": ["t.x", "t.0"]},
}


def started(content: Steps, policy: str, **config: Any) -> Steps:
    """What is there, then one more on each subject."""
    fields = EVERYTHING.get(policy, {}) | POLICIES[policy] | config
    steps: Steps = [*content, consumer(**fields), *END, Figures(), pull(99, "b", **LATER)]
    for subject in ("t.0", "t.1", "t.2", "t.y", "t.end"):
        steps.append(Pub(subject, b"more"))
        filters = str(fields.get("filter_subject", "")) + str(fields.get("filter_subjects", ""))
        if not filters or "t.*" in filters or "t.>" in filters or subject in filters:
            steps.append(Got(1))
    return [*steps, Figures()]


PLAIN: Scenarios = {policy: started(CONTENT, policy) for policy in POLICIES}

FILTERED: Scenarios = {
    f"{policy}, {name}": (
        started(CONTENT, policy, **filters)
        if "filter_subject" in filters
        else started(CONTENT, policy, filter_subject="", **filters)
    )
    for policy in POLICIES
    for name, filters in FILTERS.items()
}

EMPTY: Scenarios = {
    policy: started([made()], policy) for policy in ("all", "last", "new", "last of each")
}

HOLES: Steps = [
    *CONTENT,
    *(removed(seq=number) for number in (1, 2, 5, 6, 11, 12)),
]
REMOVED: Scenarios = {
    policy: started(HOLES, policy) for policy in POLICIES if "since" not in policy
}

PURGED: Scenarios = {
    policy: started([*CONTENT, purge()], policy) for policy in POLICIES if "since" not in policy
} | {
    f"{policy}, up to 8": started([*CONTENT, purge(seq=8)], policy)
    for policy in POLICIES
    if "since" not in policy
}

STARTS: Scenarios = {
    "first sequence": started(CONTENT, "from 5", opt_start_seq=1),
    "last sequence": started(CONTENT, "from 5", opt_start_seq=12),
    "just past the end": started(CONTENT, "from 5", opt_start_seq=13),
    "far past the end": [
        *CONTENT,
        consumer(deliver_policy="by_start_sequence", opt_start_seq=20),
        Figures(),
        pull(5, "a", **LATER),
        *(Pub("t.a", b"%d" % number) for number in range(13, 20)),
        Pub("t.a", b"20"),
        Got(1, counted=False),
        Figures(),
    ],
    "far past the end, filtered": [
        *CONTENT,
        consumer(deliver_policy="by_start_sequence", opt_start_seq=15, filter_subject="t.1"),
        Figures(),
        pull(5, "a", **LATER),
        Pub("t.1", b"13"),
        Pub("t.1", b"14"),
        Pub("t.0", b"15"),
        Pub("t.1", b"16"),
        Got(1, counted=False),
        Figures(),
    ],
    "before the first": started([*CONTENT, purge(seq=8)], "from 5", opt_start_seq=2),
    "a removed one": started([*CONTENT, removed(seq=5)], "from 5"),
    "filtered between": started(CONTENT, "from 5", opt_start_seq=3, filter_subject="t.1"),
    "long ago": started(CONTENT, "since 5", opt_start_time="2001-01-01T00:00:00Z"),
    "in the future": [
        *CONTENT,
        consumer(deliver_policy="by_start_time", opt_start_time="2101-01-01T00:00:00Z"),
        Figures(),
        pull(5, "a", **LATER),
        Pub("t.a", b"13"),
        Got(1),
        Figures(),
    ],
    "of the last": started(CONTENT, "since 5", opt_start_time="<time 12>"),
    "in an empty stream": [
        made(),
        consumer(deliver_policy="by_start_time", opt_start_time="2001-01-01T00:00:00Z"),
        Figures(),
        consumer("D", deliver_policy="by_start_sequence", opt_start_seq=1),
        Figures("D"),
        consumer("E", deliver_policy="by_start_sequence", opt_start_seq=5),
        Figures("E"),
        pull(9, "c", **LATER),
        pull(9, "d", "D", **LATER),
        pull(9, "e", "E", **LATER),
        Pub("t.a", b"1"),
        Got(2, ordered=False),
    ],
    "in another zone": [
        *CONTENT,
        consumer(deliver_policy="by_start_time", opt_start_time="2001-01-01T05:00:00+05:00"),
        consumer_info(),
    ],
    "with first_seq": started([made(first_seq=100), *stored(3)], "from 5", opt_start_seq=50),
    "all, with first_seq": started([made(first_seq=100), *stored(3)], "all"),
    "all, with first_seq and nothing": started([made(first_seq=100)], "all"),
}

LAST: Scenarios = {
    "then updates of the same": [
        *CONTENT,
        consumer(deliver_policy="last_per_subject", filter_subject="t.>"),
        Figures(),
        pull(1, **LATER),
        Got(1),
        Figures(),
        *stored(3, 3),
        Reached({"pending": 5}),
        *END,
        Figures(),
    ],
    "acknowledged": [
        *CONTENT,
        consumer(deliver_policy="last_per_subject", filter_subject="t.>"),
        *END,
        Ack(10),
        Figures(),
        Ack(12),
        Figures(),
        Ack(11),
        Figures(),
    ],
    "of spread subjects": [
        made(),
        *(Pub(f"t.{kind}", b"x") for kind in "abcbadbbe"),
        consumer(deliver_policy="last_per_subject", filter_subject="t.>"),
        *END,
        Figures(),
    ],
    "of spread subjects, two filters": [
        made(),
        *(Pub(f"t.{kind}", b"x") for kind in "abcbadbbe"),
        consumer(deliver_policy="last_per_subject", filter_subjects=["t.b", "t.d"]),
        *END,
        Figures(),
    ],
    "of spread subjects, before the end": [
        made(),
        *(Pub(f"t.{kind}", b"x") for kind in "abcbaddd"),
        consumer(deliver_policy="last_per_subject", filter_subjects=["t.a", "t.b"]),
        Figures(),
        pull(1, **LATER),
        Got(1),
        Figures(),
        pull(5, "b", **LATER),
        Got(1),
        Figures(),
        Pub("t.a", b"new"),
        Got(1),
        Figures(),
    ],
    "listed, then gone by limits": [
        made(max_msgs=3),
        *(Pub(f"t.{kind}", b"x") for kind in "abc"),
        consumer(deliver_policy="last_per_subject", filter_subject="t.a"),
        *(Pub(f"t.{kind}", b"x") for kind in "aac"),
        Reached({"pending": 2}),
    ],
    "with one for each subject": [
        made(max_msgs_per_subject=1),
        *(Pub(f"t.{kind}", b"x") for kind in "abcbadbbe"),
        consumer(deliver_policy="last_per_subject", filter_subject="t.>"),
        *END,
        Figures(),
    ],
    "last, then removed": [
        *CONTENT,
        consumer(deliver_policy="last"),
        removed(seq=12),
        *END,
        Figures(),
        pull(1, **LATER),
        Pub("t.1", b"13"),
        Got(1),
    ],
    "last of a filter, with others behind": [
        *CONTENT,
        consumer(deliver_policy="last", filter_subject="t.0"),
        Figures(),
        *END,
        Figures(),
    ],
    "last of two filters": [
        *CONTENT,
        consumer(deliver_policy="last", filter_subjects=["t.0", "t.1"]),
        Figures(),
        *END,
        Figures(),
    ],
}

COUNTS: Scenarios = {
    "limits take what was pending": [
        made(max_msgs=5),
        *stored(3),
        consumer(),
        Figures(),
        *stored(5),
        Reached({"pending": 5}),
        *END,
        Figures(),
    ],
    "limits for each subject": [
        made(max_msgs_per_subject=1),
        *stored(3, 3),
        consumer(),
        Figures(),
        Pub("t.1", b"new"),
        Pub("t.z", b"new"),
        Reached({"pending": 4}),
        *END,
        Figures(),
    ],
    "limits for each subject, filtered": [
        made(max_msgs_per_subject=2),
        *stored(3, 3),
        consumer(filter_subjects=["t.0", "t.1"]),
        Figures(),
        *stored(6, 3),
        Reached({"pending": 4}),
        *END,
        Figures(),
    ],
    "limits take what was delivered": [
        made(max_msgs=3),
        *stored(3),
        consumer(),
        *END,
        *stored(2),
        Reached({"ack_pending": 1, "pending": 2}),
        *END,
        Figures(),
        Ack(3),
        Figures(),
    ],
    "max_msgs lowered": [
        *CONTENT,
        consumer(),
        consumer("D", filter_subject="t.1"),
        pull(2, **LATER),
        Got(2),
        updated(max_msgs=4),
        Reached({"pending": 4, "ack_pending": 0}),
        Figures("D"),
        *END,
        Figures(),
    ],
    "purged by subject": [
        *CONTENT,
        consumer("D", filter_subject="t.1"),
        consumer("E", filter_subject="t.2"),
        pull(1, consumer="D", **LATER),
        Got(1),
        pull(2, consumer="E", **LATER),
        Got(2),
        purge(filter="t.1"),
        Figures("D"),
        Figures("E"),
    ],
    "purged but some": [
        *CONTENT,
        consumer(),
        pull(5, **LATER),
        Got(5),
        purge(keep=3),
        Figures(),
        *END,
        Figures(),
    ],
    "purged by subject up to": [
        *CONTENT,
        consumer(filter_subject="t.1"),
        pull(1, **LATER),
        Got(1),
        purge(filter="t.1", seq=8),
        Figures(),
        *END,
        Figures(),
    ],
    **{
        f"one filter of several purged, {text}": [
            made(),
            *stored(12, 2),
            consumer(filter_subjects=["t.0", "t.1"], ack_wait=SECOND),
            *fetched(9),
            purge(filter="t.1", **fields),
            Figures(),
            pull(left, **LATER),
            Got(left, ordered=False, counted=False),
            Figures(),
        ]
        for text, fields, left in (
            ("all", {}, 6),
            ("but two", {"keep": 2}, 8),
            ("up to 8", {"seq": 8}, 9),
        )
    },
    "removed one by one": [
        *CONTENT,
        consumer(),
        consumer("D", filter_subject="t.1"),
        *(
            step
            for number in (1, 2, 12, 7)
            for step in (removed(seq=number), Figures(), Figures("D"))
        ),
    ],
    "headers only counts as usual": [
        *CONTENT,
        consumer(headers_only=True, filter_subject="t.2"),
        *END,
        Figures(),
    ],
}

# What the reference does, and could do otherwise: floors that name two different messages.
QUIRKS: Scenarios = {
    "purged by subject": [
        *CONTENT,
        consumer(),
        consumer("D", filter_subject="t.1"),
        consumer("E", filter_subject="t.2"),
        pull(5, **LATER),
        Got(5),
        purge(filter="t.1"),
        Figures(),
        Figures("D"),
        Figures("E"),
        *END,
        Figures(),
    ],
}

PACED: Scenarios = {
    "original": [*CONTENT, consumer(replay_policy="original"), *END, Figures()],
    "original, then new": [
        made(),
        *stored(2),
        consumer(replay_policy="original", ack_policy="none"),
        pull(3, **LATER),
        Got(2),
        Pub("t.a", b"3"),
        Got(1),
        Figures(),
    ],
    "original, filtered": [
        *CONTENT,
        consumer(replay_policy="original", filter_subject="t.1"),
        *END,
        Figures(),
    ],
}

ALL = grouped(
    {
        "plain": PLAIN,
        "filter": FILTERED,
        "empty": EMPTY,
        "removed": REMOVED,
        "purged": PURGED,
        "start": STARTS,
        "last": LAST,
        "count": COUNTS,
        "paced": PACED,
        "quirk": QUIRKS,
    }
)
