"""The rules for mirrors and sources, in the reference's order.

A stream that copies others must be able to hold what they hold, must know which of their subjects
it wants exactly once, and must not be its own origin, however many streams lie between. An origin
need not exist yet; rules about its configuration hold as far as it can be seen.
"""

from collections import deque
from itertools import groupby

from penstock.model.api_errors import ApiError, Fault
from penstock.model.stream_config import Source, StreamConfig, SubjectTransform
from penstock.streams import defaults, overlaps, subjects, transforms
from penstock.streams.draft import Check, Draft, refused
from penstock.streams.overlaps import Steps, crossing

_NOT_IN_NAMES = frozenset(" \t\r\n\f.*>\\/")


def is_valid_name(name: str) -> bool:
    """Whether a stream may have this name."""
    return bool(name) and _NOT_IN_NAMES.isdisjoint(name)


def mirror_keeps_to_itself(draft: Draft) -> ApiError | None:
    """A mirror has the messages of its origin under their sequences, and nothing else."""
    config = draft.config
    if config.mirror is None:
        return None
    mistakes = (
        (config.first_seq > 0, Fault.MIRROR_WITH_FIRST_SEQUENCE),
        (bool(config.subjects), Fault.MIRROR_WITH_SUBJECTS),
        (bool(config.sources), Fault.MIRROR_WITH_SOURCES),
        (config.allow_msg_counter, Fault.MIRROR_WITH_COUNTERS),
        (config.allow_atomic, Fault.MIRROR_WITH_ATOMIC),
        (_is_filtered_twice(config.mirror), Fault.MIRROR_FILTERED_TWICE),
    )
    for is_made, fault in mistakes:
        if is_made:
            return fault.error()
    if config.subject_delete_marker_ttl > 0:
        return refused("subject delete markers forbidden on mirrors")
    return None


def mirror_transforms_are_sound(draft: Draft) -> ApiError | None:
    """Whichever comes first: one that cannot be, or one that overlaps with another."""
    mirror, standing = draft.config.mirror, draft.standing
    if mirror is None:
        return None
    parts = mirror.subject_transforms
    faults = Fault.MIRROR_FILTER_INVALID, Fault.MIRROR_TRANSFORM_INVALID
    checked = ((at, transform_error(part, *faults)) for at, part in enumerate(parts))
    count, error = next(((at, error) for at, error in checked if error), (len(parts), None))
    if standing is not None and standing.mirror == mirror:
        return error
    taken = [part.src for part in parts]
    if overlaps.first_meeting(taken, count, crossing("subject transforms")) is not None:
        return Fault.MIRROR_FILTERS_OVERLAP.error()
    return error


def mirror_fits_origin(draft: Draft) -> ApiError | None:
    mirror = draft.config.mirror
    if mirror is None:
        return None
    if not is_valid_name(mirror.name):
        return Fault.MIRROR_NAME_INVALID.error()
    origin = draft.around.streams.get(mirror.name)
    if origin is None:
        return None
    if is_too_small(draft.config, origin):
        return Fault.MIRROR_MESSAGE_SIZE.error()
    inherits = "mirror_direct" not in defaults.controlled(draft.config)
    if draft.pedantic and inherits and draft.asked.mirror_direct != origin.allow_direct:
        reason = "origin stream has direct get set, mirror has it disabled"
        return Fault.PEDANTIC.error(reason=reason)
    return None


def sources_are_sound(draft: Draft) -> ApiError | None:
    seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
    standing = draft.standing.sources if draft.standing is not None else ()
    apart = {source.subject_transforms for source in standing}
    steps = crossing("subject transforms")
    for source in draft.config.sources:
        identity = source_identity(source)
        error = (
            source_error(source, known=identity in seen)
            or source_transforms_error(source, steps, apart)
            or source_size_error(source, draft)
        )
        if error is not None:
            return error
        seen.add(identity)
    return None


def source_error(source: Source, known: bool) -> ApiError | None:
    if not is_valid_name(source.name):
        return Fault.SOURCE_NAME_INVALID.error()
    if known:
        return Fault.SOURCE_DUPLICATE.error()
    if _is_filtered_twice(source):
        return Fault.SOURCE_FILTERED_TWICE.error()
    return None


def source_transforms_error(
    source: Source, steps: Steps, apart: set[tuple[SubjectTransform, ...]]
) -> ApiError | None:
    """`apart` are lists of which it is known that none in them is part of another."""
    for transform in source.subject_transforms:
        error = transform_error(
            transform, Fault.SOURCE_FILTER_INVALID, Fault.SOURCE_TRANSFORM_INVALID
        )
        if error is not None:
            return error
    if source.subject_transforms in apart:
        return None
    every = [part.src for part in source.subject_transforms]
    said = [pattern for pattern in every if pattern]  # not to say it is to say `>`, but only once
    is_all_twice = len(said) < len(every) and subjects.REST in said
    if is_all_twice or overlaps.are_nested(said, len(said), steps):
        return Fault.SOURCE_FILTERS_OVERLAP.error()
    return None


def source_size_error(source: Source, draft: Draft) -> ApiError | None:
    origin = draft.around.streams.get(source.name)
    if origin is not None and is_too_small(draft.config, origin):
        return Fault.SOURCE_MESSAGE_SIZE.error()
    return None


def _is_filtered_twice(source: Source) -> bool:
    return bool(source.filter_subject) and bool(source.subject_transforms)


def source_identity(source: Source) -> tuple[str, tuple[tuple[str, str], ...]]:
    """What tells two sources from each other: the stream, and what is taken from it as what."""
    rest = subjects.REST
    taken = tuple((part.src or rest, part.dest or rest) for part in source.subject_transforms)
    return source.name, taken or ((source.filter_subject or rest, rest),)


def transform_error(transform: SubjectTransform, source: Fault, whole: Fault) -> ApiError | None:
    """Whether the transform's source is a subject and the whole makes sense."""
    if transform.src and not subjects.is_valid(transform.src):
        return source.error(reason=f"invalid subject {transform.src}")
    try:
        transforms.validated(transform.src, transform.dest)
    except transforms.MappingError as error:
        return whole.error(reason=str(error))
    return None


def is_too_small(config: StreamConfig, origin: StreamConfig) -> bool:
    """Whether a message that the origin takes is too large for this stream."""
    return 0 < config.max_msg_size < origin.max_msg_size


def origins_form_no_cycle(draft: Draft) -> ApiError | None:
    """Whether no stream is reached twice on the way back to the origins.

    As the reference, in its order: two ways to one stream may count as a cycle too. So a stream is
    looked at once for each way to it, and the ways multiply from stream to stream: their number is
    bounded. A third time right after the second finds nothing that the second did not.
    """
    reason = "sources reach the same streams in too many ways: use fewer sources"
    steps = Steps(reason, grows=False)
    waiting, visited = deque([draft.config]), set[str]()
    while waiting:
        config = waiting.popleft()
        visited.add(config.name)
        steps.take(1)
        for name, sources in groupby(config.sources, key=lambda source: source.name):
            wanted = [source.filter_subject for source in sources]
            steps.take(len(wanted))
            if name not in visited:
                waiting.extend(_visible(draft, name) * min(len(wanted), 2))
            elif _may_feed(wanted, config, steps):
                return refused("detected cycle")
        if config.mirror is not None:
            if config.mirror.name in visited:
                return refused("detected cycle")
            waiting.extend(_visible(draft, config.mirror.name))
    return None


def _visible(draft: Draft, name: str) -> list[StreamConfig]:
    origin = draft.around.streams.get(name)
    return [] if origin is None else [origin]


def _may_feed(wanted: list[str], config: StreamConfig, steps: Steps) -> bool:
    if "" in wanted:
        return True
    steps.take(len(config.subjects))
    return overlaps.meet(wanted, config.subjects, steps)


def filters_are_subjects(draft: Draft) -> ApiError | None:
    """Checked by the reference where the stream is made, not with the rest."""
    config = draft.config
    mirror = config.mirror
    if mirror is not None and _has_bad_filter(mirror):
        reason = f"subject filter '{mirror.filter_subject}' for the mirror invalid subject"
        return Fault.STREAM_CREATE_FAILED.error(reason=reason)
    for source in config.sources:
        if _has_bad_filter(source):
            reason = f"subject filter '{source.filter_subject}' for the source: invalid subject"
            return Fault.STREAM_CREATE_FAILED.error(reason=reason)
    return None


def _has_bad_filter(source: Source) -> bool:
    return bool(source.filter_subject) and not subjects.is_valid(source.filter_subject)


ORIGIN_CHECKS: tuple[Check, ...] = (
    mirror_keeps_to_itself,
    mirror_transforms_are_sound,
    mirror_fits_origin,
    sources_are_sound,
    origins_form_no_cycle,
)
