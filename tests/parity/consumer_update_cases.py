"""Consumers that are created again, updated, or have to fit beside others.

A case is a list of steps. The settings of `MIX` are combined at random. `OURS` are answered
otherwise by penstock, on purpose, and give both answers.
"""

import itertools
from typing import NamedTuple

from tests.parity.consumer_config_cases import (
    DAY_2024,
    DAY_2044,
    EXPLICIT,
    PUSH,
    SECOND,
    Case,
    Config,
    Step,
    acting,
    create,
    durable,
    pedantic,
    raw,
    raw_config,
    request,
    steps,
)

TWICE: list[Case] = [
    [acting("create", durable_name="C"), acting("create", durable_name="C")],
    [acting("create", durable_name="C"), acting("create", durable_name="C", description="x")],
    [acting("create", durable_name="C"), acting("create", durable_name="C", max_waiting=512)],
    [acting("create", durable_name="C"), acting("create", durable_name="C", max_waiting=5)],
    [acting("create", durable_name="C"), acting("create")],
    [acting("create", durable_name="C", metadata={"a": "b"}), acting("create", durable_name="C")],
    [
        acting("create", durable_name="C", pause_until=DAY_2044),
        acting("create", durable_name="C"),
        acting("create", durable_name="C", pause_until=DAY_2024),
    ],
    [
        acting("create", durable_name="C", pause_until="2044-01-01T00:00:00+02:00"),
        acting("create", durable_name="C", priority_timeout=-5),
    ],
    [acting("create", durable_name="C"), acting("create", durable_name="C", priority_timeout=-5)],
    [acting("create", durable_name="C", priority_timeout=-5), acting("create", durable_name="C")],
    [acting("create"), acting("create")],
    [acting("create"), acting("create", inactive_threshold=5 * SECOND)],
    [
        acting("create", inactive_threshold=70 * SECOND),
        acting("create", inactive_threshold=70 * SECOND),
    ],
    [acting("create"), acting("")],
    [acting("create"), acting("update")],
    [acting("update")],
    [acting("update", ack_wait=-1)],
    [acting("update", durable_name="C")],
    [acting("update", stream="W", ack_policy="all")],
    [create(), acting("update", description="x"), acting("create", description="x")],
    [create(), acting("create", ack_wait=-1)],
    [create(), acting("create", deliver_policy="new")],
    [durable(), Step("CONSUMER.DURABLE.CREATE.T.C", request({"durable_name": "C"}, "T", "create"))],
    [durable(), Step("CONSUMER.CREATE.T", request({"name": "C"}, "T", "create"))],
    [durable(), Step("CONSUMER.CREATE.T", request({"name": "C"}))],
    [Step("CONSUMER.CREATE.T", request({"name": "C"})), create(), durable()],
    [create(), durable(), durable(), durable(inactive_threshold=70 * SECOND), durable(), create()],
    [durable(), create(), create(), create(inactive_threshold=70 * SECOND), create(), durable()],
    [durable(stream="L"), create(stream="L"), durable(stream="L")],
    [durable(stream="N"), create(stream="N"), durable(stream="N"), create(stream="N")],
    [create(stream="N"), durable(stream="N"), create(stream="N")],
    [
        create(pause_until="2044-01-01T00:00:00+02:00"),
        create(pause_until=DAY_2024),
        create(),
        acting("update", pause_until="2045-01-01T00:00:00Z"),
    ],
    [create(pause_until="0001-01-01T05:00:00+05:00"), create()],
    # max_consumers
    [create("A", "TWO"), create("B", "TWO"), create("C", "TWO"), create("A", "TWO")],
    [
        create("A", "TWO"),
        create("B", "TWO"),
        Step("CONSUMER.CREATE.TWO", request({}, "TWO")),
        acting("update", "C", "TWO"),
        create("C", "TWO", ack_wait=-1),
        create("x" * 256, "TWO", durable_name="x" * 256),
        create("B", "TWO", description="x"),
    ],
    [
        create("A", "WONE", **EXPLICIT),
        create("B", "WONE", ack_policy="all"),
        create("B", "WONE", deliver_policy="new", **EXPLICIT),
        create("B", "WONE", **EXPLICIT),
        create("x" * 256, "WONE", durable_name="x" * 256, **EXPLICIT),
    ],
    # Work queues
    [
        create("A", "W", filter_subject="w.a", **EXPLICIT),
        create("B", "W", filter_subject="w.b", **EXPLICIT),
        create("C", "W", **EXPLICIT),
        create("C", "W", filter_subject="w.a", **EXPLICIT),
        create("C", "W", filter_subject="w.*", **EXPLICIT),
        create("C", "W", filter_subject="*.a", **EXPLICIT),
        create("C", "W", filter_subject=">", **EXPLICIT),
        create("C", "W", filter_subjects=["w.c", "w.a"], **EXPLICIT),
        create("C", "W", filter_subjects=["w.c", "w.d"], **EXPLICIT),
        create("B", "W", filter_subject="w.d", **EXPLICIT),
        create("B", "W", filter_subject="w.*", **EXPLICIT),
        create("B", "W", filter_subject="w.e", **EXPLICIT),
        create("B", "W", filter_subject="w.d", ack_policy="all"),
        create("B", "W", filter_subject="w.f", deliver_policy="new", **EXPLICIT),
        acting("create", "B", "W", filter_subject="w.a", **EXPLICIT),
    ],
    [
        create("A", "W", **EXPLICIT),
        create("B", "W", **EXPLICIT),
        create("B", "W", filter_subject="w.b", **EXPLICIT),
        create("A", "W", filter_subject="w.a", **EXPLICIT),
        create("B", "W", filter_subject="w.b", **EXPLICIT),
    ],
    [create("A", "W", **EXPLICIT), create("A", "W", description="x", **EXPLICIT)],
    [create("A", "W", filter_subject="w.a", **EXPLICIT), create("A", "W", **EXPLICIT)],
    [
        create("A", "W", filter_subject="w.a", **EXPLICIT),
        create("B", "W", filter_subject="w.b", ack_policy="all"),
        create("B", "W", filter_subject="w.a", ack_policy="none", **PUSH),
        create("B", "W", filter_subject="w.a", deliver_policy="last", **EXPLICIT),
        create("B", "W", deliver_policy="last", **EXPLICIT),
    ],
    # A refused update leaves the consumer as it was: the next one shows it.
    [
        durable(description="first", filter_subject="t.x"),
        durable(description="second", ack_policy="all"),
        durable(description="third", deliver_policy="new"),
        acting("create", durable_name="C", description="first", filter_subject="t.x"),
    ],
]

UPDATES: list[Case] = [
    *(steps({}, change, {}) for change in ({"description": "x"}, {"metadata": {"a": "b"}})),
    *(
        steps(EXPLICIT, EXPLICIT | change, EXPLICIT)
        for change in (
            {"ack_wait": 5},
            {"ack_wait": -5},
            {"max_deliver": 5},
            {"max_deliver": -5},
            {"backoff": [3, 4]},
            {"backoff": [3, 4], "max_deliver": 1},
            {"backoff": [3, 4], "max_deliver": 2},
            {"filter_subject": "t.x"},
            {"filter_subject": "zzz"},
            {"filter_subjects": ["t.x", "t.y"]},
            {"filter_subjects": ["t.x", "t.*"]},
            {"max_ack_pending": 5},
            {"max_ack_pending": -1},
            {"max_batch": 5, "max_expires": SECOND, "max_bytes": 5},
            {"max_expires": 5},
            {"sample_freq": "50%"},
            {"sample_freq": "x"},
            {"headers_only": True},
            {"inactive_threshold": 60 * SECOND},
            {"inactive_threshold": -5},
            {"num_replicas": 1},
            {"num_replicas": 3},
            {"rate_limit_bps": 5},
            {"mem_storage": True},
            {"max_waiting": 5},
            {"max_waiting": 512},
            {"max_waiting": -5},
            {"replay_policy": "original"},
            {"ack_policy": "none"},
            {"ack_policy": "all"},
            {"deliver_policy": "new"},
            {"deliver_policy": "last_per_subject", "filter_subject": "t.x"},
            {"deliver_policy": "by_start_sequence", "opt_start_seq": 5},
            {"deliver_subject": "d"},
            {"deliver_subject": "t.x"},
            {"deliver_group": "g"},
            {"idle_heartbeat": SECOND},
            {"priority_policy": "overflow", "priority_groups": ["a"]},
            {"priority_policy": "pinned_client", "priority_groups": ["b"], "priority_timeout": 5},
            {"priority_policy": "overflow"},
            {"pause_until": DAY_2044},
            {"durable_name": "C"},
            {"name": "D"},
        )
    ),
    *(
        steps(PUSH, PUSH | change, PUSH)
        for change in (
            {"deliver_subject": "e"},
            {"deliver_subject": ""},
            {"deliver_subject": "e.*"},
            {"deliver_group": "g"},
            {"idle_heartbeat": SECOND},
            {"flow_control": True},
            {"flow_control": True, "idle_heartbeat": SECOND},
            {"rate_limit_bps": 5},
            {"max_waiting": 5},
            {"max_ack_pending": 5},
            {"max_ack_pending": -1},
            {"headers_only": True, "max_batch": 5, "max_expires": 5},
            {"priority_policy": "overflow", "priority_groups": ["a"]},
        )
    ),
    steps(
        PUSH | {"flow_control": True, "idle_heartbeat": SECOND},
        PUSH | {"flow_control": True, "idle_heartbeat": 2 * SECOND},
        PUSH | {"idle_heartbeat": SECOND},
        PUSH,
    ),
    steps(
        {"deliver_policy": "by_start_sequence", "opt_start_seq": 5},
        {"deliver_policy": "by_start_sequence", "opt_start_seq": 6},
        {"deliver_policy": "by_start_sequence"},
        {"deliver_policy": "by_start_time", "opt_start_time": DAY_2024},
        {},
    ),
    steps(
        {"deliver_policy": "by_start_time", "opt_start_time": DAY_2024},
        {"deliver_policy": "by_start_time", "opt_start_time": "2024-01-01T00:00:00.1Z"},
        {"deliver_policy": "by_start_time", "opt_start_time": "2024-01-01T02:00:00+02:00"},
        {"deliver_policy": "by_start_time", "opt_start_time": "2024-01-01T02:00:00Z"},
        {"deliver_policy": "by_start_time", "opt_start_time": DAY_2024},
        {"opt_start_time": DAY_2024},
    ),
    steps({"mem_storage": True}, {"mem_storage": False}, {"mem_storage": True}),
    steps({"max_waiting": 7}, {"max_waiting": 8}, {"max_waiting": 7, "description": "x"}, {}),
    steps({"backoff": [3, 4]}, {"backoff": [4, 5]}, {"ack_wait": 9}, {"ack_wait": 9, **EXPLICIT}),
    # Which of two objections wins
    steps(EXPLICIT, {"deliver_policy": "new", "mem_storage": True}),
    steps(EXPLICIT, {"ack_policy": "all", "mem_storage": True}),
    steps(EXPLICIT, {"ack_policy": "all", "replay_policy": "original"}),
    steps(
        {"deliver_policy": "by_start_sequence", "opt_start_seq": 5},
        {"deliver_policy": "by_start_sequence", "opt_start_seq": 6, "mem_storage": True},
        {"deliver_policy": "by_start_sequence", "opt_start_seq": 6, "ack_policy": "all"},
    ),
    steps(
        {"deliver_policy": "by_start_time", "opt_start_time": DAY_2024},
        {"deliver_policy": "by_start_time", "opt_start_time": DAY_2044, "ack_policy": "all"},
        {"deliver_policy": "by_start_time", "opt_start_time": DAY_2044, "mem_storage": True},
    ),
    steps(EXPLICIT, {"replay_policy": "original", "max_waiting": 5, **EXPLICIT}),
    steps(EXPLICIT, {"max_waiting": 5, "deliver_policy": "last", "opt_start_seq": 5}),
    steps(PUSH, {"deliver_subject": "", "idle_heartbeat": SECOND}),
    steps(PUSH, {"max_waiting": 5}),
    steps({}, PUSH | {"idle_heartbeat": SECOND}),
    steps({}, PUSH | {"deliver_policy": "new"}),
]

# Settings to be combined: most are refused, or forbid another, or are refused in pedantic mode.
MIX: list[Config] = [
    {"durable_name": "C"},
    {"durable_name": "D"},
    {"name": "D"},
    {"description": "x" * 4097},
    {"description": "x"},
    {"metadata": {"a": "x" * 128 * 1024}},
    {"deliver_policy": "last"},
    {"deliver_policy": "new"},
    {"deliver_policy": "by_start_sequence"},
    {"deliver_policy": "by_start_time"},
    {"deliver_policy": "last_per_subject"},
    {"opt_start_seq": 5},
    {"opt_start_time": DAY_2024},
    {"ack_policy": "explicit"},
    {"ack_policy": "all"},
    {"ack_wait": -1},
    {"ack_wait": 5},
    {"max_deliver": -5},
    {"max_deliver": 1},
    {"backoff": [5, 6]},
    {"backoff": [5, -6]},
    {"filter_subject": "t.x"},
    {"filter_subject": "a..b"},
    {"filter_subjects": ["t.x", "t.*"]},
    {"filter_subjects": ["t.x", "t.y"]},
    {"filter_subjects": [""]},
    {"replay_policy": "original"},
    {"rate_limit_bps": 5},
    {"sample_freq": "50%"},
    {"sample_freq": "x"},
    {"max_waiting": 5},
    {"max_waiting": -5},
    {"max_ack_pending": 5},
    {"max_ack_pending": 51},
    {"max_ack_pending": -5},
    {"flow_control": True},
    {"headers_only": True},
    {"max_batch": 5},
    {"max_batch": -5},
    {"max_expires": 5},
    {"max_expires": -5},
    {"max_bytes": -5},
    {"deliver_subject": "d"},
    {"deliver_subject": "d"},
    {"deliver_subject": "d.*"},
    {"deliver_subject": "d..e"},
    {"deliver_subject": "t.x"},
    {"deliver_group": "g"},
    {"idle_heartbeat": 5},
    {"idle_heartbeat": SECOND},
    {"idle_heartbeat": -5},
    {"inactive_threshold": 60 * SECOND},
    {"inactive_threshold": 100 * SECOND},
    {"inactive_threshold": -5},
    {"num_replicas": -1},
    {"num_replicas": 1},
    {"num_replicas": 3},
    {"mem_storage": True},
    {"pause_until": DAY_2044},
    {"priority_groups": ["a"]},
    {"priority_groups": ["a b"]},
    {"priority_policy": "overflow"},
    {"priority_policy": "pinned_client"},
    {"priority_timeout": 5},
    {"priority_timeout": -5},
]
BEGINNINGS: list[Config] = [
    {},
    {"durable_name": "C", "ack_policy": "explicit"},
    {"ack_policy": "explicit", "filter_subject": "t.x", "max_waiting": 5},
    {"deliver_subject": "d"},
    {"deliver_subject": "d", "flow_control": True, "idle_heartbeat": SECOND},
    {"deliver_policy": "by_start_sequence", "opt_start_seq": 5, "mem_storage": True},
    {"priority_policy": "pinned_client", "priority_groups": ["a"]},
]


class Different(NamedTuple):
    """A case with an answer of our own: err_code, or 0 if it is accepted."""

    why: str
    case: Case
    reference: int
    ours: int


OURS: list[Different] = [
    Different("N: ack policy", [create(ack_policy="flow_control", **PUSH)], 0, 10052),
    Different("N: direct", [create(direct=True, **PUSH)], 0, 10052),
    Different("N: sourcing", [create(sourcing=True)], 0, 10052),
    Different("names are short, of ephemerals too", [create("x" * 256)], 0, 10102),
    Different(
        "spec: no message of a work queue has two consumers",
        [
            create("A", "W", filter_subject="w.a", **EXPLICIT),
            create("B", "W", filter_subject="w.b", **EXPLICIT),
            create("A", "W", **EXPLICIT),
        ],
        0,
        10099,
    ),
    Different(
        "an empty list is no list",
        [acting("create", durable_name="C"), acting("create", durable_name="C", backoff=[])],
        10148,
        0,
    ),
    Different(
        "one moment, two ways to write it",
        [
            acting(
                "create",
                durable_name="C",
                deliver_policy="by_start_time",
                opt_start_time="2024-01-01T00:00:00+00:00",
            ),
            acting(
                "create", durable_name="C", deliver_policy="by_start_time", opt_start_time=DAY_2024
            ),
        ],
        10148,
        0,
    ),
    Different(
        "no request keeps the others waiting",
        [
            create(
                filter_subjects=[
                    ".".join((*tokens, str(number)))
                    for number, tokens in enumerate(itertools.product("a*", repeat=11))
                ]
            )
        ],
        0,
        10052,
    ),
    Different(
        "one request, one object",
        [raw('{"stream_name":"T"}{"config":{"description":"x"}}')],
        0,
        10025,
    ),
    Different(
        "half a surrogate pair is no text", [raw_config('{"description":"\\ud800"}')], 0, 10025
    ),
]

# On a server with `max_ack_pending: 70, max_request_batch: 20`, that is not strict, in an account
# with `max_ack_pending: 60, max_consumers: 2`.
LIMITED: list[Case] = [
    [create()],
    [create(**EXPLICIT)],
    [create(**EXPLICIT, **PUSH)],
    [create(stream="L", **EXPLICIT)],
    [create(stream="L", max_ack_pending=51, **EXPLICIT)],
    [create(stream="N", **EXPLICIT)],
    [create(max_ack_pending=60)],
    [create(max_ack_pending=61)],
    [create(max_ack_pending=71)],
    [create(max_ack_pending=-1)],
    [create(max_batch=20)],
    [create(max_batch=21)],
    [create(max_batch=21, max_ack_pending=71)],
    [create(max_batch=21, max_expires=5)],
    [create(max_batch=21, **PUSH)],
    [create(max_batch=-1)],
    [pedantic()],
    [pedantic(**PUSH)],
    [pedantic(max_batch=5)],
    [pedantic(max_batch=21)],
    [pedantic(stream="L")],
    [pedantic(stream="L", max_ack_pending=5)],
    [pedantic(stream="L", max_ack_pending=5, inactive_threshold=70 * SECOND)],
    [create(), create(max_batch=5), create(max_batch=21), create(max_ack_pending=61), create()],
    [create("A"), create("B"), create("C"), create("A", description="x")],
    [create("A", "TWO"), create("B", "TWO"), create("C", "TWO")],
    [create("A"), create("B"), create("A", "I"), acting("update", "C"), create("C", ack_wait=-1)],
    [create(foo=1)],
    [create(foo=1, max_deliver="5")],
    [raw('{"stream_name":"T","bar":1,"config":{"foo":[[1]],"description":"x"}}')],
    [raw('{"stream_name":"T","config":{"ack_policy":"x"}}')],
]
