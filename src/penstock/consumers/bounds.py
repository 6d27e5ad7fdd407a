"""The numbers of a consumer's configuration, each with its reason.

What consumers and streams have in common (lengths of names and texts) stands in `streams.bounds`.
"""

SECOND_NS = 1_000_000_000

ACK_WAIT_NS = 30 * SECOND_NS  # the default, as the reference
MAX_ACK_PENDING = 1000  # the default, as the spec
MAX_WAITING = 512  # the default, as the spec
INACTIVE_THRESHOLD_NS = 5 * SECOND_NS  # the default of an ephemeral consumer, as the reference
PRIORITY_TIMEOUT_NS = 120 * SECOND_NS  # the default of a pin, as the reference
IDLE_HEARTBEAT_NS_MIN = 100_000_000  # as the reference: heartbeats are not meant to be traffic
MAX_EXPIRES_NS_MIN = 1_000_000  # as the reference
GENERATED_NAME_LENGTH = 8  # as the reference: 62^8 names
FLOW_ACKS_HEARTBEAT_NS = SECOND_NS  # exactly, as the reference
