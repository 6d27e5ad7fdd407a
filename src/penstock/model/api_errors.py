"""What JetStream's API answers when it refuses, as one table.

`Fault` holds err_code, HTTP-like code and text of everything one server can answer; the numbers
and the words are a promise to clients, which decide by them. `Fault.X.error()` fills in the blanks
of a text and gives an `ApiError`: a value that a check returns and a handler renders, or raises
where there is nothing to return. Grouped by who asked for what, since that is how they are used.
"""

import enum


class ApiError(Exception):
    """A request that is refused: the reply says why, and nothing has changed."""

    def __init__(self, code: int, err_code: int, description: str) -> None:
        super().__init__(description)
        self.code = code
        self.err_code = err_code
        self.description = description

    def shown(self) -> dict[str, object]:
        """The `error` of a reply."""
        return {"code": self.code, "err_code": self.err_code, "description": self.description}


class Fault(enum.Enum):
    """One line of the table; braces in a text are blanks to fill in."""

    # Any request
    BAD_REQUEST = (10003, 400, "bad request")
    UNAVAILABLE = (10008, 503, "JetStream system temporarily unavailable")
    CLUSTER_REQUIRED = (10010, 503, "JetStream clustering support required")
    NO_RESOURCES = (10023, 503, "insufficient resources")
    INVALID_JSON = (10025, 400, "invalid JSON: {reason}")
    ACCOUNT_UNKNOWN = (10035, 503, "account not found")
    PAYLOAD_NOT_EMPTY = (10038, 400, "expected an empty request payload")
    ACCOUNT_NOT_ENABLED = (10039, 503, "JetStream not enabled for account")
    NOT_ENABLED = (10076, 503, "JetStream not enabled")
    PEDANTIC = (10157, 400, "pedantic mode: {reason}")
    TOO_MANY_REQUESTS = (10167, 429, "too many requests")
    API_LEVEL_TOO_LOW = (10185, 412, "JetStream minimum api level required")

    # Limits of the account and of the server
    ACCOUNT_EXHAUSTED = (10002, 400, "resource limits exceeded for account")
    CONSUMERS_EXCEEDED = (10026, 400, "maximum consumers limit reached")
    STREAMS_EXCEEDED = (10027, 400, "maximum number of streams reached")
    MEMORY_EXCEEDED = (10028, 500, "insufficient memory resources available")
    STORAGE_EXCEEDED = (10047, 500, "insufficient storage resources available")
    MAX_BYTES_REQUIRED = (10113, 400, "account requires a stream config to have max bytes set")
    NO_LIMITS = (10120, 400, "no JetStream default or applicable tiered limit present")
    MAX_BYTES_EXCEEDED = (10122, 400, "stream max bytes exceeds account limit max stream bytes")

    # Streams: create, update, look up
    STREAM_CREATE_FAILED = (10049, 500, "{reason}")
    STREAM_DELETE_FAILED = (10050, 500, "{reason}")
    STREAM_CONFIG_INVALID = (10052, 500, "{reason}")
    MIRROR_NOT_UPDATABLE = (10055, 400, "stream mirror configuration can not be updated")
    STREAM_NAME_MISMATCH = (10056, 400, "stream name in subject does not match request")
    STREAM_EXISTS = (10058, 400, "stream name already in use with a different configuration")
    STREAM_UNKNOWN = (10059, 404, "stream not found")
    SUBJECTS_OVERLAP = (10065, 400, "subjects overlap with an existing stream")
    STREAM_UPDATE_FAILED = (10069, 500, "{reason}")
    REPLICAS_NOT_SUPPORTED = (10074, 500, "replicas > 1 not supported in non-clustered mode")
    STREAM_STORE_FAILED = (10077, 503, "{reason}")
    STREAM_INVALID = (10096, 500, "stream not valid")
    STREAM_SEALED = (10109, 400, "invalid operation on sealed stream")
    SUBJECT_DETAILS_EXCEEDED = (10117, 500, "subject details would exceed maximum allowed")
    STREAM_OFFLINE = (10118, 500, "stream is offline")
    STREAM_NAME_PATH = (10128, 400, "Stream name can not contain path separators")
    REPLICAS_NEGATIVE = (10133, 400, "replicas count cannot be negative")
    TRANSFORM_SOURCE_INVALID = (10155, 400, "stream transform source: {reason}")
    TRANSFORM_INVALID = (10156, 400, "stream transform: {reason}")
    STREAM_OFFLINE_BECAUSE = (10194, 500, "stream is offline: {reason}")

    # Mirrors and sources
    MIRROR_SETUP_FAILED = (10029, 500, "{reason}")
    MIRROR_MESSAGE_SIZE = (10030, 400, "stream mirror must have max message size >= source")
    MIRROR_WITH_SOURCES = (10031, 400, "stream mirrors can not also contain other sources")
    MIRROR_WITH_SUBJECTS = (10034, 400, "stream mirrors can not contain subjects")
    MIRROR_NAME_INVALID = (10142, 400, "mirrored stream name is invalid")
    MIRROR_WITH_FIRST_SEQUENCE = (
        10143,
        400,
        "stream mirrors can not have first sequence configured",
    )
    MIRROR_FILTERED_TWICE = (
        10150,
        400,
        "mirror with multiple subject transforms cannot also have a single subject filter",
    )
    MIRROR_FILTER_INVALID = (10151, 400, "mirror transform source: {reason}")
    MIRROR_FILTERS_OVERLAP = (10152, 400, "mirror subject filters can not overlap")
    MIRROR_TRANSFORM_INVALID = (10154, 400, "mirror transform: {reason}")
    MIRROR_WITH_COUNTERS = (10173, 400, "stream mirrors can not also calculate counters")
    MIRROR_WITH_ATOMIC = (10198, 400, "stream mirrors can not also use atomic publishing")
    SOURCE_SETUP_FAILED = (10045, 500, "{reason}")
    SOURCE_MESSAGE_SIZE = (10046, 400, "stream source must have max message size >= target")
    SOURCE_DUPLICATE = (10140, 400, "duplicate source configuration detected")
    SOURCE_NAME_INVALID = (10141, 400, "sourced stream name is invalid")
    SOURCE_FILTERED_TWICE = (
        10144,
        400,
        "source with multiple subject transforms cannot also have a single subject filter",
    )
    SOURCE_FILTER_INVALID = (10145, 400, "source transform source: {reason}")
    SOURCE_TRANSFORM_INVALID = (10146, 400, "source transform: {reason}")
    SOURCE_FILTERS_OVERLAP = (10147, 400, "source filters can not overlap")

    # Messages: get, delete, purge, backup
    DELIVER_SUBJECT_INVALID = (10015, 400, "deliver subject not valid")
    MESSAGE_UNKNOWN = (10037, 404, "no message found")
    RESTORE_SUBSCRIBE_FAILED = (
        10042,
        500,
        "JetStream unable to subscribe to restore snapshot {subject}: {reason}",
    )
    SEQUENCE_UNKNOWN = (10043, 400, "sequence {sequence} not found")
    MESSAGE_DELETE_FAILED = (10057, 500, "{reason}")
    RESTORE_FAILED = (10062, 500, "restore failed: {reason}")
    SNAPSHOT_FAILED = (10064, 500, "snapshot failed: {reason}")
    RESTORE_STORAGE_FAILED = (10072, 500, "JetStream unable to open temp storage for restore")
    PURGE_FAILED = (10110, 500, "{reason}")
    RESTORE_NAME_EXISTS = (10130, 400, "stream name already in use, cannot restore")

    # Publishing
    MESSAGE_TOO_LARGE = (10054, 400, "message size exceeds maximum allowed")
    EXPECTED_STREAM = (10060, 400, "expected stream does not match")
    EXPECTED_LAST_MESSAGE_ID = (10070, 400, "wrong last msg ID: {message_id}")
    EXPECTED_LAST_SEQUENCE = (10071, 400, "wrong last sequence: {sequence}")
    HEADERS_TOO_LARGE = (10097, 400, "header size exceeds maximum allowed of 64k")
    ROLLUP_FAILED = (10111, 500, "{reason}")
    DUPLICATE_IN_PROCESS = (10158, 409, "duplicate message id is in process")
    EXPECTED_SUBJECT_SEQUENCE_NOT_READY = (
        10163,
        503,
        "expected last sequence per subject temporarily unavailable",
    )
    EXPECTED_LAST_SEQUENCE_UNSAID = (10164, 400, "wrong last sequence")
    TTL_INVALID = (10165, 400, "invalid per-message TTL")
    TTL_DISABLED = (10166, 400, "per-message TTL is disabled")
    MIN_LAST_SEQUENCE = (10180, 412, "min last sequence")
    EXPECTED_SUBJECT_SEQUENCE_MISSING = (
        10193,
        400,
        "missing sequence for expected last sequence per subject",
    )
    SCHEDULES_DISABLED = (10188, 400, "message schedules is disabled")
    SCHEDULER_INVALID = (10212, 400, "message schedules invalid scheduler")
    SOURCE_HEADER_FORGED = (10227, 400, "message stream source header is not allowed")

    # Counters
    COUNTER_DISABLED = (10168, 400, "message counters is disabled")
    INCREMENT_MISSING = (10169, 400, "message counter increment is missing")
    INCREMENT_WITH_PAYLOAD = (10170, 400, "message counter has payload")
    INCREMENT_INVALID = (10171, 400, "message counter increment is invalid")
    COUNTER_BROKEN = (10172, 400, "message counter is broken")

    # Atomic batches
    BATCH_DISABLED = (10174, 400, "atomic publish is disabled")
    BATCH_SEQUENCE_MISSING = (10175, 400, "atomic publish sequence is missing")
    BATCH_INCOMPLETE = (10176, 400, "atomic publish batch is incomplete")
    BATCH_HEADER_UNSUPPORTED = (10177, 400, "atomic publish unsupported header used: {header}")
    BATCH_ID_INVALID = (10179, 400, "atomic publish batch ID is invalid")
    BATCH_TOO_LARGE = (10199, 400, "atomic publish batch is too large: {size}")
    BATCH_COMMIT_INVALID = (10200, 400, "atomic publish batch commit is invalid")
    BATCH_DUPLICATE_ID = (10201, 400, "atomic publish batch contains duplicate message id")
    BATCHES_EXCEEDED = (10210, 429, "atomic publish too many inflight")

    # Consumers: names and existence
    CONSUMER_CREATE_FAILED = (10012, 500, "{reason}")
    CONSUMER_NAME_EXISTS = (10013, 400, "consumer name already in use")
    CONSUMER_UNKNOWN = (10014, 404, "consumer not found")
    DURABLE_NOT_IN_SUBJECT = (
        10016,
        400,
        "consumer expected to be durable but no durable name set in subject",
    )
    DURABLE_DIFFERS_FROM_SUBJECT = (
        10017,
        400,
        "consumer name in subject does not match durable name in request",
    )
    DURABLE_NOT_SET = (10018, 400, "consumer expected to be durable but a durable name was not set")
    EPHEMERAL_WITH_DURABLE_SUBJECT = (
        10019,
        400,
        "consumer expected to be ephemeral but detected a durable name set in subject",
    )
    EPHEMERAL_WITH_DURABLE_NAME = (
        10020,
        400,
        "consumer expected to be ephemeral but a durable name was set in request",
    )
    CONSUMER_CONFIG_REQUIRED = (10078, 400, "consumer config required")
    CONSUMER_NAME_TOO_LONG = (10102, 400, "consumer name is too long, maximum allowed is {limit}")
    CONSUMER_STORE_FAILED = (10104, 500, "error creating store for consumer: {reason}")
    CONSUMER_STILL_ACTIVE = (10105, 400, "consumer already exists and is still active")
    CONSUMER_DIFFERS = (10106, 400, "consumer replacement durable config not the same")
    CONSUMER_DESCRIPTION_TOO_LONG = (
        10107,
        400,
        "consumer description is too long, maximum allowed is {limit}",
    )
    CONSUMER_OFFLINE = (10119, 500, "consumer is offline")
    CONSUMER_NAME_PATH = (10127, 400, "Consumer name can not contain path separators")
    CONSUMER_NAMES_DIFFER = (
        10132,
        400,
        "Consumer Durable and Name have to be equal if both are provided",
    )
    CONSUMER_METADATA_TOO_LARGE = (10135, 400, "consumer metadata exceeds maximum size of {limit}")
    CONSUMER_ALREADY_EXISTS = (10148, 400, "consumer already exists")
    CONSUMER_DOES_NOT_EXIST = (10149, 400, "consumer does not exist")
    CONSUMER_OFFLINE_BECAUSE = (10195, 500, "consumer is offline: {reason}")
    CONSUMER_RESET_INVALID = (10204, 400, "invalid reset: {reason}")
    CONSUMER_IDENTITY_MISMATCH = (
        10225,
        400,
        "consumer's stream identity does not match: {reason}",
    )

    # Consumers: policies and limits
    DELIVER_WILDCARD = (10079, 400, "consumer deliver subject has wildcards")
    PUSH_WITH_MAX_WAITING = (10080, 400, "consumer in push mode can not set max waiting")
    DELIVER_CYCLE = (10081, 400, "consumer deliver subject forms a cycle")
    MAX_ACK_PENDING_WITHOUT_ACKS = (
        10082,
        400,
        "consumer requires ack policy for max ack pending",
    )
    HEARTBEAT_TOO_SMALL = (10083, 400, "consumer idle heartbeat needs to be >= 100ms")
    PULL_REQUIRES_ACK = (
        10084,
        400,
        "consumer in pull mode requires explicit ack policy on workqueue stream",
    )
    PULL_WITH_RATE_LIMIT = (10086, 400, "consumer in pull mode can not have rate limit set")
    MAX_WAITING_NEGATIVE = (10087, 400, "consumer max waiting needs to be positive")
    HEARTBEAT_REQUIRES_PUSH = (
        10088,
        400,
        "consumer idle heartbeat requires a push based consumer",
    )
    FLOW_CONTROL_REQUIRES_PUSH = (
        10089,
        400,
        "consumer flow control requires a push based consumer",
    )
    DIRECT_REQUIRES_PUSH = (10090, 400, "consumer direct requires a push based consumer")
    DIRECT_REQUIRES_EPHEMERAL = (10091, 400, "consumer direct requires an ephemeral consumer")
    FILTER_NOT_SUBSET = (
        10093,
        400,
        "consumer filter subject is not a valid subset of the interest subjects",
    )
    CONSUMER_POLICY_INVALID = (10094, 400, "{reason}")
    SAMPLING_INVALID = (10095, 400, "failed to parse consumer sampling configuration: {reason}")
    WORKQUEUE_REQUIRES_EXPLICIT_ACK = (10098, 400, "workqueue stream requires explicit ack")
    WORKQUEUE_UNFILTERED_TWICE = (
        10099,
        400,
        "multiple non-filtered consumers not allowed on workqueue stream",
    )
    WORKQUEUE_FILTER_NOT_UNIQUE = (
        10100,
        400,
        "filtered consumer not unique on workqueue stream",
    )
    WORKQUEUE_NOT_DELIVER_ALL = (10101, 400, "consumer must be deliver all on workqueue stream")
    FLOW_CONTROL_REQUIRES_HEARTBEAT = (
        10108,
        400,
        "consumer with flow control also needs heartbeats",
    )
    DELIVER_INVALID = (10112, 400, "invalid push consumer deliver subject")
    MAX_BATCH_NEGATIVE = (10114, 400, "consumer max request batch needs to be > 0")
    MAX_EXPIRES_TOO_SMALL = (10115, 400, "consumer max request expires needs to be >= 1ms")
    BACKOFF_LONGER_THAN_MAX_DELIVER = (
        10116,
        400,
        "max deliver is required to be > length of backoff values",
    )
    MAX_ACK_PENDING_EXCEEDED = (
        10121,
        400,
        "consumer max ack pending exceeds system limit of {limit}",
    )
    MAX_BATCH_EXCEEDED = (10125, 400, "consumer max request batch exceeds server limit of {limit}")
    CONSUMER_REPLICAS_EXCEEDED = (
        10126,
        400,
        "consumer config replica count exceeds parent stream",
    )
    CONSUMER_REPLICAS_DIFFER = (
        10134,
        400,
        "consumer config replicas must match interest retention stream's replicas",
    )
    FILTER_DIFFERS_FROM_SUBJECT = (
        10131,
        400,
        "Consumer create request did not match filtered subject from create subject",
    )
    FILTERED_TWICE = (
        10136,
        400,
        "consumer cannot have both FilterSubject and FilterSubjects specified",
    )
    FILTERS_IN_SUBJECT = (
        10137,
        400,
        "consumer with multiple subject filters cannot use subject based API",
    )
    FILTERS_OVERLAP = (10138, 400, "consumer subject filters cannot overlap")
    FILTER_EMPTY = (10139, 400, "consumer filter in FilterSubjects cannot be empty")
    INACTIVE_THRESHOLD_EXCEEDED = (
        10153,
        400,
        "consumer inactive threshold exceeds system limit of {limit}",
    )
    ACK_POLICY_INVALID = (10181, 400, "consumer ack policy invalid")
    REPLAY_POLICY_INVALID = (10182, 400, "consumer replay policy invalid")
    ACK_WAIT_NEGATIVE = (10183, 400, "consumer ack wait needs to be positive")
    BACKOFF_NEGATIVE = (10184, 400, "consumer backoff needs to be positive")
    FLOW_ACKS_REQUIRE_PUSH = (
        10218,
        400,
        "flow control ack policy requires a push based consumer",
    )
    FLOW_ACKS_REQUIRE_FLOW_CONTROL = (
        10219,
        400,
        "flow control ack policy requires flow control",
    )
    FLOW_ACKS_REQUIRE_MAX_ACK_PENDING = (
        10220,
        400,
        "flow control ack policy requires max ack pending",
    )
    FLOW_ACKS_WITH_ACK_WAIT = (
        10221,
        400,
        "flow control ack policy requires unset ack wait",
    )
    FLOW_ACKS_WITH_MAX_DELIVER = (
        10222,
        400,
        "flow control ack policy requires unset max deliver",
    )

    # Consumers: priority groups
    PRIORITY_POLICY_WITHOUT_GROUP = (
        10159,
        400,
        "Setting PriorityPolicy requires at least one PriorityGroup to be set",
    )
    PRIORITY_GROUP_UNKNOWN = (
        10160,
        400,
        "Provided priority group does not exist for this consumer",
    )
    PRIORITY_GROUP_EMPTY = (10161, 400, "Group name cannot be an empty string")
    PRIORITY_GROUP_INVALID = (
        10162,
        400,
        "Valid priority group name must match A-Z, a-z, 0-9, -_/=)+ and may not exceed "
        "16 characters",
    )
    PRIORITY_GROUP_WITH_PUSH = (
        10178,
        400,
        "priority groups can not be used with push consumers",
    )
    PRIORITY_GROUP_WITHOUT_POLICY = (
        10196,
        400,
        "consumer can not have priority groups when policy is none",
    )
    PINNED_TTL_WITHOUT_POLICY = (
        10197,
        400,
        "PinnedTTL cannot be set when PriorityPolicy is none",
    )

    def __init__(self, err_code: int, code: int, text: str) -> None:
        self.err_code = err_code
        self.code = code
        self.text = text

    def error(self, **blanks: object) -> ApiError:
        """The error with its blanks filled in; a blank too few is our own bug."""
        return ApiError(self.code, self.err_code, self.text.format(**blanks))
