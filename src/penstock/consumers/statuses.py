"""Statuses: messages without a payload that tell a client what becomes of its request.

Their words and headers are the reference's; clients decide by them.
"""

PENDING_MESSAGES = "Nats-Pending-Messages"
PENDING_BYTES = "Nats-Pending-Bytes"


def status(words: str, *headers: tuple[str, object]) -> bytes:
    """A header block that begins with a code and its words."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"NATS/1.0 {words}\r\n{lines}\r\n".encode()


def bad_request(reason: str) -> bytes:
    return status(f"400 Bad Request - {reason}")


def exceeded(limit: str) -> bytes:
    return status(f"409 Exceeded {limit}")


def closing(words: str, messages: int, size: int) -> bytes:
    """The end of a request, with what is left of its batch and of its bytes."""
    return status(words, (PENDING_MESSAGES, messages), (PENDING_BYTES, size))


def heartbeat(consumer_sequence: int, stream_sequence: int, stalled: str = "") -> bytes:
    """`stalled` is where the flow control is to be answered that deliveries wait for."""
    headers = [("Nats-Last-Consumer", consumer_sequence), ("Nats-Last-Stream", stream_sequence)]
    if stalled:
        return status("100 Idle Heartbeat", *headers, ("Nats-Consumer-Stalled", stalled))
    return status("100 Idle Heartbeat", *headers)


PUSH_BASED = status("409 Consumer is push based")
API_LEVEL = status("412 Required Api Level")
DELETED = status("409 Consumer Deleted")
NO_MESSAGES = status("404 No Messages")
REQUESTS_PENDING = status("408 Requests Pending")
PIN_MISMATCH = status("423 Nats-Pin-Id mismatch")
FLOW_CONTROL = status("100 FlowControl Request")

TIMEOUT = "408 Request Timeout"
TOO_LARGE = "409 Message Size Exceeds MaxBytes"
BATCH_COMPLETED = "409 Batch Completed"
WRONG_PIN = "423 Nats-Wrong-Pin-Id"
SHUTDOWN = "409 Server Shutdown"
