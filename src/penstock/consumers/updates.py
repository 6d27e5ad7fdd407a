"""Whether a consumer may become what a request asks for.

A request carries the whole configuration, as for streams: what it leaves out goes back to its
default, except the pause, which has a request of its own. `UPDATE_CHECKS` compare old and new:
what has been delivered and acknowledged already depends on where the consumer started, on its
policies and its storage, and clients depend on whether it is push or pull.
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from penstock.consumers import defaults
from penstock.consumers.draft import Draft
from penstock.consumers.validation import workqueue_overlap
from penstock.consumers.versioning import is_moment_set, stored_metadata
from penstock.model.api_errors import ApiError, Fault
from penstock.model.consumer_config import ConsumerConfig
from penstock.model.timestamps import rfc3339, unix_ns
from penstock.streams.versioning import REQUIRED_KEY


class Change(NamedTuple):
    """Old and new, with the defaults filled in."""

    old: ConsumerConfig
    new: ConsumerConfig
    is_bound: bool  # whether somebody listens to the old deliver subject


UpdateCheck = Callable[[Change], ApiError | None]


def kept(old: ConsumerConfig | None, asked: ConsumerConfig) -> ConsumerConfig:
    """What was asked, with what an update cannot change at all."""
    return asked if old is None else msgspec.structs.replace(asked, pause_until=old.pause_until)


def check_update(name: str, old: ConsumerConfig, draft: Draft) -> ApiError | ConsumerConfig:
    """The configuration to go on with, or why not; the rules of `CHECKS` hold already.

    On a work queue the filter cannot be dropped beside other consumers, as the spec wants it: no
    message has two. The reference lets it happen.
    """
    if (error := workqueue_overlap(draft, name)) is not None:
        return error
    change = Change(old, draft.config, draft.around.is_bound)
    for check in UPDATE_CHECKS:
        if (error := check(change)) is not None:
            return error
    new = msgspec.structs.replace(draft.config, pause_until=_in_utc(draft.config.pause_until))
    # As the reference: what the consumer was decides, and only if the threshold changes.
    if new.inactive_threshold == old.inactive_threshold:
        return new
    return defaults.with_threshold(new, is_durable=bool(old.durable_name))


def is_same(left: ConsumerConfig, right: ConsumerConfig) -> bool:
    """Whether two configurations say the same; the level they need follows from the rest.

    A threshold counts as it was asked: an ephemeral consumer that was given the default is not the
    same as one that asks for none.
    """
    return _without_level(left) == _without_level(right)


def levelled(config: ConsumerConfig, old: ConsumerConfig) -> ConsumerConfig:
    """With the level of the consumer that is created again: it was worked out from another way to
    ask for the same."""
    return msgspec.structs.replace(config, metadata=old.metadata)


def _without_level(config: ConsumerConfig) -> tuple[object, ...]:
    metadata = {key: value for key, value in config.metadata.items() if key != REQUIRED_KEY}
    fields = (getattr(config, name) for name in config.__struct_fields__ if name != "metadata")
    return (*fields, metadata)


def paused(config: ConsumerConfig, until: str | None) -> ConsumerConfig:
    """The configuration after CONSUMER.PAUSE; no moment, or the API's zero, ends the pause."""
    moment = _in_utc(until) if is_moment_set(until) else None
    config = msgspec.structs.replace(config, pause_until=moment)
    return msgspec.structs.replace(config, metadata=stored_metadata(config))


def _in_utc(moment: str | None) -> str | None:
    """The same moment without an offset, where the calendar has a date for it."""
    if moment is None or moment.endswith("Z"):
        return moment
    try:
        return rfc3339(unix_ns(moment))
    except (ValueError, OverflowError):
        return moment


def _refused(reason: str) -> ApiError:
    return Fault.CONSUMER_CREATE_FAILED.error(reason=reason)


def _stays(name: str, words: str) -> UpdateCheck:
    def check(change: Change) -> ApiError | None:
        if getattr(change.old, name) != getattr(change.new, name):
            return _refused(f"{words} can not be updated")
        return None

    return check


def start_time_stays(change: Change) -> ApiError | None:
    """The moment counts, not how it is written."""
    times = [config.opt_start_time for config in (change.old, change.new)]
    moments = [None if time is None else unix_ns(time) for time in times]
    return None if moments[0] == moments[1] else _refused("start time can not be updated")


def deliver_subject_is_free(change: Change) -> ApiError | None:
    """It may change while nobody listens to the old one, but push stays push."""
    old, new = change.old.deliver_subject, change.new.deliver_subject
    if old == new:
        return None
    if not old:
        return _refused("can not update pull consumer to push based")
    if not new:
        return _refused("can not update push consumer to pull based")
    return Fault.CONSUMER_NAME_EXISTS.error() if change.is_bound else None


UPDATE_CHECKS: tuple[UpdateCheck, ...] = (
    _stays("deliver_policy", "deliver policy"),
    _stays("mem_storage", "storage type"),
    _stays("opt_start_seq", "start sequence"),
    start_time_stays,
    _stays("ack_policy", "ack policy"),
    _stays("replay_policy", "replay policy"),
    _stays("idle_heartbeat", "heart beats"),
    _stays("flow_control", "flow control"),
    deliver_subject_is_free,
    _stays("max_waiting", "max waiting"),
)
