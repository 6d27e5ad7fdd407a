"""Whose fault it is shows in the type, and the words on the wire are one table.

`Reason` says why a connection ended or was warned: `wire` is what the peer reads in -ERR (none:
it is closed without a word, as the reference does), `shown` what monitoring and log say.
"""

import enum


class Reason(enum.Enum):
    """Why a connection was closed or warned."""

    # (name on the monitoring pages, words on the wire)
    CLIENT_CLOSED = ("Client Closed", None)
    READ_ERROR = ("Read Error", None)
    WRITE_ERROR = ("Write Error", None)
    SLOW_CONSUMER_PENDING = ("Slow Consumer (Pending Bytes)", None)
    SLOW_CONSUMER_DEADLINE = ("Slow Consumer (Write Deadline)", None)
    SERVER_SHUTDOWN = ("Server Shutdown", None)
    PROTOCOL_VIOLATION = ("Protocol Violation", None)
    UNKNOWN_OPERATION = ("Protocol Violation", "Unknown Protocol Operation")
    PARSE_ERROR = ("Parse Error", None)
    CONTROL_LINE_TOO_LONG = ("Maximum Control Line Exceeded", "maximum control line exceeded")
    PAYLOAD_TOO_LARGE = ("Maximum Message Payload Exceeded", "Maximum Payload Violation")
    BAD_CLIENT_PROTOCOL = ("Bad Client Protocol Version", "invalid client protocol")
    NO_RESPONDERS_REQUIRES_HEADERS = (
        "No Responders Requires Headers",
        "no responders requires headers support",
    )
    SECOND_CONNECT = ("Protocol Violation", "CONNECT was already received")
    AUTHENTICATION_FAILURE = ("Authentication Failure", "Authorization Violation")
    AUTHENTICATION_TIMEOUT = ("Authentication Timeout", "Authentication Timeout")
    CONNECTIONS_EXCEEDED = ("Maximum Connections Exceeded", "maximum connections exceeded")
    STALE_CONNECTION = ("Stale Connection", "Stale Connection")
    HEADERS_NOT_SUPPORTED = ("Protocol Violation", None)
    # Warnings: the connection stays open.
    INVALID_PUBLISH_SUBJECT = ("Invalid Publish Subject", "Invalid Publish Subject")
    INVALID_SUBJECT = ("Invalid Subject", "Invalid Subject")
    SUBSCRIPTIONS_EXCEEDED = ("Maximum Subscriptions Exceeded", "maximum subscriptions exceeded")

    def __init__(self, shown: str, wire: str | None) -> None:
        self.shown = shown
        self.wire = wire


class PeerError(Exception):
    """The peer's fault: its own connection is closed, nobody else notices."""

    def __init__(self, reason: Reason, note: str = "") -> None:
        super().__init__(note or reason.shown)
        self.reason = reason
        self.note = note


class StorageError(Exception):
    """The disk's fault: one stream, or the store, cannot go on."""

    def __init__(self, operation: str, path: str, hint: str) -> None:
        super().__init__(f"{operation} {path}: {hint}")
        self.operation = operation
        self.path = path
        self.hint = hint
