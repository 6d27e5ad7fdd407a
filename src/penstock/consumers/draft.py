"""A consumer under examination: what every check is given.

Checks see what was asked and what the defaults made of it, as for streams. What the answer depends
on outside of the request comes as `Surroundings`: facts, no objects to ask further.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from penstock.model.api_errors import ApiError, Fault
from penstock.model.consumer_config import ConsumerConfig
from penstock.model.stream_config import StreamConfig


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What the server and the account allow; 0 and -1 are no limit."""

    server_ack_pending_max: int = 0
    server_batch_max: int = 0
    account_ack_pending_max: int = -1
    account_consumers_max: int = -1  # of each stream


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """All that a consumer is checked against."""

    stream: StreamConfig
    consumers: Mapping[str, ConsumerConfig]  # of the stream, by name
    limits: Limits = Limits()
    is_bound: bool = False  # whether somebody listens where the one of this name delivers to

    def others(self, name: str) -> list[ConsumerConfig]:
        """The consumers but the one that is being changed."""
        return [config for other, config in self.consumers.items() if other != name]


class Draft(NamedTuple):
    """One request with its surroundings."""

    asked: ConsumerConfig
    config: ConsumerConfig  # with the defaults filled in
    pedantic: bool
    around: Surroundings


Check = Callable[[Draft], ApiError | None]


def refused(reason: str) -> ApiError:
    """10052: the reference has no number of its own for some rules."""
    return Fault.STREAM_CONFIG_INVALID.error(reason=reason)


def first_error(checks: tuple[Check, ...], draft: Draft) -> ApiError | None:
    """What the first check that objects has to say."""
    for check in checks:
        if (error := check(draft)) is not None:
            return error
    return None
