"""Requests that create consumers: how they are written down, read and named.

A step is a subject (without `$JS.API.`) and a payload: a dict is sent as JSON, text as it is. Most
are a configuration for the consumer C of the stream T. The streams of `STREAMS` exist. The rules of
configurations stand in consumer_rule_cases, updates in consumer_update_cases.
"""

from typing import Any, NamedTuple

Body = dict[str, Any] | str
Config = dict[str, Any]


class Step(NamedTuple):
    """One request."""

    subject: str
    body: Body


Case = list[Step]

SECOND = 1_000_000_000
MS = 1_000_000
DAY_2024 = "2024-01-01T00:00:00Z"
DAY_2044 = "2044-01-01T00:00:00Z"

STREAMS: list[dict[str, Any]] = [
    {"name": "T", "subjects": ["t.>"], "storage": "memory"},
    {"name": "W", "subjects": ["w.>"], "storage": "memory", "retention": "workqueue"},
    {"name": "I", "subjects": ["i.>"], "storage": "memory", "retention": "interest"},
    {
        "name": "L",
        "subjects": ["l"],
        "storage": "memory",
        "consumer_limits": {"inactive_threshold": 90 * SECOND, "max_ack_pending": 50},
    },
    {
        "name": "N",  # limits that are none
        "subjects": ["n"],
        "storage": "memory",
        "consumer_limits": {"inactive_threshold": -5, "max_ack_pending": -3},
    },
    {"name": "TWO", "subjects": ["two"], "storage": "memory", "max_consumers": 2},
    {
        "name": "WONE",
        "subjects": ["wone"],
        "storage": "memory",
        "retention": "workqueue",
        "max_consumers": 1,
    },
    {"name": "BARE", "storage": "memory"},  # its own name is its subject
]


def request(
    config: Config | None, stream: str = "T", action: str | None = None, pedantic: bool = False
) -> dict[str, Any]:
    """The body of a create."""
    fields: dict[str, Any] = {"stream_name": stream, "config": config}
    if action is not None:
        fields["action"] = action
    return fields | ({"pedantic": True} if pedantic else {})


def create(consumer: str = "C", stream: str = "T", **config: Any) -> Step:
    return Step(f"CONSUMER.CREATE.{stream}.{consumer}", request(config, stream))


def pedantic(consumer: str = "C", stream: str = "T", **config: Any) -> Step:
    return Step(f"CONSUMER.CREATE.{stream}.{consumer}", request(config, stream, pedantic=True))


def acting(action: str, consumer: str = "C", stream: str = "T", **config: Any) -> Step:
    return Step(f"CONSUMER.CREATE.{stream}.{consumer}", request(config, stream, action))


def durable(consumer: str = "C", stream: str = "T", **config: Any) -> Step:
    return create(consumer, stream, durable_name=consumer, **config)


def steps(*configs: Config) -> Case:
    """The same consumer again and again."""
    return [create(**config) for config in configs]


def raw(body: str) -> Step:
    return Step("CONSUMER.CREATE.T.C", body)


def raw_config(config: str) -> Step:
    return raw('{"stream_name":"T","config":' + config + "}")


PUSH = {"deliver_subject": "d"}
EXPLICIT = {"ack_policy": "explicit"}

# How requests are read

WELL_FORMED: list[Step] = [
    raw('{"stream_name":"T"}'),
    raw('{"stream_name":"T","config":null}'),
    raw('{"stream_name":"T","config":{},"action":"","pedantic":false}'),
    raw('{"stream_name":"T","config":{},"pedantic":null}'),
    raw(' {"STREAM_NAME":"T","Config":{"Max_Deliver":5,"ACK_policy":"all"},"Action":"create"} \n'),
    raw_config('{"max_deliver":7,"MAX_DELIVER":5}'),
    raw_config('{"max_deliver":-0}'),
    create(max_deliver=None, filter_subjects=None, backoff=None, metadata=None, description=None),
    create(opt_start_time=None, pause_until=None, priority_groups=None, priority_timeout=None),
    create(metadata={"a": None}),
    create(metadata={"_nats.req.level": "9", "_nats.ver": "x", "_nats.level": "1", "a": "b"}),
    create(backoff=[None, 5], max_deliver=3),
    create(backoff=[]),
    create(filter_subjects=[]),
    create(priority_groups=[]),
    create(deliver_policy="undefined"),
    create(description="é\u0000\u2028<&>"),
    create(description="default"),
    create(description="none"),
    create(opt_start_seq=2**64 - 1, deliver_policy="by_start_sequence"),
    create(rate_limit_bps=2**64 - 1, deliver_subject="d"),
    create(
        ack_wait=2**63 - 1,
        max_deliver=2**63 - 1,
        max_waiting=2**63 - 1,
        max_batch=2**63 - 1,
        max_expires=2**63 - 1,
        max_bytes=2**63 - 1,
        inactive_threshold=2**63 - 1,
    ),
    *(
        create(opt_start_time=moment, deliver_policy="by_start_time")
        for moment in (
            DAY_2024,
            "2024-01-01T00:00:00.1000Z",
            "2024-01-01T00:00:00.1234567891Z",
            "2024-01-01T00:00:00+02:00",
            "2024-01-01T00:00:00-00:00",
            "0001-01-01T00:00:00Z",
            "9999-12-31T23:59:59.999999999Z",
        )
    ),
    *(
        create(pause_until=moment)
        for moment in (
            DAY_2024,
            DAY_2044,
            "2044-01-01T00:00:00.500+02:00",
            "0001-01-01T00:00:00Z",
            "0001-01-01T02:00:00+02:00",
            "9999-12-31T23:59:59-01:00",
        )
    ),
    create(direct=False, sourcing=False),
]

MALFORMED: list[Step] = [
    raw("{"),
    raw("[]"),
    raw("5"),
    raw('"x"'),
    raw("[" * 20_000),
    raw_config("[]"),
    raw_config('"x"'),
    raw_config("5"),
    raw_config("[" * 20_000 + "]" * 20_000),
    raw('{"stream_name":"T","config":{}}x'),
    raw('{"stream_name":"T","config":{},}'),
    raw_config('{"max_deliver":01}'),
    raw_config('{"max_deliver":NaN}'),
    raw_config('{"max_deliver":1.0}'),
    raw_config('{"max_deliver":1e3}'),
    raw_config('{"max_deliver":99999999999999999999}'),
    raw_config('{"max_deliver":' + "9" * 6000 + "}"),
    raw_config('{"description":"a\nb"}'),
    raw('\ufeff{"stream_name":"T"}'),
    raw('{"stream_name":"T","foo":1}'),
    raw('{"stream_name":5}'),
    raw('{"stream_name":"T","pedantic":1}'),
    raw('{"stream_name":"T","action":"x"}'),
    raw('{"stream_name":"T","action":"CREATE"}'),
    raw('{"stream_name":"T","action":null}'),
    raw('{"stream_name":"T","action":5}'),
    create(foo=1),
    create(foo=None),
    create(config={}),
    create(max_deliver="5"),
    create(max_deliver=True),
    create(ack_wait="30s"),
    create(ack_wait=2**63),
    create(opt_start_seq=-1),
    create(opt_start_seq=2**64),
    create(rate_limit_bps=-1),
    create(rate_limit_bps=2**64),
    create(filter_subject=5),
    create(filter_subjects="a"),
    create(filter_subjects=[1]),
    create(backoff=5),
    create(backoff=["1s"]),
    create(backoff=[2**63]),
    create(metadata=[]),
    create(metadata={"a": 1}),
    create(headers_only="true"),
    create(flow_control=1),
    create(durable_name=5),
    create(priority_groups="a"),
    create(priority_groups=[None, 5]),
    *(
        create(**{policy: value})
        for policy in ("deliver_policy", "ack_policy", "replay_policy", "priority_policy")
        for value in (None, "", "x", 5, "ALL", "None", " none")
    ),
    *(
        create(**{name: value})
        for name in ("opt_start_time", "pause_until")
        for value in (
            "",
            "2024-01-01",
            "2024-02-30T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01t00:00:00z",
            5,
        )
    ),
]

# Subjects and names

NAMING: list[Step] = [
    Step("CONSUMER.CREATE.T", ""),
    Step("CONSUMER.CREATE.T", "null"),
    Step("CONSUMER.CREATE.T", request({})),
    Step("CONSUMER.CREATE.T", request({"name": "C"})),
    Step("CONSUMER.CREATE.T", request({"name": "C", "description": "x"})),
    Step("CONSUMER.CREATE.T", request({"name": "C", "durable_name": "C"})),
    Step("CONSUMER.CREATE.T", request({"durable_name": "C"})),
    Step("CONSUMER.CREATE.T", request({"durable_name": "a/b"})),
    Step("CONSUMER.CREATE.T", request({"name": "a/b", "durable_name": "C"})),
    *(
        Step("CONSUMER.CREATE.T", request({"name": name}))
        for name in ("a/b", "a\\b", "a.b", "a b", "*", ">", "a*b", "a>b", "a\tb", "é", "$x")
    ),
    Step("CONSUMER.CREATE.T", request({"name": "a.b", "num_replicas": -1})),
    Step("CONSUMER.CREATE.T", request({}, "U")),
    Step("CONSUMER.CREATE.T", request({"durable_name": "a/b"}, "U")),
    Step("CONSUMER.CREATE.U", request({}, "U")),
    Step("CONSUMER.CREATE.U", request({"num_replicas": 3}, "U")),
    Step("CONSUMER.CREATE.U", request({"name": "a/b"}, "U")),
    Step("CONSUMER.CREATE.U", request({"name": "a.b"}, "U")),
    Step("CONSUMER.CREATE.U.C", request({"durable_name": "D"}, "U")),
    Step("CONSUMER.CREATE.U.C", request({"max_deliver": -5}, "U", pedantic=True)),
    Step("CONSUMER.CREATE.U.C", request({}, "U", "update")),
    Step("CONSUMER.CREATE.U.C", request({}, "T")),
    create("C"),
    create("C", name="D"),
    create("C", durable_name="C"),
    create("C", durable_name="C", name="D"),
    create("C", durable_name="D"),
    create("C", durable_name="a/b"),
    create("a/b"),
    create("a\\b"),
    create("a/b", durable_name="C"),
    create("*"),
    create(">"),
    create("a*b"),
    create("é"),
    create("x" * 255),
    create("x" * 255, durable_name="x" * 255),
    create("x" * 256, durable_name="x" * 256),
    create("é" * 128, durable_name="é" * 128),
    create("x" * 256, durable_name="x" * 256, max_deliver=-5, ack_wait=-1),
    create("x" * 256, "W", durable_name="x" * 256),
    create("x" * 256, "W", durable_name="x" * 256, ack_policy="all"),
    Step("CONSUMER.DURABLE.CREATE.T.C", request({"durable_name": "C"})),
    Step("CONSUMER.DURABLE.CREATE.T.C", request({"durable_name": "C", "name": "D"})),
    Step("CONSUMER.DURABLE.CREATE.T.C", request({"durable_name": "D"})),
    Step("CONSUMER.DURABLE.CREATE.T.C", request({})),
    Step("CONSUMER.DURABLE.CREATE.T.C", request({"name": "C"})),
    Step("CONSUMER.DURABLE.CREATE.T.C", request({"durable_name": "C"}, "U")),
    Step("CONSUMER.DURABLE.CREATE.U.C", request({"durable_name": "C"}, "U")),
    Step("CONSUMER.DURABLE.CREATE.T.a/b", request({})),
    Step("CONSUMER.DURABLE.CREATE.T.a/b", request({"durable_name": "a/b"})),
    Step("CONSUMER.DURABLE.CREATE.T.*", request({"durable_name": "*"})),
    Step("CONSUMER.CREATE.T.C.t.x", request({"filter_subject": "t.x"})),
    Step("CONSUMER.CREATE.T.C.t.*.>", request({"filter_subject": "t.*.>"})),
    Step("CONSUMER.CREATE.T.C.>", request({"filter_subject": ">"})),
    Step("CONSUMER.CREATE.T.C.t.x", request({})),
    Step("CONSUMER.CREATE.T.C.t.x", request({"filter_subject": "t.y"})),
    Step("CONSUMER.CREATE.T.C.t.x", request({"filter_subjects": ["t.x"]})),
    Step("CONSUMER.CREATE.T.C.t.x", request({"filter_subjects": []})),
    Step("CONSUMER.CREATE.T.C.t.x", request({"filter_subjects": [], "filter_subject": "t.x"})),
    Step("CONSUMER.CREATE.T.C.t.x", request({"filter_subjects": ["t.y"], "filter_subject": "t.x"})),
    Step("CONSUMER.CREATE.T.C.t.x", request({"durable_name": "D", "filter_subject": "t.y"})),
    Step("CONSUMER.CREATE.T.C.t.x", request({"filter_subject": "t.y", "num_replicas": 3})),
    Step("CONSUMER.CREATE.T.C.t.x", request({"filter_subject": "t.x", "num_replicas": 3})),
]
