"""Whether a stream may be what a request asks for.

`CHECKS` is every rule of a configuration, in the order of precedence that the reference shows:
the first rule that objects gives the answer, so moving a line changes what clients read. Create
has more rules before (`REQUEST_CHECKS`, about the request) and after (`ADMISSION_CHECKS`, about
the place the stream would take); updates have their own in `updates`. All are pure: the other
streams, the limits and the fields that the request named come with the `Draft`.
"""

from penstock.model.api_errors import ApiError, Fault
from penstock.model.limits import SEQUENCE_START_MAX
from penstock.model.stream_config import (
    Compression,
    Discard,
    PersistMode,
    Retention,
    Source,
    Storage,
    StreamConfig,
)
from penstock.model.stream_request import StreamRequest
from penstock.streams import bounds, defaults, origins, overlaps, resources, subjects, transforms
from penstock.streams.draft import Check, Draft, first_error, refused
from penstock.streams.durations import duration_text
from penstock.streams.overlaps import crossing
from penstock.streams.resources import Surroundings
from penstock.streams.versioning import REQUIRED_KEY


def check_create(
    name: str, request: StreamRequest, around: Surroundings
) -> ApiError | StreamConfig:
    """The configuration of the stream to make, or why not; `name` is that of the API's subject.

    If there is one with the same configuration already, that is the answer: creating it again
    changes nothing.
    """
    if request.config.name != name:
        return Fault.STREAM_NAME_MISMATCH.error()
    draft = drafted(request, around)
    if (error := first_error((*REQUEST_CHECKS, *CHECKS, one_replica), draft)) is not None:
        return error
    existing = around.streams.get(name)
    if existing is not None:
        return existing if is_same(draft.config, existing) else Fault.STREAM_EXISTS.error()
    return first_error(ADMISSION_CHECKS, draft) or draft.config


def drafted(request: StreamRequest, around: Surroundings) -> Draft:
    config = defaults.filled(request.config, around)
    return Draft(request.config, config, request.given, request.pedantic, around)


def is_same(left: StreamConfig, right: StreamConfig) -> bool:
    """Whether two configurations say the same; the level they need follows from the rest."""
    return _without_level(left) == _without_level(right)


def _without_level(config: StreamConfig) -> tuple[object, ...]:
    metadata = {key: value for key, value in config.metadata.items() if key != REQUIRED_KEY}
    fields = (getattr(config, name) for name in config.__struct_fields__ if name != "metadata")
    return (*fields, metadata)


# Before the configuration itself is looked at


def name_is_no_path(draft: Draft) -> ApiError | None:
    if "/" in draft.asked.name or "\\" in draft.asked.name:
        return Fault.STREAM_NAME_PATH.error()
    return None


def not_sealed_at_birth(draft: Draft) -> ApiError | None:
    if draft.asked.sealed:
        return refused("stream configuration for create can not be sealed")
    return None


def mirror_direct_has_a_mirror(draft: Draft) -> ApiError | None:
    if draft.asked.mirror_direct and draft.asked.mirror is None:
        return refused("stream has no mirror but does have mirror direct")
    return None


def streams_are_not_too_many(draft: Draft) -> ApiError | None:
    return resources.too_many_streams(draft.asked, draft.around)


def asked_fits_resources(draft: Draft) -> ApiError | None:
    """As asked, defaults aside; the reference looks so early only where the storage is named."""
    return resources.exceeded(draft.asked, draft.around) if "storage" in draft.given else None


# The configuration


def name_is_usable(draft: Draft) -> ApiError | None:
    if not origins.is_valid_name(draft.asked.name):
        reason = "stream name is required and can not contain '.', '*', '>', '\\', '/'"
        return refused(reason)
    if len(draft.asked.name.encode()) > bounds.NAME_BYTES_MAX:
        return refused(f"stream name is too long, maximum allowed is {bounds.NAME_BYTES_MAX}")
    return None


def texts_are_short(draft: Draft) -> ApiError | None:
    if len(draft.asked.description.encode()) > bounds.DESCRIPTION_BYTES_MAX:
        limit = bounds.DESCRIPTION_BYTES_MAX
        return refused(f"stream description is too long, maximum allowed is {limit}")
    metadata = draft.config.metadata.items()
    if sum(len(f"{key}{value}".encode()) for key, value in metadata) > bounds.METADATA_BYTES_MAX:
        limit = bounds.METADATA_BYTES_MAX
        return refused(f"stream metadata exceeds maximum size of {limit} bytes")
    return None


def nothing_unbuilt(draft: Draft) -> ApiError | None:
    """What penstock does not do yet is refused by name, never ignored."""
    asked = draft.asked
    origin_fields = [field for origin in _origins(asked) for field in _unbuilt_fields(origin)]
    unbuilt = {
        **dict.fromkeys(origin_fields, True),
        "compression": asked.compression is not Compression.NONE,
        "allow_msg_schedules": asked.allow_msg_schedules,
        "allow_batched": asked.allow_batched,
    }
    for field, is_used in unbuilt.items():
        if is_used:
            return refused(f"{field} is not supported")
    return None


def _origins(config: StreamConfig) -> tuple[Source, ...]:
    return config.sources if config.mirror is None else (config.mirror, *config.sources)


def _unbuilt_fields(origin: Source) -> list[str]:
    return [name for name in ("external", "consumer") if getattr(origin, name) is not None]


def replicas_are_few(draft: Draft) -> ApiError | None:
    if draft.config.num_replicas > bounds.REPLICAS_MAX:
        return refused(f"maximum replicas is {bounds.REPLICAS_MAX}")
    if draft.config.num_replicas < 0:
        return Fault.REPLICAS_NEGATIVE.error()
    return None


def first_sequence_leaves_room(draft: Draft) -> ApiError | None:
    if draft.config.first_seq > SEQUENCE_START_MAX:
        return refused(f"first sequence must be <= {SEQUENCE_START_MAX}")
    return None


def limits_are_meant(draft: Draft) -> ApiError | None:
    for name in defaults.UNLIMITED:
        if draft.pedantic and getattr(draft.asked, name) < -1:
            return Fault.PEDANTIC.error(reason=f"{name} must be set to -1")
    return None


def max_age_is_sane(draft: Draft) -> ApiError | None:
    if draft.asked.max_age < 0:
        return refused("max age can not be negative")
    if 0 < draft.asked.max_age < bounds.MAX_AGE_NS_MIN:
        return refused("max age needs to be >= 100ms")
    return None


def default_window_is_meant(draft: Draft) -> ApiError | None:
    if not draft.pedantic or not defaults.has_default_window(draft.asked):
        return None
    window_ns = defaults.duplicate_window_ns(draft.around)
    if window_ns < bounds.DUPLICATE_WINDOW_NS:
        reason = "duplicate window limits are higher than current limits"
        return Fault.PEDANTIC.error(reason=reason)
    if 0 < draft.asked.max_age < window_ns:
        return Fault.PEDANTIC.error(reason="duplicate window cannot be bigger than max age")
    return None


def window_is_sane(draft: Draft) -> ApiError | None:
    window_ns, max_age_ns = draft.config.duplicate_window, draft.config.max_age
    limit_ns = draft.around.server.duplicate_window_max_ns
    if window_ns < 0:
        return refused("duplicates window can not be negative")
    if 0 < max_age_ns < window_ns:
        return refused("duplicates window can not be larger then max age")
    if 0 < limit_ns < window_ns:
        limit = duration_text(limit_ns)
        return refused(f"duplicates window can not be larger then server limit of {limit}")
    if 0 < window_ns < bounds.DUPLICATE_WINDOW_NS_MIN:
        return refused("duplicates window needs to be >= 100ms")
    return None


def rollups_may_purge(draft: Draft) -> ApiError | None:
    if draft.asked.deny_purge and draft.asked.allow_rollup_hdrs:
        return refused("roll-ups require the purge permission")
    return None


def counters_only_count(draft: Draft) -> ApiError | None:
    """ADR-49. A marker TTL turns message TTLs on, so it is refused too (the reference takes it)."""
    config = draft.config
    if not config.allow_msg_counter:
        return None
    if config.discard is Discard.NEW:
        return refused("counter stream cannot use discard new")
    if config.allow_msg_ttl:
        return refused("counter stream cannot use message TTLs")
    if config.retention is not Retention.LIMITS:
        return refused("counter stream can only use limits retention")
    return None


def discard_per_subject_is_complete(draft: Draft) -> ApiError | None:
    config = draft.config
    if not config.discard_new_per_subject:
        return None
    if config.discard is not Discard.NEW:
        return refused("discard new per subject requires discard new policy to be set")
    if config.max_msgs_per_subject <= 0:
        return refused("discard new per subject requires max msgs per subject > 0")
    return None


def markers_are_possible(draft: Draft) -> ApiError | None:
    asked = draft.asked
    if asked.subject_delete_marker_ttl < 0:
        return refused("subject delete marker TTL must not be negative")
    if asked.subject_delete_marker_ttl == 0:
        return None
    if asked.subject_delete_marker_ttl < bounds.MARKER_TTL_NS_MIN:
        return refused("subject delete marker TTL must be at least 1 second")
    if draft.pedantic and not asked.allow_msg_ttl:
        return refused("subject delete marker cannot be set if message TTLs are disabled")
    if draft.pedantic and not asked.allow_rollup_hdrs:
        return refused("subject delete marker cannot be set if roll-ups are disabled")
    return None


def async_is_possible(draft: Draft) -> ApiError | None:
    config = draft.config
    if config.persist_mode is not PersistMode.ASYNC:
        return None
    if config.storage is not Storage.FILE:
        return refused("async persist mode is only supported on file storage")
    if config.num_replicas > 1:
        return refused("async persist mode is not supported on replicated streams")
    if config.allow_atomic:
        return refused("async persist mode is not supported with atomic batch publish")
    return None


def consistency_is_undisputed(draft: Draft) -> ApiError | None:
    """What `read_consistency` decides, a request may repeat but not contradict."""
    level = draft.config.read_consistency
    for name, decided in defaults.controlled(draft.config).items():
        if name in draft.given and getattr(draft.asked, name) is not decided:
            value = str(decided).lower()
            return refused(f"read consistency {level.value} requires {name} to be {value}")
    return None


def subjects_are_apart(draft: Draft) -> ApiError | None:
    """Whichever comes first: a subject that cannot be, or one that overlaps with a later one."""
    asked = draft.asked.subjects
    checked = ((at, _subject_error(subject, draft.config)) for at, subject in enumerate(asked))
    count, error = next(((at, error) for at, error in checked if error), (len(asked), None))
    if draft.standing is not None and draft.standing.subjects == asked:
        return error
    first = overlaps.first_meeting(asked, count, crossing("subjects of the stream"))
    if first is None:
        return error
    later = asked[first + 1 :]
    other = next(other for other in later if subjects.collide(asked[first], other))
    pair = f"{subjects.quoted(asked[first])} overlaps with {subjects.quoted(other)}"
    return refused(f"subject {pair}")


def _subject_error(subject: str, config: StreamConfig) -> ApiError | None:
    if not subjects.is_valid(subject):
        return refused("invalid subject")
    return _subject_taken(subject, config)


def _subject_taken(subject: str, config: StreamConfig) -> ApiError | None:
    """Acknowledging what the server itself sends or answers would never end."""
    if subject == subjects.REST:
        if not config.no_ack:
            return refused("capturing all subjects requires no-ack to be true")
        if config.num_replicas != 1:
            return refused("capturing all subjects requires replicas of 1")
    if config.no_ack:
        return None
    api = any(subjects.collide(subject, space) for space in ("$JS.>", "$JSC.>", "$NRG.>"))
    if api and not subjects.is_subset(subject, "$JS.EVENT.>"):
        return refused("subjects that overlap with jetstream api require no-ack to be true")
    system = subjects.collide(subject, "$SYS.>")
    if system and not subjects.is_subset(subject, "$SYS.ACCOUNT.>"):
        return refused("subjects that overlap with system api require no-ack to be true")
    return None


def max_bytes_suits_account(draft: Draft) -> ApiError | None:
    return resources.stream_bytes_outside_limits(draft.config, draft.around)


def transform_is_sound(draft: Draft) -> ApiError | None:
    transform = draft.config.subject_transform
    if transform is None:
        return None
    return origins.transform_error(
        transform, Fault.TRANSFORM_SOURCE_INVALID, Fault.TRANSFORM_INVALID
    )


def republish_is_sound(draft: Draft) -> ApiError | None:
    republish = draft.config.republish
    if republish is None or draft.asked.republish is None:
        return None
    if draft.pedantic and not draft.asked.republish.src:
        return Fault.PEDANTIC.error(reason="republish source can not be empty")
    if draft.pedantic and defaults.republish_follows_transform(draft.asked):
        return Fault.PEDANTIC.error(reason="implicit republish based on subject transform")
    if any(subjects.collide(republish.dest, subject) for subject in draft.config.subjects):
        return refused("stream configuration for republish destination forms a cycle")
    try:
        transforms.compiled(republish.src, republish.dest)
    except transforms.MappingError:
        pair = f"from '{republish.src}' to '{republish.dest}'"
        return refused(f"stream configuration for republish with transform {pair} not valid")
    return None


def no_server_is_preferred(draft: Draft) -> ApiError | None:
    """A cluster and tags are kept for the day the stream moves; who leads it is not kept."""
    if draft.asked.placement is not None and draft.asked.placement.preferred:
        return refused("preferred server not permitted in placement")
    return None


# The place that a new stream takes


def one_replica(draft: Draft) -> ApiError | None:
    return Fault.REPLICAS_NOT_SUPPORTED.error() if draft.config.num_replicas > 1 else None


def fits_resources(draft: Draft) -> ApiError | None:
    return resources.exceeded(draft.config, draft.around)


def subjects_are_free(draft: Draft) -> ApiError | None:
    """Among thousands of streams nearly all differ in the first token, which is quickly seen."""
    wanted = draft.config.subjects
    if draft.standing is not None and draft.standing.subjects == wanted:
        return None
    heads = {subject.partition(".")[0] for subject in wanted}
    is_open = not heads.isdisjoint(subjects.WILDCARDS)
    heads |= subjects.WILDCARDS
    taken = (
        subject
        for other in draft.around.others(draft.config.name)
        for subject in other.subjects
        if is_open or subject.partition(".")[0] in heads
    )
    steps = crossing("subjects of the stream and those of others")
    return Fault.SUBJECTS_OVERLAP.error() if overlaps.meet(wanted, taken, steps) else None


REQUEST_CHECKS: tuple[Check, ...] = (
    name_is_no_path,
    not_sealed_at_birth,
    mirror_direct_has_a_mirror,
    streams_are_not_too_many,
    asked_fits_resources,
)
CHECKS: tuple[Check, ...] = (
    name_is_usable,
    texts_are_short,
    nothing_unbuilt,
    replicas_are_few,
    first_sequence_leaves_room,
    limits_are_meant,
    max_age_is_sane,
    default_window_is_meant,
    window_is_sane,
    rollups_may_purge,
    counters_only_count,
    discard_per_subject_is_complete,
    markers_are_possible,
    async_is_possible,
    consistency_is_undisputed,
    *origins.ORIGIN_CHECKS,
    subjects_are_apart,
    max_bytes_suits_account,
    transform_is_sound,
    republish_is_sound,
    no_server_is_preferred,
)
ADMISSION_CHECKS: tuple[Check, ...] = (
    fits_resources,
    origins.filters_are_subjects,
    subjects_are_free,
)
