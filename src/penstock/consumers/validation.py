"""Whether a consumer may be what a request asks for.

`CHECKS` is every rule of a configuration, in the order of precedence that the reference shows: the
first rule that objects gives the answer, so moving a line changes what clients read. A consumer
that is new has to find its place beside the others (`PLACE_CHECKS`); for one that exists there is
`updates`. A filter may name subjects that the stream does not have: they may come later.
"""

import re

from penstock.consumers import bounds
from penstock.consumers.draft import Check, Draft, refused
from penstock.model.api_errors import ApiError, Fault
from penstock.model.consumer_config import AckPolicy, DeliverPolicy, PriorityPolicy
from penstock.model.consumer_request import ConsumerRequest
from penstock.model.stream_config import Retention
from penstock.streams import overlaps, subjects
from penstock.streams.bounds import DESCRIPTION_BYTES_MAX, METADATA_BYTES_MAX, NAME_BYTES_MAX
from penstock.streams.durations import duration_text
from penstock.streams.origins import is_valid_name
from penstock.streams.overlaps import crossing

INT64_MAX = 2**63 - 1
_WHOLE = re.compile(r"[+-]?[0-9]+")
_GROUP = re.compile(r"[a-zA-Z0-9/_=-]{1,16}")


def one_replica(request: ConsumerRequest) -> ApiError | None:
    """Asked before the stream is looked up: a single server has no second copy of anything."""
    if request.config.num_replicas > 1:
        return Fault.REPLICAS_NOT_SUPPORTED.error()
    return None


# The configuration


def names_are_usable(draft: Draft) -> ApiError | None:
    """They become part of subjects."""
    for kind, name in (("", draft.config.name), ("durable ", draft.config.durable_name)):
        if name and not is_valid_name(name):
            return refused(f"consumer {kind}name can not contain '.', '*', '>', '\\', '/'")
    return None


def replicas_suit_stream(draft: Draft) -> ApiError | None:
    replicas, stream = draft.config.num_replicas, draft.around.stream
    if replicas > stream.num_replicas:
        return Fault.CONSUMER_REPLICAS_EXCEEDED.error()
    if replicas < 0:
        return Fault.REPLICAS_NEGATIVE.error()
    # What a consumer has acknowledged decides there what the stream still has.
    decides = stream.retention is not Retention.LIMITS
    if decides and replicas not in (0, stream.num_replicas):
        return Fault.CONSUMER_REPLICAS_DIFFER.error()
    return None


def waits_are_not_negative(draft: Draft) -> ApiError | None:
    if any(wait_ns < 0 for wait_ns in draft.config.backoff):
        return Fault.BACKOFF_NEGATIVE.error()
    if draft.config.ack_wait < 0:
        return Fault.ACK_WAIT_NEGATIVE.error()
    return None


def flow_control_acks(draft: Draft) -> ApiError | None:
    """What `ack_policy` flow_control asks of the rest; what is not said of it is filled in, but not
    in pedantic mode."""
    config, is_strict = draft.config, draft.pedantic
    if config.ack_policy is not AckPolicy.FLOW_CONTROL:
        return None
    if not config.is_push:
        return Fault.FLOW_ACKS_REQUIRE_PUSH.error()
    if is_strict and not config.flow_control:
        return Fault.FLOW_ACKS_REQUIRE_FLOW_CONTROL.error()
    if is_strict and config.idle_heartbeat != bounds.FLOW_ACKS_HEARTBEAT_NS:
        return refused("flow control ack policy heartbeat needs to be 1s")
    mistakes = (
        (config.max_ack_pending <= 0, Fault.FLOW_ACKS_REQUIRE_MAX_ACK_PENDING),
        (config.ack_wait != 0 or bool(config.backoff), Fault.FLOW_ACKS_WITH_ACK_WAIT),
        (config.max_deliver > 0, Fault.FLOW_ACKS_WITH_MAX_DELIVER),
    )
    return _first_made(mistakes)


def backoff_fits_max_deliver(draft: Draft) -> ApiError | None:
    config = draft.config
    if config.max_deliver != -1 and len(config.backoff) > config.max_deliver:
        return Fault.BACKOFF_LONGER_THAN_MAX_DELIVER.error()
    return None


def description_is_short(draft: Draft) -> ApiError | None:
    if len(draft.config.description.encode()) > DESCRIPTION_BYTES_MAX:
        return Fault.CONSUMER_DESCRIPTION_TOO_LONG.error(limit=DESCRIPTION_BYTES_MAX)
    return None


def push_is_sound(draft: Draft) -> ApiError | None:
    config = draft.config
    deliver = config.deliver_subject
    if not deliver:
        return None
    heartbeat_ns = config.idle_heartbeat
    mistakes = (
        (_has_wildcard(deliver), Fault.DELIVER_WILDCARD),
        (not subjects.is_valid(deliver), Fault.DELIVER_INVALID),
        (_is_stored(deliver, draft.around.stream.subjects), Fault.DELIVER_CYCLE),
        (config.max_waiting != 0, Fault.PUSH_WITH_MAX_WAITING),
        (
            config.max_ack_pending > 0 and config.ack_policy is AckPolicy.NONE,
            Fault.MAX_ACK_PENDING_WITHOUT_ACKS,
        ),
        (0 < heartbeat_ns < bounds.IDLE_HEARTBEAT_NS_MIN, Fault.HEARTBEAT_TOO_SMALL),
    )
    return _first_made(mistakes)


def pull_is_sound(draft: Draft) -> ApiError | None:
    config, stream = draft.config, draft.around.stream
    if config.is_push:
        return None
    is_workqueue = stream.retention is Retention.WORKQUEUE
    mistakes = (
        (config.ack_policy is AckPolicy.NONE and is_workqueue, Fault.PULL_REQUIRES_ACK),
        (config.rate_limit_bps > 0, Fault.PULL_WITH_RATE_LIMIT),
        (config.idle_heartbeat > 0, Fault.HEARTBEAT_REQUIRES_PUSH),
        (config.flow_control, Fault.FLOW_CONTROL_REQUIRES_PUSH),
        (0 < config.max_expires < bounds.MAX_EXPIRES_NS_MIN, Fault.MAX_EXPIRES_TOO_SMALL),
    )
    if (error := _first_made(mistakes)) is not None:
        return error
    limit = draft.around.limits.server_batch_max
    if 0 < limit < config.max_batch:
        return Fault.MAX_BATCH_EXCEEDED.error(limit=limit)
    return None


def _first_made(mistakes: tuple[tuple[bool, Fault], ...]) -> ApiError | None:
    return next((fault.error() for is_made, fault in mistakes if is_made), None)


def _has_wildcard(subject: str) -> bool:
    tokens = subject.split(".")
    return subjects.WILDCARD in tokens or subjects.REST in tokens


def _is_stored(subject: str, patterns: tuple[str, ...]) -> bool:
    """Whether what is delivered would come back into the stream."""
    return any(subjects.is_subset(subject, pattern) for pattern in patterns)


def limits_are_kept(draft: Draft) -> ApiError | None:
    config, around = draft.config, draft.around
    stream_limits = around.stream.consumer_limits
    for limit in (
        around.limits.server_ack_pending_max,
        around.limits.account_ack_pending_max,
        stream_limits.max_ack_pending,
    ):
        if 0 < limit < config.max_ack_pending:
            return Fault.MAX_ACK_PENDING_EXCEEDED.error(limit=limit)
    if 0 < stream_limits.inactive_threshold < config.inactive_threshold:
        limit_text = duration_text(stream_limits.inactive_threshold)
        return Fault.INACTIVE_THRESHOLD_EXCEEDED.error(limit=limit_text)
    return None


def direct_suits_consumer(draft: Draft) -> ApiError | None:
    config = draft.config
    mistakes = (
        (config.direct and not config.is_push, Fault.DIRECT_REQUIRES_PUSH),
        (config.direct and bool(config.durable_name), Fault.DIRECT_REQUIRES_EPHEMERAL),
    )
    return _first_made(mistakes)


def filters_are_apart(draft: Draft) -> ApiError | None:
    """No filter may be part of another: a subject in both has no one place. Crossing is fine."""
    config = draft.config
    if config.filter_subject and config.filter_subjects:
        return Fault.FILTERED_TWICE.error()
    if "" in config.filter_subjects:
        return Fault.FILTER_EMPTY.error()
    # Whichever comes first: a filter that is none, or one that is part of another.
    wrong = [at for at, subject in enumerate(config.filters) if not subjects.is_valid(subject)]
    valid = tuple(filter(subjects.is_valid, config.filters))
    count = wrong[0] if wrong else len(valid)
    if overlaps.are_nested(valid, count, crossing("consumer filters")):
        return Fault.FILTERS_OVERLAP.error()
    return refused("invalid subject") if wrong else None


def start_suits_policy(draft: Draft) -> ApiError | None:
    config = draft.config
    policy = config.deliver_policy
    words = policy.value.replace("_", " ")
    has_sequence, has_time = config.opt_start_seq > 0, config.opt_start_time is not None
    by_sequence = policy is DeliverPolicy.BY_START_SEQUENCE
    by_time = policy is DeliverPolicy.BY_START_TIME
    is_unfiltered = policy is DeliverPolicy.LAST_PER_SUBJECT and not config.filters
    sequence = "start sequence" if by_time else "sequence"
    mistakes = (
        (by_sequence and not has_sequence, "optional start sequence is not set"),
        (by_time and not has_time, "optional start time is not set"),
        (has_sequence and not by_sequence, f"optional start {sequence} is also set"),
        (has_time and not by_time, "optional start time is also set"),
        (is_unfiltered, "optional filter subject is not set"),
    )
    for is_made, mistake in mistakes:
        if is_made:
            reason = f"consumer delivery policy is deliver {words}, but {mistake}"
            return Fault.CONSUMER_POLICY_INVALID.error(reason=reason)
    return None


def sampling_is_a_share(draft: Draft) -> ApiError | None:
    """A whole number, with or without a percent sign."""
    share = draft.config.sample_freq.removesuffix("%")
    if not draft.config.sample_freq:
        return None
    if not _WHOLE.fullmatch(share):
        reason = f"strconv.Atoi: parsing {subjects.quoted(share)}: invalid syntax"
    elif _is_beyond_int64(share):
        reason = f"strconv.Atoi: parsing {subjects.quoted(share)}: value out of range"
    elif share.startswith("-") and share.strip("-0"):
        reason = "<nil>"  # the reference has no word for a share below zero
    else:
        return None
    return Fault.SAMPLING_INVALID.error(reason=reason)


def _is_beyond_int64(number: str) -> bool:
    """Without making a number of text that may be very long."""
    digits = number.lstrip("+-").lstrip("0")
    largest = str(INT64_MAX + number.startswith("-"))
    return (len(digits), digits) > (len(largest), largest)


def flow_control_has_heartbeats(draft: Draft) -> ApiError | None:
    if draft.config.flow_control and draft.config.idle_heartbeat == 0:
        return Fault.FLOW_CONTROL_REQUIRES_HEARTBEAT.error()
    return None


def names_are_one(draft: Draft) -> ApiError | None:
    """The subjects of the API see to that; a configuration from elsewhere may differ."""
    name, durable = draft.config.name, draft.config.durable_name
    return Fault.CONSUMER_NAMES_DIFFER.error() if name and durable and name != durable else None


def metadata_is_small(draft: Draft) -> ApiError | None:
    metadata = draft.config.metadata.items()
    if sum(len(f"{key}{value}".encode()) for key, value in metadata) > METADATA_BYTES_MAX:
        return Fault.CONSUMER_METADATA_TOO_LARGE.error(limit=f"{METADATA_BYTES_MAX // 1024}KB")
    return None


def is_group(name: str) -> bool:
    return _GROUP.fullmatch(name) is not None


def priorities_are_complete(draft: Draft) -> ApiError | None:
    config = draft.config
    if config.priority_policy is PriorityPolicy.NONE:
        mistakes = (
            (bool(config.priority_groups), Fault.PRIORITY_GROUP_WITHOUT_POLICY),
            (config.priority_timeout > 0, Fault.PINNED_TTL_WITHOUT_POLICY),
        )
        return _first_made(mistakes)
    if config.is_push:
        return Fault.PRIORITY_GROUP_WITH_PUSH.error()
    if not config.priority_groups:
        return Fault.PRIORITY_POLICY_WITHOUT_GROUP.error()
    for group in config.priority_groups:
        if not group:
            return Fault.PRIORITY_GROUP_EMPTY.error()
        if not is_group(group):
            return Fault.PRIORITY_GROUP_INVALID.error()
    return None


def nothing_unbuilt(draft: Draft) -> ApiError | None:
    """What penstock does not do yet is refused by name, never ignored."""
    config = draft.config
    unbuilt = {
        "ack_policy flow_control": config.ack_policy is AckPolicy.FLOW_CONTROL,
        "direct": config.direct,
        "sourcing": config.sourcing,
    }
    for field, is_used in unbuilt.items():
        if is_used:
            return refused(f"{field} is not supported")
    return None


# The place that a new consumer takes


def consumers_are_not_too_many(draft: Draft) -> ApiError | None:
    """The account's limit holds for each stream, as the reference counts."""
    limits = (draft.around.stream.max_consumers, draft.around.limits.account_consumers_max)
    if any(0 < limit <= len(draft.around.consumers) for limit in limits):
        return Fault.CONSUMERS_EXCEEDED.error()
    return None


def workqueue_is_shared_out(draft: Draft) -> ApiError | None:
    """Each message of a work queue has one consumer, which says when it is done."""
    if draft.around.stream.retention is not Retention.WORKQUEUE:
        return None
    if draft.config.ack_policy is not AckPolicy.EXPLICIT:
        return Fault.WORKQUEUE_REQUIRES_EXPLICIT_ACK.error()
    if draft.config.deliver_policy is not DeliverPolicy.ALL:
        return Fault.WORKQUEUE_NOT_DELIVER_ALL.error()
    return workqueue_overlap(draft, "")


def workqueue_overlap(draft: Draft, name: str) -> ApiError | None:
    """Whether a message could belong to this consumer and to another; `name` is its own."""
    if draft.around.stream.retention is not Retention.WORKQUEUE:
        return None
    others = draft.around.others(name)
    if not others:
        return None
    if not draft.config.filters:
        return Fault.WORKQUEUE_UNFILTERED_TWICE.error()
    taken = (subject for other in others for subject in other.filters or (subjects.REST,))
    steps = crossing("consumer filters and those of other consumers")
    if overlaps.meet(draft.config.filters, taken, steps):
        return Fault.WORKQUEUE_FILTER_NOT_UNIQUE.error()
    return None


def name_is_short(draft: Draft) -> ApiError | None:
    """Of ephemerals too; the reference makes them in memory, and on disk fails with 10012."""
    name = draft.config.durable_name or draft.config.name
    if len(name.encode()) > NAME_BYTES_MAX:
        return Fault.CONSUMER_NAME_TOO_LONG.error(limit=NAME_BYTES_MAX)
    return None


CHECKS: tuple[Check, ...] = (
    names_are_usable,
    replicas_suit_stream,
    waits_are_not_negative,
    flow_control_acks,
    backoff_fits_max_deliver,
    description_is_short,
    push_is_sound,
    pull_is_sound,
    limits_are_kept,
    direct_suits_consumer,
    filters_are_apart,
    start_suits_policy,
    sampling_is_a_share,
    flow_control_has_heartbeats,
    names_are_one,
    metadata_is_small,
    priorities_are_complete,
    nothing_unbuilt,
)
PLACE_CHECKS: tuple[Check, ...] = (
    consumers_are_not_too_many,
    workqueue_is_shared_out,
    name_is_short,
)
