"""What a stream gets that the request did not ask for.

`filled` only adjusts and never refuses: `validation` compares what was asked with what came out
and refuses in pedantic mode, or when the outcome cannot be served. Each filler is given the
configuration as asked and names the fields it changes; no filler needs another's outcome.
"""

from collections.abc import Callable

import msgspec

from penstock.model.stream_config import (
    Discard,
    Placement,
    ReadConsistency,
    Republish,
    StreamConfig,
)
from penstock.streams import subjects
from penstock.streams.bounds import DUPLICATE_WINDOW_NS
from penstock.streams.resources import Surroundings
from penstock.streams.versioning import stored_metadata

Changes = dict[str, object]
Filler = Callable[[StreamConfig, Surroundings], Changes]

# -1 is "no limit", and the only negative value that remains.
UNLIMITED = ("max_msgs", "max_msgs_per_subject", "max_bytes", "max_msg_size", "max_consumers")


def filled(asked: StreamConfig, around: Surroundings) -> StreamConfig:
    """The configuration with everything decided."""
    changes: Changes = {}
    for filler in FILLERS:
        changes |= filler(asked, around)
    return msgspec.structs.replace(asked, **changes)


def kept(old: StreamConfig, asked: StreamConfig, given: frozenset[str]) -> StreamConfig:
    """An update's configuration, with what an update keeps when it does not mention it.

    No released client knows `read_consistency`, so its absence means nothing.
    """
    if "read_consistency" in given:
        return asked
    return msgspec.structs.replace(asked, read_consistency=old.read_consistency)


def sealed(config: StreamConfig) -> StreamConfig:
    """A sealed stream keeps what it has: nothing expires, nothing may be removed."""
    if not config.sealed:
        return config
    return msgspec.structs.replace(
        config,
        max_age=0,
        discard=Discard.NEW,
        deny_delete=True,
        deny_purge=True,
        allow_rollup_hdrs=False,
    )


def controlled(config: StreamConfig) -> dict[str, bool]:
    """The fields that `read_consistency` decides (ADR-56), with their values."""
    if config.read_consistency is ReadConsistency.DEFAULT:
        return {}
    decided = {"allow_direct": config.read_consistency is ReadConsistency.WEAK}
    if config.mirror is not None:
        decided["mirror_direct"] = True
    return decided


def duplicate_window_ns(around: Surroundings) -> int:
    """The window of a stream that does not name one, if its messages live long enough."""
    limit = around.server.duplicate_window_max_ns
    return min(DUPLICATE_WINDOW_NS, limit) if limit > 0 else DUPLICATE_WINDOW_NS


def has_default_window(asked: StreamConfig) -> bool:
    """Copies of other streams have no window of their own unless they ask for one."""
    return asked.duplicate_window == 0 and asked.mirror is None and not asked.sources


def republish_follows_transform(asked: StreamConfig) -> bool:
    """Everything to everything is no cycle where the one subject is transformed before."""
    republish, transform = asked.republish, asked.subject_transform
    return (
        republish is not None
        and transform is not None
        and republish.dest == subjects.REST
        and republish.src in ("", subjects.REST)
        and (transform.src,) == (asked.subjects or _subjects(asked).get("subjects"))
    )


def _limits(asked: StreamConfig, _around: Surroundings) -> Changes:
    changes: Changes = {name: -1 for name in UNLIMITED if _is_unlimited(getattr(asked, name))}
    if asked.num_replicas == 0:
        changes["num_replicas"] = 1
    return changes


def _is_unlimited(value: int) -> bool:
    return value == 0 or value < -1


def _window(asked: StreamConfig, around: Surroundings) -> Changes:
    if not has_default_window(asked):
        return {}
    window_ns = duplicate_window_ns(around)
    return {"duplicate_window": min(window_ns, asked.max_age) if asked.max_age else window_ns}


def _markers(asked: StreamConfig, _around: Surroundings) -> Changes:
    """A delete marker is a message with a TTL that rolls its subject up (ADR-43)."""
    if asked.subject_delete_marker_ttl <= 0:
        return {}
    changes: Changes = {"allow_msg_ttl": True}
    if not asked.allow_rollup_hdrs:
        changes |= {"allow_rollup_hdrs": True, "deny_purge": False}
    return changes


def _direct(asked: StreamConfig, around: Surroundings) -> Changes:
    """A mirror answers direct reads if its origin does."""
    origin = around.streams.get(asked.mirror.name) if asked.mirror else None
    inherited: Changes = {"mirror_direct": origin.allow_direct} if origin else {}
    return inherited | controlled(asked)


def _subjects(asked: StreamConfig) -> Changes:
    if asked.subjects or asked.mirror is not None or asked.sources:
        return {}
    return {"subjects": (asked.name,)}


def _republish(asked: StreamConfig, _around: Surroundings) -> Changes:
    if asked.republish is None:
        return {}
    if republish_follows_transform(asked):
        assert asked.subject_transform is not None
        dest = asked.subject_transform.dest
        return {
            "republish": Republish(src=dest, dest=dest, headers_only=asked.republish.headers_only)
        }
    src = asked.republish.src or subjects.REST
    return {"republish": msgspec.structs.replace(asked.republish, src=src)}


def _placement(asked: StreamConfig, _around: Surroundings) -> Changes:
    return {"placement": None} if asked.placement == Placement() else {}


FILLERS: tuple[Filler, ...] = (
    _limits,
    _window,
    _markers,
    _direct,
    lambda asked, _around: _subjects(asked),
    _republish,
    _placement,
    lambda asked, _around: {"metadata": stored_metadata(asked)},
)
