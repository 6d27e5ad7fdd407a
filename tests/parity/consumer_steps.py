"""Steps of a consumer scenario, as data, and the short names that scenarios are written with.

Every scenario begins without streams; most have one stream T on `t.>` and one consumer C. What a
pull request gets goes to an inbox (`P.a` unless told), what a push consumer sends to `D.c`;
`Got` takes it from there, in the order it came. An acknowledgement names the message by its
sequence in the stream; the subject is the one that its last delivery brought.

Texts that are only known at run time are written as `<time 3>` (when message 3 was stored),
`<in 200ms>`, `<pin>` (the last Nats-Pin-Id) and `<flow>` (the reply of the last flow control).
"""

from dataclasses import dataclass
from typing import Any

from tests.parity.numbered import Body, Headers, Pub
from tests.parity.stream_api_cases import made
from tests.parity.streams_peer import Api, Done, Listen, Pipelined, Step

MS = 1_000_000  # durations of the API are nanoseconds
SECOND = 1000 * MS


@dataclass(frozen=True)
class Pull:
    """A pull request. The next step sees it taken: a refused one is awaited behind it."""

    body: Body = None
    to: str = "a"
    consumer: str = "C"
    stream: str = "T"
    headers: Headers = None


@dataclass(frozen=True)
class PullAll:
    """Several pull requests in one write, one for each inbox."""

    bodies: dict[str, Body]
    consumer: str = "C"
    stream: str = "T"


@dataclass(frozen=True)
class Got:
    """The next messages of all inboxes and deliveries, sorted if the order is not promised.

    `counted` False leaves out how many are pending behind them, where that is not determinate.
    """

    count: int
    ordered: bool = True
    counted: bool = True


@dataclass(frozen=True)
class GotUntil:
    """All messages up to one that holds the text; the same one several times counts once.

    Those that hold `ignoring` are not counted at all.
    """

    text: str
    ignoring: str = ""


@dataclass(frozen=True)
class Ack:
    """What is said about a delivered message, and what that is answered (None: nothing).

    With `to` the answer goes to that inbox instead; `delivery` is another than the last one;
    `has_reply` False asks for no answer.
    """

    sequence: int
    payload: Body = b""
    consumer: str = "C"
    stream: str = "T"
    to: str = ""
    delivery: int = 0
    has_reply: bool = True
    headers: Headers = None


@dataclass(frozen=True)
class AckTo:
    """As `Ack`, to any subject at all."""

    subject: str
    payload: Body = b""
    consumer: str = "C"
    stream: str = "T"


@dataclass(frozen=True)
class Figures:
    """Where a consumer stands: the numbers of its info in one line."""

    consumer: str = "C"
    stream: str = "T"


@dataclass(frozen=True)
class Reached:
    """As `Figures`, asked again until these hold; that they come to hold is asserted."""

    figures: dict[str, Any]
    consumer: str = "C"
    stream: str = "T"


@dataclass(frozen=True)
class Missing:
    """Asks again until there is no such consumer."""

    consumer: str = "C"
    stream: str = "T"


@dataclass(frozen=True)
class Leave:
    """Ends the subscription to an inbox, or to what was listened to."""

    pattern: str


@dataclass(frozen=True)
class Elsewhere:
    """A step on another connection to the same server, with its own inboxes."""

    step: "ConsumerStep"


@dataclass(frozen=True)
class HangUp:
    """Closes the other connection."""


@dataclass(frozen=True)
class JoinQueue:
    """A subscription in a queue group."""

    pattern: str
    group: str


ConsumerStep = (
    Step
    | Pull
    | PullAll
    | Got
    | GotUntil
    | Ack
    | AckTo
    | Done
    | Figures
    | Reached
    | Missing
    | Leave
    | Elsewhere
    | HangUp
    | JoinQueue
)
Steps = list[ConsumerStep]
Scenarios = dict[str, Steps]


def consumer(name: str = "C", stream: str = "T", action: str = "", **config: Any) -> Api:
    """A durable with explicit acknowledgement, unless told."""
    fields = {"durable_name": name, "ack_policy": "explicit", **config}
    body: dict[str, Any] = {"stream_name": stream, "config": fields}
    if action:
        body["action"] = action
    return Api(f"CONSUMER.CREATE.{stream}.{name}", body)


def ephemeral(name: str = "C", stream: str = "T", **config: Any) -> Api:
    fields = {"name": name, "ack_policy": "explicit", **config}
    return Api(f"CONSUMER.CREATE.{stream}.{name}", {"stream_name": stream, "config": fields})


def push(name: str = "C", stream: str = "T", **config: Any) -> Api:
    return consumer(name, stream, deliver_subject="D.c", **config)


def consumer_info(name: str = "C", stream: str = "T") -> Api:
    return Api(f"CONSUMER.INFO.{stream}.{name}")


def consumer_deleted(name: str = "C", stream: str = "T") -> Api:
    return Api(f"CONSUMER.DELETE.{stream}.{name}")


def pull(batch: int = 1, to: str = "a", consumer: str = "C", **fields: Any) -> Pull:
    return Pull({"batch": batch, **fields}, to, consumer)


def fetched(count: int, consumer: str = "C") -> Steps:
    """A batch that is there already."""
    return [pull(count, consumer=consumer, no_wait=True), Got(count)]


def stored(count: int, kinds: int = 1, prefix: str = "t") -> Steps:
    """Messages m1, m2, ... on t.0, t.1, ... in turn."""
    return [
        Pipelined([Pub(f"{prefix}.{n % kinds}", f"m{n + 1}".encode()) for n in range(count)]),
    ]


def set_up(count: int = 5, kinds: int = 1, **config: Any) -> Steps:
    """The stream with messages and a pull consumer."""
    return [made(), *stored(count, kinds), consumer(**config)]


def nak(sequence: int, options: str = "", **rest: Any) -> Ack:
    return Ack(sequence, f"-NAK{options}", **rest)


def term(sequence: int, reason: str = "", **rest: Any) -> Ack:
    return Ack(sequence, f"+TERM{reason}", **rest)


def advisories(kind: str = ">") -> Listen:
    return Listen(f"$JS.EVENT.ADVISORY.CONSUMER.{kind}")
