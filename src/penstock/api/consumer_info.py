"""How a consumer is shown: configuration, where it is, and what waits for it."""

from typing import Any, NamedTuple

from penstock.consumers.consumer import Consumer
from penstock.consumers.versioning import NEVER
from penstock.model.consumer_config import ConsumerConfig
from penstock.model.stream_config import shown
from penstock.model.timestamps import rfc3339, unix_ns
from penstock.streams.versioning import shown_metadata

INT64_MAX = 2**63 - 1  # no duration of the API is longer


class Progress(NamedTuple):
    """How far something got: in deliveries, in messages of the stream, and when it last moved."""

    consumer_sequence: int = 0
    stream_sequence: int = 0
    time_ns: int | None = None


class ConsumerState(NamedTuple):
    """What changes while a consumer works."""

    delivered: Progress = Progress()
    ack_floor: Progress = Progress()
    num_ack_pending: int = 0
    num_redelivered: int = 0
    num_waiting: int = 0
    num_pending: int = 0
    is_push_bound: bool = False  # push only: whether somebody listens
    pinned_id: str = ""  # pinned_client only: who has the pin, and since when
    pinned_ns: int | None = None


def state_of(consumer: Consumer, now_ns: int) -> ConsumerState:
    """As of now: requests that nobody listens for any more do not count."""
    core, pulling, pushing = consumer.core, consumer.pulling, consumer.pushing
    if pulling is not None:
        pulling.look(now_ns, at_end=False)
    figures = core.figures
    delivered = (figures.delivered_consumer, core.delivered_stream)
    return ConsumerState(
        delivered=Progress(*delivered, core.delivered_ns),
        ack_floor=Progress(figures.floor_consumer, figures.floor_stream, core.acked_ns),
        num_ack_pending=figures.ack_pending,
        num_redelivered=figures.redelivered,
        num_waiting=0 if pulling is None else len(pulling.waiting),
        num_pending=core.outlet.pending(),
        is_push_bound=pushing is not None and pushing.is_bound,
        pinned_id="" if pulling is None else pulling.priority.pin,
        pinned_ns=None if pulling is None else pulling.priority.pinned_ns,
    )


def show_consumer(
    stream: str,
    name: str,
    config: ConsumerConfig,
    created_ns: int,
    state: ConsumerState,
    now_ns: int,
    *,
    with_versions: bool = True,
) -> dict[str, Any]:
    """A consumer as CREATE, INFO and LIST show it; LIST leaves the versions out."""
    fields: dict[str, Any] = {
        "stream_name": stream,
        "name": name,
        "created": rfc3339(created_ns),
        "config": show_config(config, with_versions=with_versions),
        "delivered": _shown_progress(state.delivered),
        "ack_floor": _shown_progress(state.ack_floor),
        "num_ack_pending": state.num_ack_pending,
        # With one delivery for each message there is no second, only messages given up.
        "num_redelivered": 0 if config.max_deliver == 1 else state.num_redelivered,
        "num_waiting": state.num_waiting,
        "num_pending": state.num_pending,
        "ts": rfc3339(now_ns),
    }
    if state.is_push_bound:
        fields["push_bound"] = True
    if remaining_ns := pause_remaining_ns(config, now_ns):
        fields |= {"paused": True, "pause_remaining": remaining_ns}
    if config.priority_groups:
        fields["priority_groups"] = [_shown_group(config.priority_groups[0], state)]
    return fields


def show_config(config: ConsumerConfig, *, with_versions: bool) -> dict[str, Any]:
    fields = shown(config)
    if with_versions:
        fields["metadata"] = shown_metadata(config.metadata)
    return fields


def pause_remaining_ns(config: ConsumerConfig, now_ns: int) -> int:
    """How long a pause still lasts; 0 if there is none."""
    if config.pause_until is None:
        return 0
    return min(max(unix_ns(config.pause_until) - now_ns, 0), INT64_MAX)


def _shown_progress(progress: Progress) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "consumer_seq": progress.consumer_sequence,
        "stream_seq": progress.stream_sequence,
    }
    if progress.time_ns is not None:
        fields["last_active"] = rfc3339(progress.time_ns)
    return fields


def _shown_group(group: str, state: ConsumerState) -> dict[str, Any]:
    """As the reference: of several groups, the first is the one in use."""
    fields: dict[str, Any] = {"group": group}
    if state.pinned_id:
        fields["pinned_client_id"] = state.pinned_id
    fields["pinned_ts"] = NEVER if state.pinned_ns is None else rfc3339(state.pinned_ns)
    return fields
