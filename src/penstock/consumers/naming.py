"""The four subjects that create consumers, and what they require of the request.

`CONSUMER.CREATE.<stream>` makes an ephemeral consumer, whose name may be in the request or is made
up; `CONSUMER.DURABLE.CREATE.<stream>.<name>` a durable one; these two are what old clients use.
`CONSUMER.CREATE.<stream>.<name>` makes either, `...<name>.<filter>` one with this filter: there the
names of the subject are what permissions are granted for, so the request must not say otherwise.
"""

import enum
from collections.abc import Container
from typing import NamedTuple

import msgspec

from penstock.consumers.bounds import GENERATED_NAME_LENGTH
from penstock.model.api_errors import ApiError, Fault
from penstock.model.consumer_config import ConsumerConfig
from penstock.model.consumer_request import ConsumerRequest

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class Way(enum.Enum):
    """By which subject a request came."""

    EPHEMERAL = enum.auto()
    DURABLE = enum.auto()
    NAMED = enum.auto()


class Address(NamedTuple):
    """What the subject of a request says."""

    way: Way
    stream: str
    name: str = ""
    filter: str = ""


def create_address(names: str) -> Address:
    """Of `CONSUMER.CREATE.<names>`."""
    stream, *rest = names.split(".", maxsplit=2)
    if not rest:
        return Address(Way.EPHEMERAL, stream)
    return Address(Way.NAMED, stream, *rest)


def durable_address(names: str) -> Address:
    """Of `CONSUMER.DURABLE.CREATE.<names>`."""
    stream, name = names.split(".")
    return Address(Way.DURABLE, stream, name)


def addressed(address: Address, request: ConsumerRequest) -> ApiError | ConsumerRequest:
    """The request with the name it will have, or how it contradicts its subject."""
    config = request.config
    if request.stream_name != address.stream:
        return Fault.STREAM_NAME_MISMATCH.error()
    name = config.name if address.way is Way.EPHEMERAL else address.name
    if "/" in name or "\\" in name:
        return Fault.CONSUMER_NAME_PATH.error()
    error = durable_error(address, config) or filter_error(address, config)
    if error is not None:
        return error
    config = msgspec.structs.replace(config, name=name)
    return msgspec.structs.replace(request, config=config)


def durable_error(address: Address, config: ConsumerConfig) -> ApiError | None:
    durable = config.durable_name
    if address.way is Way.EPHEMERAL:
        return Fault.EPHEMERAL_WITH_DURABLE_NAME.error() if durable else None
    if address.way is Way.DURABLE and not durable:
        return Fault.DURABLE_NOT_SET.error()
    if durable and durable != address.name:
        return Fault.DURABLE_DIFFERS_FROM_SUBJECT.error()
    return None


def filter_error(address: Address, config: ConsumerConfig) -> ApiError | None:
    if not address.filter:
        return None
    if config.filter_subjects:
        return Fault.FILTERS_IN_SUBJECT.error()
    if config.filter_subject != address.filter:
        return Fault.FILTER_DIFFERS_FROM_SUBJECT.error()
    return None


def generated_name(number: int, taken: Container[str]) -> str:
    """A name for a consumer that was given none: as long as the reference's, of the same letters.

    `number` is random; if its name is taken, the next one is.
    """
    while (name := _in_digits(number)) in taken:
        number += 1
    return name


def _in_digits(number: int) -> str:
    digits = []
    for _ in range(GENERATED_NAME_LENGTH):
        number, digit = divmod(number, len(DIGITS))
        digits.append(DIGITS[digit])
    return "".join(reversed(digits))
