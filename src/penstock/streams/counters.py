"""Counters (ADR-49): every message of the stream adds to its subject's value.

A publisher sends `Nats-Incr` and no body; the stream adds it to the value of the subject's last
message, and stores the sum as the new one's body. A message from a source brings the value that
its origin had reached: what it adds is the difference to the value seen before, which is remembered
in `Nats-Counter-Sources` by stream and original subject, and carried from message to message for
ever. So lost messages, and sources that come and go, leave the sum right.

Numbers are decimal text outside and decimal inside: adding texts of 60,000 digits takes time in
proportion to their length, which neither `int()` nor `str()` of an integer does; and there is no
length at which they give up. The context keeps every digit, so all sums are exact.
"""

import decimal
import json
import re
from decimal import Decimal
from typing import NamedTuple

import msgspec

from penstock.model.api_errors import ApiError, Fault
from penstock.storage.store import Record
from penstock.streams import headers

INCREMENT = b"Nats-Incr"
COUNTER_SOURCES = b"Nats-Counter-Sources"
# What a client must not combine with an increment: each would let others decide about the sum.
UNCOUNTED = (
    b"Nats-Rollup",
    b"Nats-Expected-Stream",
    b"Nats-Expected-Last-Msg-Id",
    b"Nats-Expected-Last-Subject-Sequence-Subject",
    b"Nats-Expected-Last-Sequence",
    b"Nats-Expected-Last-Subject-Sequence",
    COUNTER_SOURCES,  # only the server knows what it has seen of a source
)

BODY_HEAD, BODY_TAIL = b'{"val":"', b'"}'  # around the value

_EXACT = decimal.Context(
    prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, rounding=decimal.ROUND_DOWN
)
_UNCOUNTED = re.compile(rb"Nats-(?:Rollup|Expected-|Counter-Sources)")
_SIGNED = re.compile(rb"[+-][0-9]+")
_NUMBER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_ZERO = Decimal(0)
_UNREADABLE = (ValueError, RecursionError)  # no JSON, not of that kind, no UTF-8, or too deep

Sources = dict[str, dict[str, str]]


class CounterValue(msgspec.Struct):
    """The body of a counter's message; more fields may come one day."""

    val: str


class CountedSource(NamedTuple):
    """Where a message comes from that was not published here."""

    stream: str
    subject: str  # as it was there


class Counted(NamedTuple):
    """A message as it is stored."""

    headers: bytes
    payload: bytes


_BODY = msgspec.json.Decoder(CounterValue)
_SOURCES = msgspec.json.Decoder(Sources)


def client_error(message_headers: bytes, payload: bytes) -> ApiError | None:
    """What is wrong with a client's increment; None also if there is none at all."""
    increment = headers.find(message_headers, INCREMENT)
    if not increment:
        return None
    if _SIGNED.fullmatch(increment) is None:
        return Fault.INCREMENT_INVALID.error()
    if payload:
        return Fault.INCREMENT_WITH_PAYLOAD.error()
    if _UNCOUNTED.search(message_headers) and any(
        headers.find(message_headers, name) for name in UNCOUNTED
    ):
        return Fault.INCREMENT_INVALID.error()
    return None


def counted(
    message_headers: bytes, payload: bytes, last: Record | None, source: CountedSource | None
) -> Counted | ApiError:
    """The message that comes after `last`, the last one of its subject."""
    value, sources = _ZERO, Sources()
    if last is not None:
        found, seen = _value_of(last.payload), _sources_of(last.headers)
        if found is None or seen is None:
            return Fault.COUNTER_BROKEN.error()
        value, sources = found, seen
    if source is None:
        increment = _number(headers.find(message_headers, INCREMENT) or b"")
    else:
        increment = _since_seen(payload, sources, source)
        if increment is not None:
            message_headers = headers.put(message_headers, INCREMENT, _text(increment).encode())
    if increment is None:
        return Fault.COUNTER_BROKEN.error()
    if sources:
        message_headers = headers.put(message_headers, COUNTER_SOURCES, _encoded(sources))
    return Counted(message_headers, body(_EXACT.add(value, increment)))


def body(value: Decimal) -> bytes:
    return BODY_HEAD + _text(value).encode() + BODY_TAIL


def _since_seen(payload: bytes, sources: Sources, source: CountedSource) -> Decimal | None:
    """What the source has come to since it was last seen; `sources` remembers it."""
    reached = _value_of(payload)
    if reached is None:
        return None
    subjects = sources.setdefault(source.stream, {})
    before = _number(subjects.get(source.subject, "0").encode())
    subjects[source.subject] = _text(reached)
    return None if before is None else _EXACT.subtract(reached, before)


def _value_of(payload: bytes) -> Decimal | None:
    try:
        return _number(_BODY.decode(payload).val.encode())
    except _UNREADABLE:
        return None


def _sources_of(message_headers: bytes) -> Sources | None:
    text = headers.find(message_headers, COUNTER_SOURCES)
    if not text:
        return {}
    try:
        return _SOURCES.decode(text)
    except _UNREADABLE:
        return None


def _number(text: bytes) -> Decimal | None:
    """Digits and perhaps a sign. `Decimal` itself takes much more than that."""
    decoded = text.decode(errors="replace")
    return Decimal(decoded) if _NUMBER.fullmatch(decoded) else None


def _text(value: Decimal) -> str:
    return "0" if value.is_zero() else str(value)  # -0 is a number too


def _encoded(sources: Sources) -> bytes:
    """As the reference writes it: sorted, without blanks, and what HTML might mistake escaped."""
    text = json.dumps(sources, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode()
