"""The configuration of a consumer: its fields, and what a reply leaves out.

As for streams, the struct carries the API's JSON names, durations are nanoseconds, moments are
canonical text, and a field that was not given holds the API's zero value, which
`consumers.defaults` replaces. How a request is read stands in `consumer_request`.
"""

import enum

import msgspec

from penstock.model.stream_config import Int64, Natural, Part


class DeliverPolicy(enum.StrEnum):
    """Where a consumer starts."""

    ALL = "all"
    LAST = "last"
    NEW = "new"
    BY_START_SEQUENCE = "by_start_sequence"
    BY_START_TIME = "by_start_time"
    LAST_PER_SUBJECT = "last_per_subject"


class AckPolicy(enum.StrEnum):
    """What counts as acknowledged."""

    NONE = "none"
    ALL = "all"
    EXPLICIT = "explicit"
    FLOW_CONTROL = "flow_control"


class ReplayPolicy(enum.StrEnum):
    """How fast stored messages are delivered."""

    INSTANT = "instant"
    ORIGINAL = "original"


class PriorityPolicy(enum.StrEnum):
    """Which of the waiting clients gets a message; no policy is not shown."""

    NONE = "none"
    OVERFLOW = "overflow"
    PINNED_CLIENT = "pinned_client"
    PRIORITIZED = "prioritized"


class ConsumerConfig(Part, frozen=True, kw_only=True):
    """Everything that can be said about a consumer."""

    OMITTED = frozenset(
        {
            "durable_name",
            "name",
            "description",
            "opt_start_seq",
            "opt_start_time",
            "ack_wait",
            "max_deliver",
            "backoff",
            "filter_subject",
            "filter_subjects",
            "rate_limit_bps",
            "sample_freq",
            "max_waiting",
            "max_ack_pending",
            "flow_control",
            "headers_only",
            "max_batch",
            "max_expires",
            "max_bytes",
            "deliver_subject",
            "deliver_group",
            "idle_heartbeat",
            "inactive_threshold",
            "mem_storage",
            "direct",
            "sourcing",
            "metadata",
            "pause_until",
            "priority_groups",
            "priority_policy",
            "priority_timeout",
        }
    )

    durable_name: str = ""
    name: str = ""
    description: str = ""
    deliver_policy: DeliverPolicy = DeliverPolicy.ALL
    opt_start_seq: Natural = 0
    opt_start_time: str | None = None  # canonical, see model.timestamps
    ack_policy: AckPolicy = AckPolicy.NONE
    ack_wait: Int64 = 0
    max_deliver: Int64 = 0
    backoff: tuple[Int64, ...] = ()
    filter_subject: str = ""
    filter_subjects: tuple[str, ...] = ()
    replay_policy: ReplayPolicy = ReplayPolicy.INSTANT
    rate_limit_bps: Natural = 0
    sample_freq: str = ""
    max_waiting: Int64 = 0
    max_ack_pending: Int64 = 0
    flow_control: bool = False
    headers_only: bool = False
    max_batch: Int64 = 0
    max_expires: Int64 = 0
    max_bytes: Int64 = 0
    deliver_subject: str = ""
    deliver_group: str = ""
    idle_heartbeat: Int64 = 0
    inactive_threshold: Int64 = 0
    num_replicas: Int64 = 0
    mem_storage: bool = False
    direct: bool = False
    sourcing: bool = False
    metadata: dict[str, str] = msgspec.field(default_factory=dict)
    pause_until: str | None = None  # canonical
    priority_groups: tuple[str, ...] = ()
    priority_policy: PriorityPolicy = PriorityPolicy.NONE
    priority_timeout: Int64 = 0

    @property
    def is_push(self) -> bool:
        """Whether the server sends by itself, instead of being asked for each batch."""
        return bool(self.deliver_subject)

    @property
    def filters(self) -> tuple[str, ...]:
        """The subjects it wants, however they were given; none means every subject."""
        return (self.filter_subject,) if self.filter_subject else self.filter_subjects
