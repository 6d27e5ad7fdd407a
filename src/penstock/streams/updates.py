"""Whether a stream may become what an update asks for.

An update carries the whole configuration: what it leaves out goes back to its default (except
`read_consistency`, see `defaults.kept`). First the rules that hold for any configuration, then
`UPDATE_CHECKS`, which compare old and new: promises that cannot be taken back (sealed, denied,
TTLs), and what messages already stored depend on (storage, workqueue, counters, persist mode).
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from penstock.model.api_errors import ApiError, Fault
from penstock.model.stream_config import Retention, StreamConfig
from penstock.model.stream_request import StreamRequest
from penstock.streams import defaults, resources
from penstock.streams.audience import ConsumerBounds
from penstock.streams.draft import first_error, refused
from penstock.streams.resources import Surroundings
from penstock.streams.validation import CHECKS, drafted, one_replica, subjects_are_free


class UpdateState(NamedTuple):
    """What an update depends on beside configurations."""

    messages: int = 0
    consumers: tuple[ConsumerBounds, ...] = ()


class Change(NamedTuple):
    """Old and new, with the defaults filled in."""

    old: StreamConfig
    new: StreamConfig
    state: UpdateState


UpdateCheck = Callable[[Change], ApiError | None]


def check_update(
    name: str, request: StreamRequest, state: UpdateState, around: Surroundings
) -> ApiError | StreamConfig:
    """The configuration to go on with, or why not; `name` is that of the API's subject."""
    old = around.streams.get(name)
    if old is not None:
        config = defaults.kept(old, request.config, request.given)
        request = msgspec.structs.replace(request, config=config)
    draft = drafted(request, around)
    if (error := first_error(CHECKS, draft)) is not None:
        return error
    if draft.asked.name != name:
        return Fault.STREAM_NAME_MISMATCH.error()
    if old is None:
        return Fault.STREAM_UNKNOWN.error()
    if (error := one_replica(draft)) is not None:
        return error
    change = Change(old, draft.config, state)
    for check in UPDATE_CHECKS:
        if (error := check(change)) is not None:
            return error
    new = defaults.sealed(draft.config)
    return (
        resources.exceeded(new, around, old)
        or consumers_keep_to_limits(change)
        or first_error((subjects_are_free,), draft)
        or new
    )


def storage_stays(change: Change) -> ApiError | None:
    if change.new.storage is not change.old.storage:
        return refused("stream configuration update can not change storage type")
    return None


def workqueue_stays(change: Change) -> ApiError | None:
    policies = {change.old.retention, change.new.retention}
    if len(policies) > 1 and Retention.WORKQUEUE in policies:
        return refused(
            "stream configuration update can not change retention policy to/from workqueue"
        )
    return None


def sealed_stays(change: Change) -> ApiError | None:
    if change.old.sealed and not change.new.sealed:
        return refused("stream configuration update can not unseal a sealed stream")
    return None


def denied_stays(change: Change) -> ApiError | None:
    if change.old.deny_delete and not change.new.deny_delete:
        return refused("stream configuration update can not cancel deny message deletes")
    if change.old.deny_purge and not change.new.deny_purge:
        return refused("stream configuration update can not cancel deny purge")
    return None


def mirror_stays_or_goes(change: Change) -> ApiError | None:
    """Without its mirror a stream is promoted: it lives on as one of its own."""
    if change.new.mirror is not None and change.new.mirror != change.old.mirror:
        return Fault.MIRROR_NOT_UPDATABLE.error()
    return None


def ttl_stays(change: Change) -> ApiError | None:
    if change.old.allow_msg_ttl and not change.new.allow_msg_ttl:
        return refused("message TTL status can not be disabled")
    return None


def counters_start_empty(change: Change) -> ApiError | None:
    """ADR-49: off at any time, on while there is nothing that is not a counter."""
    starts = change.new.allow_msg_counter and not change.old.allow_msg_counter
    if starts and change.state.messages > 0:
        return refused("message counters can only be enabled while the stream is empty")
    return None


def persist_mode_stays(change: Change) -> ApiError | None:
    if change.new.persist_mode is not change.old.persist_mode:
        return refused("stream configuration update can not change persist mode")
    return None


def consumers_keep_to_limits(change: Change) -> ApiError | None:
    """New limits must not be below what a consumer has."""
    limits = change.new.consumer_limits
    if limits == change.old.consumer_limits:
        return None
    above = [
        consumer.name
        for consumer in change.state.consumers
        if 0 < limits.inactive_threshold < consumer.inactive_threshold_ns
        or 0 < limits.max_ack_pending < consumer.max_ack_pending
    ]
    if above:
        reason = f"change to limits violates consumers: {', '.join(above)}"
        return Fault.STREAM_UPDATE_FAILED.error(reason=reason)
    return None


UPDATE_CHECKS: tuple[UpdateCheck, ...] = (
    storage_stays,
    workqueue_stays,
    sealed_stays,
    denied_stays,
    mirror_stays_or_goes,
    ttl_stays,
    counters_start_empty,
    persist_mode_stays,
)
