"""The consumer part of `$JS.API` while there are no consumers: none is found, none can be made.

Tools that look at streams ask for their consumers too and get an honest empty list.
"""

from collections.abc import Callable
from typing import Any

from penstock.model.api_errors import Fault
from penstock.streams.registry import Registry

NAMES_SHOWN_MAX = 1024  # of one CONSUMER.NAMES, as the reference
LIST_SHOWN_MAX = 256  # of one CONSUMER.LIST, as the reference

Fields = dict[str, Any]


class ConsumerApi:
    """Handlers of `$JS.API.CONSUMER.*`."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def names(self, stream: str, _payload: bytes) -> Fields:
        return self._none(stream, NAMES_SHOWN_MAX)

    def listing(self, stream: str, _payload: bytes) -> Fields:
        return self._none(stream, LIST_SHOWN_MAX)

    def find(self, names: str, _payload: bytes) -> Fields:
        self._registry.require(names.split(".", maxsplit=1)[0])
        raise Fault.CONSUMER_UNKNOWN.error()

    def create(self, _names: str, _payload: bytes) -> Fields:
        raise Fault.CONSUMER_CREATE_FAILED.error(reason="consumers are not supported yet")

    def _none(self, stream: str, limit: int) -> Fields:
        self._registry.require(stream)
        return {"total": 0, "offset": 0, "limit": limit, "consumers": []}


Method = Callable[[ConsumerApi, str, bytes], Fields]

_NONE: Fields = {"total": 0, "offset": 0, "limit": 0, "consumers": []}

# As the table of the stream API.
METHODS: tuple[tuple[str, Method, str, Fields], ...] = (
    ("CONSUMER.NAMES.*", ConsumerApi.names, "consumer_names", _NONE),
    ("CONSUMER.LIST.*", ConsumerApi.listing, "consumer_list", _NONE),
    ("CONSUMER.INFO.*.*", ConsumerApi.find, "consumer_info", {}),
    ("CONSUMER.DELETE.*.*", ConsumerApi.find, "consumer_delete", {}),
    ("CONSUMER.CREATE.>", ConsumerApi.create, "consumer_create", {}),
    ("CONSUMER.DURABLE.CREATE.*.*", ConsumerApi.create, "consumer_create", {}),
)
