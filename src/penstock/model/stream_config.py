"""The configuration of a stream: its fields, and how a reply shows them.

The structs carry the API's JSON names; durations are nanoseconds, and a field that was not given
holds the API's zero value, which `streams.defaults` replaces. What a reply leaves out when it is
empty is one set for each struct, because the reference's choice follows no rule. How a request
is read stands in `stream_request`.
"""

import enum
import functools
from typing import Annotated, ClassVar

import msgspec

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Natural = Annotated[int, msgspec.Meta(ge=0)]  # up to 2^64 - 1: `stream_request` sees to that

_PLAIN = frozenset({bool, int, str, dict})  # shown as they are


class Retention(enum.StrEnum):
    """What removes a message, apart from the limits."""

    LIMITS = "limits"
    INTEREST = "interest"
    WORKQUEUE = "workqueue"


class Discard(enum.StrEnum):
    """What gives way at a limit."""

    OLD = "old"
    NEW = "new"


class Storage(enum.StrEnum):
    """Where messages are kept."""

    FILE = "file"
    MEMORY = "memory"


class Compression(enum.StrEnum):
    """How blocks are written."""

    NONE = "none"
    S2 = "s2"


class PersistMode(enum.StrEnum):
    """Whether an acknowledgement waits for the disk; the default is not shown."""

    DEFAULT = "default"
    ASYNC = "async"


class ReadConsistency(enum.StrEnum):
    """Who may answer direct reads (ADR-56); the default is not shown."""

    DEFAULT = "default"
    WEAK = "weak"
    STRONG = "strong"


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A piece of a configuration; `OMITTED` names what a reply leaves out when it is empty."""

    OMITTED: ClassVar[frozenset[str]] = frozenset()


class SubjectTransform(Part, frozen=True, kw_only=True):
    """`src` to `dest`, as `streams.transforms` reads them."""

    src: str = ""
    dest: str = ""


class Republish(Part, frozen=True, kw_only=True):
    """What is published again after it was stored."""

    OMITTED = frozenset({"src", "headers_only"})

    src: str = ""
    dest: str = ""
    headers_only: bool = False


class External(Part, frozen=True, kw_only=True):
    """How to reach a stream in another account or domain."""

    api: str = ""
    deliver: str = ""


class SourceConsumer(Part, frozen=True, kw_only=True):
    """The durable consumer that a source reads through."""

    OMITTED = frozenset({"name", "deliver_subject"})

    name: str = ""
    deliver_subject: str = ""


class Source(Part, frozen=True, kw_only=True):
    """The stream that a mirror follows or that feeds this one."""

    OMITTED = frozenset(
        {
            "opt_start_seq",
            "opt_start_time",
            "filter_subject",
            "subject_transforms",
            "external",
            "consumer",
        }
    )

    name: str = ""
    opt_start_seq: Natural = 0
    opt_start_time: str | None = None  # canonical, see model.timestamps
    filter_subject: str = ""
    subject_transforms: tuple[SubjectTransform, ...] = ()
    external: External | None = None
    consumer: SourceConsumer | None = None


class Placement(Part, frozen=True, kw_only=True):
    """Where in a cluster the stream may live."""

    OMITTED = frozenset({"cluster", "tags", "preferred"})

    cluster: str = ""
    tags: tuple[str, ...] | None = None  # no tags at all is said, and shown, as a placement
    preferred: str = ""


class ConsumerLimits(Part, frozen=True, kw_only=True):
    """Defaults and bounds for the consumers of the stream."""

    OMITTED = frozenset({"inactive_threshold", "max_ack_pending"})

    inactive_threshold: Int64 = 0
    max_ack_pending: Int64 = 0


class StreamConfig(Part, frozen=True, kw_only=True):
    """Everything that can be said about a stream."""

    OMITTED = frozenset(
        {
            "description",
            "subjects",
            "max_msg_size",
            "no_ack",
            "duplicate_window",
            "placement",
            "mirror",
            "sources",
            "first_seq",
            "subject_transform",
            "republish",
            "discard_new_per_subject",
            "subject_delete_marker_ttl",
            "allow_msg_counter",
            "allow_atomic",
            "allow_msg_schedules",
            "allow_batched",
            "persist_mode",
            "read_consistency",
            "metadata",
        }
    )

    name: str = ""
    description: str = ""
    subjects: tuple[str, ...] = ()
    retention: Retention = Retention.LIMITS
    max_consumers: Int64 = 0
    max_msgs: Int64 = 0
    max_bytes: Int64 = 0
    max_age: Int64 = 0
    max_msgs_per_subject: Int64 = 0
    max_msg_size: Int32 = 0
    discard: Discard = Discard.OLD
    discard_new_per_subject: bool = False
    storage: Storage = Storage.FILE
    num_replicas: Int64 = 0
    no_ack: bool = False
    duplicate_window: Int64 = 0
    first_seq: Natural = 0
    placement: Placement | None = None
    mirror: Source | None = None
    sources: tuple[Source, ...] = ()
    compression: Compression = Compression.NONE
    subject_transform: SubjectTransform | None = None
    republish: Republish | None = None
    allow_direct: bool = False
    mirror_direct: bool = False
    sealed: bool = False
    deny_delete: bool = False
    deny_purge: bool = False
    allow_rollup_hdrs: bool = False
    consumer_limits: ConsumerLimits = ConsumerLimits()
    allow_msg_ttl: bool = False
    subject_delete_marker_ttl: Int64 = 0
    allow_msg_counter: bool = False
    allow_atomic: bool = False
    allow_msg_schedules: bool = False
    allow_batched: bool = False
    persist_mode: PersistMode = PersistMode.DEFAULT
    read_consistency: ReadConsistency = ReadConsistency.DEFAULT
    metadata: dict[str, str] = msgspec.field(default_factory=dict)


def shown(part: Part) -> dict[str, object]:
    """A configuration as a reply has it: plain values for JSON."""
    omitted = part.OMITTED
    return {
        name: value if type(value) in _PLAIN else _plain(value)
        for name, value in zip(part.__struct_fields__, msgspec.structs.astuple(part), strict=True)
        if name not in omitted or (value and (type(value) in _PLAIN or not _says_nothing(value)))
    }


def _says_nothing(value: object) -> bool:
    """The first member of an enumeration is what it means to say nothing."""
    return isinstance(value, enum.Enum) and value is _first(type(value))


@functools.cache
def _first(members: type[enum.Enum]) -> enum.Enum:
    return next(iter(members))


def _plain(value: object) -> object:
    if isinstance(value, Part):
        return shown(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.value if isinstance(value, enum.Enum) else value
