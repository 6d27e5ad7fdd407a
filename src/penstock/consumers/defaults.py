"""What a consumer gets that the request did not ask for.

`filled` only adjusts and never refuses, field by field; no filler needs another's outcome. In
pedantic mode the `ADJUSTMENTS` that would change something the request said, or that the stream
or the server decides, are refused instead, in their order; plain defaults are not.
"""

from collections.abc import Callable

import msgspec

from penstock.consumers import bounds
from penstock.consumers.draft import Draft, Surroundings
from penstock.consumers.versioning import stored_metadata
from penstock.model.api_errors import ApiError, Fault
from penstock.model.consumer_config import AckPolicy, ConsumerConfig, PriorityPolicy

Changes = dict[str, object]
Filler = Callable[[ConsumerConfig, Surroundings], Changes]

# Fields where a negative number is as good as none.
NEVER_NEGATIVE = (
    "max_waiting",
    "max_batch",
    "max_expires",
    "max_bytes",
    "idle_heartbeat",
    "inactive_threshold",
    "priority_timeout",
)


def filled(asked: ConsumerConfig, around: Surroundings) -> ConsumerConfig:
    """The configuration with everything decided but `inactive_threshold` of ephemerals."""
    changes: Changes = {"metadata": stored_metadata(asked)}
    for filler in FILLERS:
        changes |= filler(asked, around)
    return msgspec.structs.replace(asked, **changes)


def with_threshold(config: ConsumerConfig, *, is_durable: bool) -> ConsumerConfig:
    """An ephemeral consumer goes away some time after its last client, whatever it asked for."""
    if is_durable or config.inactive_threshold > 0:
        return config
    return msgspec.structs.replace(config, inactive_threshold=bounds.INACTIVE_THRESHOLD_NS)


def ack_wait_ns(asked: ConsumerConfig) -> int:
    """The default holds for policies with acknowledgements that may be missing."""
    waits = asked.ack_policy in (AckPolicy.EXPLICIT, AckPolicy.ALL)
    return bounds.ACK_WAIT_NS if asked.ack_wait == 0 and waits else asked.ack_wait


def _never_negative(asked: ConsumerConfig, _around: Surroundings) -> Changes:
    return {name: 0 for name in NEVER_NEGATIVE if getattr(asked, name) < 0}


def _max_deliver(asked: ConsumerConfig, _around: Surroundings) -> Changes:
    return {"max_deliver": -1} if asked.max_deliver <= 0 else {}


def _ack_wait(asked: ConsumerConfig, _around: Surroundings) -> Changes:
    """The first wait of a backoff is the one after the first delivery."""
    return {"ack_wait": asked.backoff[0] if asked.backoff else ack_wait_ns(asked)}


def _max_ack_pending(asked: ConsumerConfig, around: Surroundings) -> Changes:
    pending = max(asked.max_ack_pending, -1) or around.stream.consumer_limits.max_ack_pending
    if pending == 0 and asked.ack_policy is not AckPolicy.NONE:
        limits = (around.limits.server_ack_pending_max, around.limits.account_ack_pending_max)
        pending = min((bounds.MAX_ACK_PENDING, *(limit for limit in limits if limit > 0)))
    return {"max_ack_pending": pending}


def _inactive_threshold(asked: ConsumerConfig, around: Surroundings) -> Changes:
    if asked.inactive_threshold > 0:
        return {}
    return {"inactive_threshold": around.stream.consumer_limits.inactive_threshold}


def _pull(asked: ConsumerConfig, around: Surroundings) -> Changes:
    if asked.is_push:
        return {}
    changes: Changes = {}
    if asked.max_waiting <= 0:
        changes["max_waiting"] = bounds.MAX_WAITING
    if asked.max_batch <= 0 and around.limits.server_batch_max > 0:
        changes["max_batch"] = around.limits.server_batch_max
    return changes


def _priority_timeout(asked: ConsumerConfig, _around: Surroundings) -> Changes:
    pinned = asked.priority_policy is PriorityPolicy.PINNED_CLIENT
    if pinned and asked.priority_timeout <= 0:
        return {"priority_timeout": bounds.PRIORITY_TIMEOUT_NS}
    return {}


FILLERS: tuple[Filler, ...] = (
    _never_negative,
    _max_deliver,
    _ack_wait,
    _max_ack_pending,
    _inactive_threshold,
    _pull,
    _priority_timeout,
)


# Pedantic mode


def _is_below(name: str, least: int) -> Callable[[Draft], bool]:
    return lambda draft: getattr(draft.asked, name) < least


def _is_backoff_at_odds(draft: Draft) -> bool:
    backoff = draft.asked.backoff
    return bool(backoff) and backoff[0] != ack_wait_ns(draft.asked)


def _is_left_to_stream(name: str) -> Callable[[Draft], bool]:
    def is_left(draft: Draft) -> bool:
        asked: int = getattr(draft.asked, name)
        limit: int = getattr(draft.around.stream.consumer_limits, name)
        return asked == 0 and limit > 0

    return is_left


def _is_batch_left_to_server(draft: Draft) -> bool:
    limit = draft.around.limits.server_batch_max
    return not draft.asked.is_push and draft.asked.max_batch == 0 and limit > 0


ADJUSTMENTS: tuple[tuple[Callable[[Draft], bool], str], ...] = (
    (_is_below("max_deliver", -1), "max_deliver must be set to -1"),
    (_is_below("max_waiting", 0), "max_waiting must not be negative"),
    (_is_below("max_ack_pending", -1), "max_ack_pending must be set to -1"),
    *((_is_below(name, 0), f"{name} must not be negative") for name in NEVER_NEGATIVE[1:]),
    (_is_backoff_at_odds, "first backoff value has to equal batch AckWait"),
    (
        _is_left_to_stream("max_ack_pending"),
        "max_ack_pending must be set if it's configured in stream limits",
    ),
    (
        _is_left_to_stream("inactive_threshold"),
        "inactive_threshold must be set if it's configured in stream limits",
    ),
    (
        _is_batch_left_to_server,
        "max_request_batch must be set if it's JetStream limits are set",
    ),
)


def said_as_meant(draft: Draft) -> ApiError | None:
    """The pedantic check."""
    if not draft.pedantic:
        return None
    for is_adjusted, reason in ADJUSTMENTS:
        if is_adjusted(draft):
            return Fault.PEDANTIC.error(reason=reason)
    return None
