"""The bounds of a stream's configuration, each with its reason."""

NAME_BYTES_MAX = 255  # as the reference: a name has to fit a file name
DESCRIPTION_BYTES_MAX = 4096  # as the reference
METADATA_BYTES_MAX = 128 * 1024  # as the reference; keys and values, our own included
REPLICAS_MAX = 5  # as the reference
MAX_AGE_NS_MIN = 100_000_000  # as the reference: expiry is not finer than that
DUPLICATE_WINDOW_NS = 120_000_000_000  # the default, as the spec
DUPLICATE_WINDOW_NS_MIN = 100_000_000  # as the reference
MARKER_TTL_NS_MIN = 1_000_000_000  # ADR-43: TTLs are whole seconds
