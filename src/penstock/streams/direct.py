"""Direct gets: the answers of DIRECT.GET and DIRECT_LEADER.GET, and who gives them.

An answer is headers and payload: the stored message as it is, with where it is stored appended to
its headers. A request for many gets its messages in the order of their sequences and an end of
batch that says how many are left; it is a generator, so that the caller sets the pace. A caller
that can send whole pages by itself (`Send`) is asked to, and what it leaves comes one by one.
Whatever cannot be answered is a status line without a payload.
"""

import enum
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from penstock.kernel.hub import is_valid_pattern
from penstock.model.api_errors import ApiError
from penstock.model.limits import PENDING_BYTES_MAX
from penstock.model.stream_config import ReadConsistency, StreamConfig
from penstock.model.timestamps import rfc3339
from penstock.storage.store import Record
from penstock.streams import headers
from penstock.streams.read_request import CONTRADICTIONS, WAYS, ReadRequest, parse_read_request
from penstock.streams.reads import EVERYTHING, Wanted, find, start_of, walk
from penstock.streams.stream import Stream
from penstock.streams.versioning import is_level_served

GET = "$JS.API.DIRECT.GET."
LEADER_GET = "$JS.API.DIRECT_LEADER.GET."
DOTS_BEFORE_SUBJECT = 5  # $JS.API.DIRECT.GET.<stream>.<subject>
SUBJECTS_ANSWERED_MAX = 1024  # of one multi_last, as the reference
REQUIRED_LEVEL = b"Nats-Required-Api-Level"

# On top of what no read may combine.
DIRECT_CONTRADICTIONS = (
    *CONTRADICTIONS,
    frozenset({"last_by_subj", "batch"}),
    frozenset({"last_by_subj", "multi_last"}),
    frozenset({"next_by_subj", "multi_last"}),
    frozenset({"up_to_seq", "up_to_time"}),
)
# What may not be said where the subject is part of the request's subject.
ELSEWHERE = WAYS | {"multi_last", "up_to_seq", "up_to_time"}

_DESCRIBED = (
    b"%bNats-Stream: %b\r\nNats-Subject: %b\r\nNats-Sequence: %d\r\nNats-Time-Stamp: %b\r\n"
)

Answer = tuple[bytes, bytes]  # headers, payload
Lines = tuple[tuple[bytes, bytes | int], ...]


class Page(NamedTuple):
    """Messages of a batch that are to be sent as they are."""

    pattern: bytes
    sequence: int  # from here on
    up_to: int
    messages: int  # so many at the most
    bytes_left: int  # sending ends behind the message that takes the last of them
    pending: int  # messages there are from `sequence` on
    sequence_before: int  # the last one that was sent


Send = Callable[[Page], Page]  # sends some of them, and answers with what is left to be sent


class Status(enum.Enum):
    """The status lines, word for word as clients know them."""

    END = b"204 EOB"
    NOT_FOUND = b"404 Message Not Found"
    NO_RESULTS = b"404 No Results"
    EMPTY = b"408 Empty Request"
    MALFORMED = b"408 Malformed Request"
    BAD = b"408 Bad Request"
    LEVEL_TOO_LOW = b"412 Required Api Level"
    TOO_MANY = b"413 Too Many Results"


def direct_subjects(config: StreamConfig, answers_for_origin: bool = True) -> tuple[str, ...]:
    """The subjects on which a stream answers; whoever asks elsewhere finds nobody there.

    A mirror with mirror_direct answers for its origin where that does not answer itself. With
    `strong` only the leader listens (ADR-56); the subjects are the same.
    """
    leads = config.read_consistency is not ReadConsistency.DEFAULT
    places = []
    if config.allow_direct or leads:
        places.append(GET + config.name)
    if config.mirror_direct and config.mirror is not None and answers_for_origin:
        places.append(GET + config.mirror.name)
    if leads:
        places.append(LEADER_GET + config.name)
    return tuple(place + end for place in places for end in ("", ".>"))


def answer(
    stream: Stream,
    subject: bytes,
    request_headers: bytes,
    payload: bytes,
    bytes_max: int = PENDING_BYTES_MAX,
    send: Send | None = None,
) -> Iterator[Answer]:
    """Everything to send to the reply of one request; `bytes_max` where it sets no bound itself."""
    level = headers.find(request_headers, REQUIRED_LEVEL) if request_headers else None
    if level and not is_level_served(level.decode(errors="replace")):
        return _only(Status.LEVEL_TOO_LOW)
    parts = subject.split(b".", DOTS_BEFORE_SUBJECT)
    if len(parts) > DOTS_BEFORE_SUBJECT:
        return _last_of_subject(stream, parts[DOTS_BEFORE_SUBJECT], payload)
    request = _asked(payload)
    if isinstance(request, Status):
        return _only(request)
    if request.last_of_each:
        return _last_of_each(stream, request, request.bytes_max or bytes_max)
    if request.batch:
        return _batch(stream, request, request.bytes_max or bytes_max, send)
    return _one(stream, request.wanted(), request.headerless)


def failed(reason: str) -> Answer:
    """What ends a request that the store fails; not 503, which says that nobody listens."""
    return _headers(f"NATS/1.0 500 {reason}\r\n".encode(), ()), b""


def _asked(payload: bytes) -> ReadRequest | Status:
    if not payload:
        return Status.EMPTY
    request = _parsed(payload)
    if request is None:
        return Status.MALFORMED
    given = request.given()
    if not given & (WAYS | {"multi_last"}):
        return Status.EMPTY
    if any(pair <= given for pair in DIRECT_CONTRADICTIONS):
        return Status.BAD
    return request


def _parsed(payload: bytes) -> ReadRequest | None:
    if payload.isspace():
        return None  # the API takes this for an empty request, a direct get does not
    try:
        return parse_read_request(payload, strict=False)
    except ApiError:
        return None


def _last_of_subject(stream: Stream, subject: bytes, payload: bytes) -> Iterator[Answer]:
    headerless = False
    if payload:
        request = _parsed(payload)
        if request is None:
            return _only(Status.MALFORMED)
        if request.batch or request.given() & ELSEWHERE:
            return _only(Status.BAD)
        headerless = request.headerless
    return _one(stream, Wanted(last_of=subject), headerless) if subject else _only(Status.BAD)


def _one(stream: Stream, wanted: Wanted, headerless: bool) -> Iterator[Answer]:
    record = find(stream.store, wanted)
    if record is None:
        return iter([(NOT_FOUND, b"")])
    return iter([(b"" if headerless else _described(stream, record), record.payload)])


def _batch(
    stream: Stream, request: ReadRequest, bytes_max: int, send: Send | None
) -> Iterator[Answer]:
    """Messages from a place on. As the reference, those without headers do not count as sent."""
    store = stream.store
    pattern = request.next_of.encode() or EVERYTHING
    start, end = start_of(store, request.wanted()), stream.sequence_last
    is_proper = is_valid_pattern(pattern)
    pending = store.pending(pattern, start) if is_proper else 0
    page = Page(pattern, start, end, max(request.batch, 0), bytes_max, pending, 0)
    if send is not None and is_proper and not request.headerless:
        page = send(page)
    for record in islice(walk(store, pattern, page.sequence, end), page.messages):
        if request.headerless:
            yield b"", record.payload
        else:
            pending = max(page.pending - 1, 0)
            left = _left(pending, page.sequence_before)
            yield _described(stream, record, left), record.payload
        page = page._replace(
            bytes_left=page.bytes_left - _answered_bytes(record),
            pending=page.pending if request.headerless else pending,
            sequence_before=record.sequence,
        )
        if page.bytes_left <= 0:
            break
    pending, sequence_before = page.pending, page.sequence_before
    if not sequence_before and request.batch > 0:
        yield _status(Status.NOT_FOUND)
        return
    if stream.sequence_last > end:  # messages came while the caller took its time
        pending = store.pending(pattern, max(start, sequence_before + 1))
    yield _status(Status.END, _left(pending, sequence_before))


def _last_of_each(stream: Stream, request: ReadRequest, bytes_max: int) -> Iterator[Answer]:
    """The last message of each subject, up to a sequence or a time."""
    up_to = _ceiling(stream, request)
    patterns = [pattern.encode() for pattern in dict.fromkeys(request.last_of_each)]
    proper = [pattern for pattern in patterns if is_valid_pattern(pattern)]
    found = stream.store.last_by_subjects(proper, up_to) if proper and up_to else []
    if not found or len(found) > SUBJECTS_ANSWERED_MAX:
        yield _status(Status.TOO_MANY if found else Status.NO_RESULTS)
        return
    pending, sent, sequence_before = len(found), 0, 0
    for sequence in found:
        pending -= 1
        if sequence < request.sequence:
            continue
        record = stream.store.load(sequence)
        if record is None:  # removed while the caller took its time, or damaged
            yield _status(Status.NOT_FOUND)
            return
        yield _described(stream, record, _left(pending, sequence_before)), record.payload
        sequence_before = sequence
        bytes_max -= _answered_bytes(record)
        sent += 1
        if bytes_max <= 0 or sent == request.batch:
            break
    yield _status(Status.END, (*_left(pending, sequence_before), (b"Nats-UpTo-Sequence", up_to)))


def _ceiling(stream: Stream, request: ReadRequest) -> int:
    """The last sequence to look at; 0 if a time is before everything."""
    if request.up_to_ns is None:
        return request.up_to_sequence or stream.sequence_last
    after = stream.store.sequence_at(request.up_to_ns)
    return after - 1 if after > stream.store.state().sequence_first else 0


def _described(stream: Stream, record: Record, more: Lines = ()) -> bytes:
    """A message's headers, and behind them where it is stored."""
    sequence, time_ns, subject, stored, _ = record
    described = _DESCRIBED % (
        headers.unended(stored) if stored else headers.STATUS_LINE,
        stream.config.name.encode(),
        subject,
        sequence,
        rfc3339(time_ns).encode(),
    )
    return _headers(described, more)


def _left(pending: int, sequence_before: int) -> Lines:
    return ((b"Nats-Num-Pending", pending), (b"Nats-Last-Sequence", sequence_before))


def _answered_bytes(record: Record) -> int:
    """What counts towards a bound in bytes: not the headers that we add."""
    return len(record.subject) + len(record.headers) + len(record.payload)


def _only(status: Status) -> Iterator[Answer]:
    return iter([_status(status)])


def _status(status: Status, lines: Lines = ()) -> Answer:
    return _headers(b"NATS/1.0 " + status.value + b"\r\n", lines), b""


def _headers(start: bytes, lines: Lines) -> bytes:
    texts = [
        name + b": " + (b"%d" % value if isinstance(value, int) else value) + b"\r\n"
        for name, value in lines
    ]
    return b"".join((start, *texts, b"\r\n"))


NOT_FOUND = _status(Status.NOT_FOUND)[0]
