"""A feed: what a stream takes from another one, as its mirror or as one of its sources.

Which messages, under which subjects, and what is written on them. A mirror's message keeps its
sequence and time; a source's gets new ones and the header `Nats-Stream-Source`:

    stream sequence filter destination subject identity

with everything as it was in the origin. Filter and destination tell feeds from the same stream
apart; the identity is another one when a stream of that name was made anew.
"""

import base64
import hashlib
from typing import NamedTuple

from penstock.kernel.storage import Copies
from penstock.model.api_errors import ApiError
from penstock.model.stream_config import Discard, Source
from penstock.storage.store import Record
from penstock.streams import bulk, headers, subjects
from penstock.streams.admission import (
    MESSAGE_ID,
    ROLLUP,
    STREAM_SOURCE,
    admit_copied,
    parse_sequence,
)
from penstock.streams.counters import CountedSource
from penstock.streams.message_ttl import TTL
from penstock.streams.origins import source_identity
from penstock.streams.stream import Outcome, Stream
from penstock.streams.transforms import compiled

# What was asked of the origin means nothing to a stream that copies it.
_DROPPED = [b"Nats-Expected-", b"Nats-Batch-"]
_FIELDS_MIN = 4  # of the header: stream, sequence, filter, destination
_FIELDS_ALL = 6


class Position(NamedTuple):
    """How far a feed was read."""

    sequence: int  # of the last message taken
    identity: str  # of the stream it was in
    began: int = 0  # there from which sequence on it was read; 0 if nobody knows


class Feed:
    """One origin, as a stream's configuration describes it."""

    def __init__(self, source: Source, *, is_mirror: bool) -> None:
        self.source = source
        self.is_mirror = is_mirror
        self.name = source.name
        _, taken = source_identity(source)
        filters, destinations = ("\f".join(texts) for texts in zip(*taken, strict=True))
        self._middle = f" {filters} {destinations} ".encode()
        # Feeds are known by this name: two that are the same are one.
        self.index_name = f"{source.name}{self._middle.decode()[:-1]}"
        sources = [part.src for part in source.subject_transforms] or [source.filter_subject]
        is_all = any(pattern in ("", subjects.REST) for pattern in sources)
        self.filters: tuple[str, ...] = () if is_all else tuple(sources)
        self.patterns = [pattern.encode() for pattern in self.filters]
        parts = source.subject_transforms
        found = (compiled(part.src, part.dest) for part in parts)
        self._transforms = [transform for transform in found if transform is not None]

    @property
    def dropped(self) -> list[bytes]:
        """Beginnings of header lines that are left out."""
        return _DROPPED if self.is_mirror else [*_DROPPED, STREAM_SOURCE + b":"]

    @property
    def is_plain(self) -> bool:
        """Whether messages keep their subjects."""
        return not self._transforms

    @property
    def is_steady(self) -> bool:
        """Whether a subject is always renamed the same way."""
        return not any("random" in part.dest.lower() for part in self.source.subject_transforms)

    def wants(self, subject: bytes) -> bool:
        text = subject.decode(errors="surrogateescape")
        return not self.filters or any(subjects.is_subset(text, ours) for ours in self.filters)

    def transformed(self, subject: bytes) -> bytes:
        for transform in self._transforms:
            if (found := transform.apply(subject)) is not None:
                return found
        return subject

    def line(self, identity: str) -> tuple[bytes, bytes, bytes]:
        """The parts of the header's line before the sequence, after it, and after the subject."""
        head = b"%s: %s " % (STREAM_SOURCE, self.name.encode())
        return head, self._middle, f" {identity}".encode()

    def signed(self, message_headers: bytes, sequence: int, subject: bytes, identity: str) -> bytes:
        """A message's headers with the one that says where it comes from."""
        _, middle, end = self.line(identity)
        value = b"%s %d%s%s%s" % (self.name.encode(), sequence, middle, subject, end)
        return headers.add(message_headers, STREAM_SOURCE, value)


def identity_of(stream: Stream) -> str:
    """Eight characters that another stream of the same name does not have."""
    text = f"{stream.config.name} {stream.created_ns}"
    digest = hashlib.blake2b(text.encode(), digest_size=6).digest()
    return base64.urlsafe_b64encode(digest).decode()


def position_from(header: bytes) -> tuple[str, Position] | None:
    """The feed's index name and position, as a stored message's header has them.

    Older servers left the identity out, and still older ones the subject. There may be blanks in a
    destination: where all fields are there, the last two are counted from the end.
    """
    fields = header.decode(errors="replace").split(" ")
    sequence = parse_sequence(fields[1].encode()) if len(fields) >= _FIELDS_MIN else None
    if sequence is None:
        return None
    is_whole = len(fields) >= _FIELDS_ALL
    identity = fields[-1] if is_whole else ""
    described = fields[2:-2] if is_whole else fields[2:4]
    return " ".join((fields[0], *described)), Position(sequence, identity)


def takes_in_bulk(stream: Stream, feed: Feed) -> bool:
    """Whether messages without special headers need no look."""
    config = stream.config
    is_alike = not config.allow_msg_counter and config.discard is not Discard.NEW
    return bulk.takes_all(stream) and feed.is_steady and is_alike


def special_headers(stream: Stream, feed: Feed) -> list[bytes]:
    """With one of these, a message is looked at."""
    config = stream.config
    matters = {
        ROLLUP: config.allow_rollup_hdrs and not config.deny_purge,
        TTL: config.allow_msg_ttl,
        MESSAGE_ID: config.duplicate_window > 0 and not feed.is_mirror,
    }
    return [b"\r\n%s:" % name for name, is_meant in matters.items() if is_meant]


def take_run(stream: Stream, copies: Copies) -> None:
    """Stores messages that need no look: copies, or a whole batch."""
    stream.store.append_copies(copies)
    stream.catch_up()
    last = copies.last()
    stream.message_id_last = (headers.find(last[1], MESSAGE_ID) or b"") if last else b""
    stream.audience.stored_copies(copies)
    stream.enforce_limits()


class Copied(NamedTuple):
    """Where a message comes from that another stream had before."""

    sequence: int = 0  # of a mirror's, with the time: it keeps both
    time_ns: int = 0
    source: CountedSource | None = None


def take_one(
    stream: Stream,
    subject: bytes,
    message_headers: bytes,
    payload: bytes,
    now_ns: int,
    copied: Copied,
) -> Outcome:
    """Stores a copy after a look at it; what is said about it is for nobody."""
    is_mirrored = copied.sequence > 0
    time_ns = copied.time_ns if is_mirrored else stream.moment(now_ns)
    message = stream.arriving(subject, message_headers, payload, time_ns)
    has_window = stream.config.duplicate_window > 0 and not is_mirrored
    refusal = admit_copied(stream.view(message.subject), message, has_window=has_window)
    if isinstance(refusal, ApiError):
        return Outcome(b"", refusal=refusal)
    if refusal is not None:  # a duplicate
        return Outcome(b"")
    prepared = stream.prepared(message, stream.store, copied.source)
    if isinstance(prepared, ApiError):
        return Outcome(b"", refusal=prepared)
    if is_mirrored:
        stream.sequence_last = copied.sequence - 1  # what its origin has lost is skipped
    return Outcome(b"", stream.accept(prepared).republished)


def skip_to(stream: Stream, sequence: int) -> None:
    """The messages of a mirror go on at this sequence: its origin has none before."""
    if sequence <= stream.sequence_last + 1:
        return
    if stream.store.state().messages == 0:
        stream.store.remove_below(sequence)
        stream.has_begun = True
    else:
        # A record that is removed at once is what remembers a sequence that nobody has.
        time_ns = stream.store.state().time_last_ns
        stream.store.append(Record(sequence - 1, time_ns, stream.config.name.encode(), b"", b""))
        stream.store.remove(sequence - 1, erase=False)
    stream.catch_up()
