"""API levels: what a configuration needs, and what it tells clients about it.

`_nats.req.level` is stored with a stream and says which level its features need; `_nats.ver` and
`_nats.level` say who serves it and appear in replies only. Clients cannot set any of the three.
"""

import re
from collections.abc import Callable

from penstock.model.stream_config import PersistMode, ReadConsistency, StreamConfig
from penstock.model.version import API_LEVEL, REFERENCE_VERSION

REQUIRED_KEY = "_nats.req.level"
VERSION_KEY = "_nats.ver"
LEVEL_KEY = "_nats.level"
OWN_KEYS = frozenset({REQUIRED_KEY, VERSION_KEY, LEVEL_KEY})

# The level that brought a feature, and whether a configuration uses it.
FEATURES: tuple[tuple[int, Callable[[StreamConfig], bool]], ...] = (
    (1, lambda config: config.allow_msg_ttl or config.subject_delete_marker_ttl > 0),
    (2, lambda config: config.allow_msg_counter),
    (2, lambda config: config.allow_atomic),
    (2, lambda config: config.allow_msg_schedules),
    (2, lambda config: config.persist_mode is PersistMode.ASYNC),
    (3, lambda config: config.read_consistency is not ReadConsistency.DEFAULT),
    (4, lambda config: config.allow_batched),
)
_LEVEL = re.compile(r"[+-]?[0-9]{1,18}")


def required_level(config: StreamConfig) -> int:
    """The lowest API level that knows everything this configuration uses."""
    return max((level for level, uses in FEATURES if uses(config)), default=0)


def stored_metadata(config: StreamConfig) -> dict[str, str]:
    """The metadata to keep: the client's, and the level that the configuration needs."""
    own = {REQUIRED_KEY: str(required_level(config))}
    return own | {key: value for key, value in config.metadata.items() if key not in OWN_KEYS}


def shown_metadata(metadata: dict[str, str]) -> dict[str, str]:
    """The metadata of a reply."""
    return metadata | {VERSION_KEY: REFERENCE_VERSION, LEVEL_KEY: str(API_LEVEL)}


def is_level_served(required: str) -> bool:
    """Whether we can serve a request whose Nats-Required-Api-Level says this; empty is absent."""
    return not required or (_LEVEL.fullmatch(required) is not None and int(required) <= API_LEVEL)
