"""The public names of the SDK; `penstock.client` has them all, once one of them is asked for."""

from penstock.client.acks import (
    ack_all_sync,
    ack_sync,
    nak_sync,
    processing,
    term_sync,
)
from penstock.client.batches import (
    Batch,
)
from penstock.client.connection import (
    connect,
)
from penstock.client.counters import (
    Counters,
    Entry,
)
from penstock.client.errors import (
    ApiLevelError,
    BatchClosedError,
    BatchCommitInvalidError,
    BatchDuplicateError,
    BatchError,
    BatchesExceededError,
    BatchesNotEnabledError,
    BatchIdInvalidError,
    BatchIncompleteError,
    BatchSequenceMissingError,
    BatchTooLargeError,
    BatchUnsupportedHeaderError,
    CounterError,
    CounterNotFoundError,
    CountersNotEnabledError,
    LinearizableReadsNotEnabledError,
    LinearizableReadUnavailableError,
    TtlError,
    WrongLastMsgIdError,
    WrongLastSequenceError,
    WrongStreamError,
)
from penstock.client.jetstream import (
    JetStream,
)
from penstock.client.key_value import (
    LinearizableKeyValue,
)
from penstock.client.object_store import (
    LinearizableObjectStore,
)
from penstock.client.publishing import (
    Conditions,
)
from penstock.client.stream import (
    Stream,
)

__all__ = [
    "ApiLevelError",
    "Batch",
    "BatchClosedError",
    "BatchCommitInvalidError",
    "BatchDuplicateError",
    "BatchError",
    "BatchIdInvalidError",
    "BatchIncompleteError",
    "BatchSequenceMissingError",
    "BatchTooLargeError",
    "BatchUnsupportedHeaderError",
    "BatchesExceededError",
    "BatchesNotEnabledError",
    "Conditions",
    "CounterError",
    "CounterNotFoundError",
    "Counters",
    "CountersNotEnabledError",
    "Entry",
    "JetStream",
    "LinearizableKeyValue",
    "LinearizableObjectStore",
    "LinearizableReadUnavailableError",
    "LinearizableReadsNotEnabledError",
    "Stream",
    "TtlError",
    "WrongLastMsgIdError",
    "WrongLastSequenceError",
    "WrongStreamError",
    "ack_all_sync",
    "ack_sync",
    "connect",
    "nak_sync",
    "processing",
    "term_sync",
]
