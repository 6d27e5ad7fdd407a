"""Short ways to a request, its surroundings and the answer."""

import json
from collections.abc import Mapping
from typing import Any

from penstock.consumers.draft import Limits, Surroundings
from penstock.consumers.naming import create_address
from penstock.consumers.outcome import Decision, accepted, decide
from penstock.model.api_errors import ApiError
from penstock.model.consumer_config import ConsumerConfig
from penstock.model.consumer_request import ConsumerRequest, parse_consumer_request
from penstock.model.stream_config import Retention, StreamConfig

SECOND = 1_000_000_000
NUMBER = 62**8 - 1  # of a generated name
STREAM = StreamConfig(name="T", subjects=("t.>",), num_replicas=1)
WORKQUEUE = StreamConfig(name="T", subjects=("t.>",), num_replicas=1, retention=Retention.WORKQUEUE)
Consumers = Mapping[str, ConsumerConfig]


def request(action: str = "", pedantic: bool = False, **config: Any) -> ConsumerRequest:
    fields = {"stream_name": "T", "config": config, "action": action, "pedantic": pedantic}
    return parse_consumer_request(json.dumps(fields).encode())


def around(
    consumers: Consumers | None = None,
    stream: StreamConfig = STREAM,
    limits: Limits | None = None,
    is_bound: bool = False,
) -> Surroundings:
    return Surroundings(
        stream=stream, consumers=consumers or {}, limits=limits or Limits(), is_bound=is_bound
    )


def answer(asked: ConsumerRequest, where: Surroundings, names: str = "T.C") -> ApiError | Decision:
    """What becomes of a request to CONSUMER.CREATE.<names>."""
    outcome = accepted(create_address(names), asked)
    return outcome if isinstance(outcome, ApiError) else decide(outcome, where, NUMBER)


def decided(asked: ConsumerRequest, where: Surroundings, names: str = "T.C") -> Decision:
    outcome = answer(asked, where, names)
    assert isinstance(outcome, Decision), outcome
    return outcome


def refusal(asked: ConsumerRequest, where: Surroundings, names: str = "T.C") -> tuple[int, str]:
    outcome = answer(asked, where, names)
    assert isinstance(outcome, ApiError), outcome
    return outcome.err_code, outcome.description


def config(where: Surroundings | None = None, **fields: Any) -> ConsumerConfig:
    """The configuration of the consumer C that can be made."""
    return decided(request(**fields), where or around()).config
