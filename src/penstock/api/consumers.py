"""The consumer part of `$JS.API`: one method for each subject, found through one table.

As for streams, a method takes the names in the subject and the payload and returns the fields of
the reply, or raises an `ApiError`. Who owns the consumers carries out what is decided here.
"""

from collections.abc import Callable
from typing import Any, Protocol

from penstock.api.consumer_info import show_consumer, state_of
from penstock.api.requests import (
    PageRequest,
    PauseRequest,
    ResetRequest,
    UnpinRequest,
    is_empty,
    parse_optional_request,
    parse_request,
)
from penstock.consumers.consumer import Consumer
from penstock.consumers.draft import Surroundings
from penstock.consumers.naming import Address, create_address, durable_address
from penstock.consumers.outcome import accepted, decide
from penstock.consumers.resetting import reset_sequence
from penstock.consumers.updates import paused
from penstock.consumers.validation import is_group
from penstock.consumers.versioning import NEVER
from penstock.model.api_errors import ApiError, Fault
from penstock.model.consumer_config import ConsumerConfig
from penstock.model.consumer_request import ConsumerRequest, parse_consumer_request
from penstock.model.reading import read_moment
from penstock.streams.stream import Stream

NAMES_SHOWN_MAX = 1024  # of one CONSUMER.NAMES, as the reference
LIST_SHOWN_MAX = 256  # of one CONSUMER.LIST, as the reference

Fields = dict[str, Any]


class UnansweredError(Exception):
    """A request that gets no reply at all, as the reference's."""


class Consumers(Protocol):
    """The consumers of one stream."""

    stream: Stream

    def all(self) -> list[Consumer]:
        """In the order of their names."""

    def find(self, name: str) -> Consumer | None: ...
    def surroundings(self, name: str) -> Surroundings: ...
    def create(self, name: str, config: ConsumerConfig) -> Consumer: ...
    def configure(self, consumer: Consumer, config: ConsumerConfig) -> None: ...
    def delete(self, consumer: Consumer) -> None: ...
    def reset(self, consumer: Consumer, sequence: int) -> None: ...
    def unpin(self, consumer: Consumer, group: str) -> None: ...


class Keeper(Protocol):
    """Whoever owns the consumers of all streams."""

    strict: bool  # whether a field that nobody knows is refused

    def now_ns(self) -> int: ...
    def random_number(self) -> int: ...
    def find_consumers(self, stream: str) -> Consumers | None:
        """Up to date with everything that happened."""


class ConsumerApi:
    """Handlers of `$JS.API.CONSUMER.*`."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def create(self, names: str, payload: bytes) -> Fields:
        return self._create(create_address(names), payload)

    def create_durable(self, names: str, payload: bytes) -> Fields:
        return self._create(durable_address(names), payload)

    def _create(self, address: Address, payload: bytes) -> Fields:
        parsed = parse_consumer_request(payload, self._keeper.strict)
        request = _checked(accepted(address, parsed))
        consumers = self._require(address.stream)
        name = request.config.durable_name or request.config.name
        around = consumers.surroundings(name)
        decision = decide(request, around, 0 if name else self._keeper.random_number())
        if isinstance(decision, ApiError):
            raise decision
        consumer = consumers.find(decision.name)
        if consumer is None:
            consumer = consumers.create(decision.name, decision.config)
        elif decision.config != consumer.core.config:
            consumers.configure(consumer, decision.config)
        return self._shown(consumer)

    def info(self, names: str, payload: bytes) -> Fields:
        if not is_empty(payload):
            raise Fault.PAYLOAD_NOT_EMPTY.error()
        return self._shown(self._find(names)[1])

    def delete(self, names: str, payload: bytes) -> Fields:
        if not is_empty(payload):
            raise Fault.PAYLOAD_NOT_EMPTY.error()
        consumers, consumer = self._find(names)
        consumers.delete(consumer)
        return {"success": True}

    def names(self, stream: str, payload: bytes) -> Fields:
        found, offset = self._page(stream, payload)
        rows = [consumer.core.name for consumer in found[offset : offset + NAMES_SHOWN_MAX]]
        return _shown_page(found, offset, NAMES_SHOWN_MAX, rows)

    def listing(self, stream: str, payload: bytes) -> Fields:
        found, offset = self._page(stream, payload)
        page = found[offset : offset + LIST_SHOWN_MAX]
        rows = [self._shown(consumer, with_versions=False) for consumer in page]
        return _shown_page(found, offset, LIST_SHOWN_MAX, rows)

    def pause(self, names: str, payload: bytes) -> Fields:
        request = parse_optional_request(payload, PauseRequest)
        until = None if request.pause_until is None else read_moment(request.pause_until)
        assert until is None or isinstance(until, str)
        consumers, consumer = self._find(names)
        consumers.configure(consumer, paused(consumer.core.config, until))
        now_ns, pause = self._keeper.now_ns(), consumer.pause
        fields: Fields = {"paused": pause.is_on(now_ns)}
        fields["pause_until"] = consumer.core.config.pause_until or NEVER
        if pause.ends_ns is not None:
            fields["pause_remaining"] = pause.ends_ns - now_ns
        return fields

    def reset(self, names: str, payload: bytes) -> Fields:
        stream, _, name = names.partition(".")
        consumers = self._keeper.find_consumers(stream)
        consumer = None if consumers is None else consumers.find(name)
        if consumers is None or consumer is None:
            raise UnansweredError
        asked = parse_request(payload, ResetRequest).seq if payload else 0
        floor = consumer.core.figures.floor_stream
        store = consumers.stream.store
        sequence = reset_sequence(consumer.core.config, asked, floor, store)
        consumers.reset(consumer, sequence)
        return {**self._shown(consumer), "reset_seq": sequence}

    def unpin(self, names: str, payload: bytes) -> Fields:
        group = parse_request(payload, UnpinRequest).group
        if not group:
            raise Fault.INVALID_JSON.error(reason="consumer group not specified")
        if not is_group(group):
            raise Fault.PRIORITY_GROUP_INVALID.error()
        consumers, consumer = self._find(names)
        if group not in consumer.core.config.priority_groups:
            raise Fault.PRIORITY_GROUP_UNKNOWN.error()
        consumers.unpin(consumer, group)
        return {}

    def _require(self, stream: str) -> Consumers:
        consumers = self._keeper.find_consumers(stream)
        if consumers is None:
            raise Fault.STREAM_UNKNOWN.error()
        return consumers

    def _find(self, names: str) -> tuple[Consumers, Consumer]:
        stream, _, name = names.partition(".")
        consumers = self._require(stream)
        consumer = consumers.find(name)
        if consumer is None:
            raise Fault.CONSUMER_UNKNOWN.error()
        return consumers, consumer

    def _shown(self, consumer: Consumer, *, with_versions: bool = True) -> Fields:
        core, now_ns = consumer.core, self._keeper.now_ns()
        state = state_of(consumer, now_ns)
        return show_consumer(
            core.stream,
            core.name,
            core.config,
            consumer.created_ns,
            state,
            now_ns,
            with_versions=with_versions,
        )

    def _page(self, stream: str, payload: bytes) -> tuple[list[Consumer], int]:
        request = parse_optional_request(payload, PageRequest)
        found = self._require(stream).all()
        return found, min(max(0, request.offset), len(found))


def _checked(answer: ApiError | ConsumerRequest) -> ConsumerRequest:
    if isinstance(answer, ApiError):
        raise answer
    return answer


def _shown_page(found: list[Consumer], offset: int, limit: int, rows: list[Any]) -> Fields:
    return {"total": len(found), "offset": offset, "limit": limit, "consumers": rows}


Method = Callable[[ConsumerApi, str, bytes], Fields]

_NO_PAGE: Fields = {"total": 0, "offset": 0, "limit": 0, "consumers": []}
_NOT_PAUSED: Fields = {"paused": False, "pause_until": NEVER}

# As the table of the stream API.
METHODS: tuple[tuple[str, Method, str, Fields], ...] = (
    ("CONSUMER.NAMES.*", ConsumerApi.names, "consumer_names", _NO_PAGE),
    ("CONSUMER.LIST.*", ConsumerApi.listing, "consumer_list", _NO_PAGE),
    ("CONSUMER.INFO.*.*", ConsumerApi.info, "consumer_info", {}),
    ("CONSUMER.DELETE.*.*", ConsumerApi.delete, "consumer_delete", {}),
    ("CONSUMER.CREATE.>", ConsumerApi.create, "consumer_create", {}),
    ("CONSUMER.DURABLE.CREATE.*.*", ConsumerApi.create_durable, "consumer_create", {}),
    ("CONSUMER.PAUSE.*.*", ConsumerApi.pause, "consumer_pause", _NOT_PAUSED),
    ("CONSUMER.RESET.*.*", ConsumerApi.reset, "consumer_reset", {"reset_seq": 0}),
    ("CONSUMER.UNPIN.*.*", ConsumerApi.unpin, "consumer_unpin", {}),
)
