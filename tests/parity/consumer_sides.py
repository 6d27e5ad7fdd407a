"""Who is asked about consumers: a server over a socket, or penstock's functions alone.

Both have the one method `ask`, a request to a subject without `$JS.API.`, and `listen`, which makes
a subject one that somebody listens to. So the same cases run against either.
"""

import json
from typing import Any, Protocol, TypeVar

from penstock.api.consumer_info import show_config
from penstock.consumers.draft import Limits, Surroundings
from penstock.consumers.naming import create_address, durable_address
from penstock.consumers.outcome import accepted, decide
from penstock.model.api_errors import ApiError, Fault
from penstock.model.consumer_config import ConsumerConfig
from penstock.model.consumer_request import parse_consumer_request
from penstock.model.stream_config import StreamConfig
from penstock.model.stream_request import parse_stream_request
from penstock.streams import resources
from penstock.streams.validation import check_create
from tests.parity.asked import Asked

Reply = dict[str, Any]
Answer = TypeVar("Answer")

STREAM_CREATE = "STREAM.CREATE."
CREATE, DURABLE = "CONSUMER.CREATE.", "CONSUMER.DURABLE.CREATE."
INFO, DELETE = "CONSUMER.INFO.", "CONSUMER.DELETE."


class Side(Protocol):
    """A server, or what stands for one."""

    def ask(self, subject: str, payload: bytes) -> Reply: ...
    def listen(self, subject: str) -> None: ...
    def close(self) -> None: ...


class Served(Asked):
    """A running server."""

    def listen(self, subject: str) -> None:
        self._runner.run(self._client.subscribe(subject))
        self._runner.run(self._client.flush())


class Computed:
    """The streams and consumers that a server would have, kept with our functions."""

    def __init__(self, limits: Limits, strict: bool = True) -> None:
        self.streams: dict[str, StreamConfig] = {}
        self.consumers: dict[str, dict[str, ConsumerConfig]] = {}
        self._listened: set[str] = set()
        self._limits = limits
        self._strict = strict
        self._number = 0

    def ask(self, subject: str, payload: bytes) -> Reply:
        try:
            if subject.startswith(STREAM_CREATE):
                return self._create_stream(subject.removeprefix(STREAM_CREATE), payload)
            if subject.startswith(INFO):
                return self._shown(*subject.removeprefix(INFO).split("."))
            if subject.startswith(DELETE):
                stream, name = subject.removeprefix(DELETE).split(".")
                del self.consumers[stream][name]
                return {"success": True}
            return self._create(subject, payload)
        except ApiError as error:
            return {"error": error.shown()}

    def listen(self, subject: str) -> None:
        self._listened.add(subject)

    def close(self) -> None:
        self.consumers.clear()

    def _create_stream(self, name: str, payload: bytes) -> Reply:
        server = resources.ServerResources(memory_bytes_max=1 << 20, storage_bytes_max=1 << 20)
        around = resources.Surroundings(streams=self.streams, server=server)
        self.streams[name] = checked(check_create(name, parse_stream_request(payload), around))
        self.consumers[name] = {}
        return {}

    def _create(self, subject: str, payload: bytes) -> Reply:
        if subject.startswith(DURABLE):
            address = durable_address(subject.removeprefix(DURABLE))
        else:
            address = create_address(subject.removeprefix(CREATE))
        request = checked(accepted(address, parse_consumer_request(payload, self._strict)))
        if address.stream not in self.streams:
            raise Fault.STREAM_UNKNOWN.error()
        consumers = self.consumers[address.stream]
        old = consumers.get(request.config.name, ConsumerConfig())
        around = Surroundings(
            stream=self.streams[address.stream],
            consumers=consumers,
            limits=self._limits,
            is_bound=old.deliver_subject in self._listened,
        )
        self._number += 1
        decision = checked(decide(request, around, self._number))
        assert decision.is_new is (decision.name not in consumers)
        consumers[decision.name] = decision.config
        return self._shown(address.stream, decision.name)

    def _shown(self, stream: str, name: str) -> Reply:
        config = show_config(self.consumers[stream][name], with_versions=True)
        # What is shown has to survive the way through JSON.
        shown: Reply = json.loads(json.dumps(config))
        return {"stream_name": stream, "name": name, "config": shown}


def checked(answer: ApiError | Answer) -> Answer:
    if isinstance(answer, ApiError):
        raise answer
    return answer
