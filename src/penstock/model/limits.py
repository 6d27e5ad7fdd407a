"""Every bound of the server in one place, each with its reason.

Values that a configuration may change are defaults here; the rest are fixed.
"""

KIB = 1024
MIB = 1024 * KIB

CONTROL_LINE_BYTES_MAX = 4096  # the reference's default; clients rely on it
PAYLOAD_BYTES_MAX = 1 * MIB  # the reference's default; announced in INFO
PAYLOAD_BYTES_CEILING = 64 * MIB  # the reference refuses a larger max_payload in its configuration
SUBJECT_BYTES_MAX = 65_535  # of a stored message: a record has two bytes for the length
PENDING_BYTES_MAX = 64 * MIB  # output waiting for one connection; above it is a slow consumer
CONNECTIONS_MAX = 65_536  # the reference's default
SUBSCRIPTIONS_MAX = 0  # for one connection; 0 means no limit, as the reference
AUTH_TIMEOUT_NS = 2_000_000_000  # the reference's default
PING_INTERVAL_NS = 120_000_000_000  # the reference's default
PING_FIRST_NS = 2_000_000_000  # measures the round trip soon after the connection is made
PINGS_OUT_MAX = 2  # unanswered pings before a connection counts as stale
WRITE_DEADLINE_NS = 10_000_000_000  # a flush that takes longer marks a slow consumer
LAME_DUCK_GRACE_NS = 10_000_000_000  # the reference's default
LAME_DUCK_DURATION_NS = 120_000_000_000  # the reference's default
CLOSED_CONNECTIONS_KEPT = 10_000  # what /connz?state=closed remembers, as the reference
CROWDED_BYTES = 8 * MIB  # output waiting for a reading subscriber that slows its publishers down
READ_BYTES_MAX = 128 * KIB  # from one connection in one turn; fifty times that still fits a cache
TURN_BYTES_MAX = 16 * MIB  # from all connections in one turn: bounds its length and its memory
ACCEPTS_MAX = 64  # connections taken in one go, so that a storm of them does not stop the rest
ACCEPT_PAUSE_NS = 1_000_000_000  # after the system ran out of descriptors
SEQUENCE_START_MAX = 2**61  # where a client may let a stream begin; a record can hold twice that
SEQUENCE_BEYOND = 2**62 - 2  # no stream gets there; what is to begin later begins here
HASH_CHECKS_MAX = 2  # bcrypt checks at the same time; each takes a core for a tenth of a second
