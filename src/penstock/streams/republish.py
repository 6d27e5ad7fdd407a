"""Republishing: a stored message goes out again under another subject.

The copy says where it is stored, and what the last message of its subject was, so that a
subscriber notices a gap. With headers_only the payload stays behind and its size is told.
"""

from typing import NamedTuple

from penstock.kernel.hub import is_valid_literal
from penstock.model.stream_config import StreamConfig
from penstock.model.timestamps import rfc3339
from penstock.storage.store import Record
from penstock.streams import headers
from penstock.streams.transforms import compiled


class Republished(NamedTuple):
    subject: bytes
    headers: bytes
    payload: bytes


class Republisher:
    """The republish rule of one stream."""

    def __init__(self, config: StreamConfig) -> None:
        assert config.republish is not None
        self._name = config.name.encode()
        self._headers_only = config.republish.headers_only
        self._transform = compiled(config.republish.src or ">", config.republish.dest)

    def apply(self, record: Record, sequence_before: int) -> Republished | None:
        """The copy of a stored message, if the rule covers its subject."""
        subject = None if self._transform is None else self._transform.apply(record.subject)
        if not subject or not is_valid_literal(subject):
            return None
        added = (
            (b"Nats-Stream", self._name),
            (b"Nats-Subject", record.subject),
            (b"Nats-Sequence", b"%d" % record.sequence),
            (b"Nats-Time-Stamp", rfc3339(record.time_ns).encode()),
            (b"Nats-Last-Sequence", b"%d" % sequence_before),
        )
        all_headers = record.headers
        for name, value in added:
            all_headers = headers.add(all_headers, name, value)
        if self._headers_only:
            size = b"%d" % len(record.payload)
            return Republished(subject, headers.add(all_headers, b"Nats-Msg-Size", size), b"")
        return Republished(subject, all_headers, record.payload)
