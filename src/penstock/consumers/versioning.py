"""API levels of consumers: what a configuration needs. Otherwise as for streams."""

from collections.abc import Callable

from penstock.model.consumer_config import AckPolicy, ConsumerConfig, PriorityPolicy
from penstock.model.timestamps import unix_ns
from penstock.streams.versioning import OWN_KEYS, REQUIRED_KEY

NEVER = "0001-01-01T00:00:00Z"  # the API's zero for a moment


def is_moment_set(moment: str | None) -> bool:
    return moment is not None and unix_ns(moment) != unix_ns(NEVER)


def _has_priorities(config: ConsumerConfig) -> bool:
    policy = config.priority_policy is not PriorityPolicy.NONE
    return policy or config.priority_timeout != 0 or bool(config.priority_groups)


# The level that brought a feature, and whether a configuration uses it.
FEATURES: tuple[tuple[int, Callable[[ConsumerConfig], bool]], ...] = (
    (1, lambda config: is_moment_set(config.pause_until)),
    (1, _has_priorities),
    (4, lambda config: config.ack_policy is AckPolicy.FLOW_CONTROL),
)


def required_level(config: ConsumerConfig) -> int:
    """The lowest API level that knows everything this configuration uses."""
    return max((level for level, uses in FEATURES if uses(config)), default=0)


def stored_metadata(config: ConsumerConfig) -> dict[str, str]:
    """The metadata to keep: the client's, and the level that the configuration needs."""
    own = {REQUIRED_KEY: str(required_level(config))}
    return own | {key: value for key, value in config.metadata.items() if key not in OWN_KEYS}
