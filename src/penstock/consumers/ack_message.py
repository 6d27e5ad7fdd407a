"""What an acknowledgement says: its subject names the delivery, its payload what became of it.

The payload counts exactly as it stands; what is none of the known ones says nothing, but may still
be answered. As the reference, a token that is no number is the largest number there is.
"""

import enum
from typing import NamedTuple

import msgspec

from penstock.model.durations import duration_ns

_UINT64 = 2**64
NOWHERE = _UINT64 - 1
_BLANKS = " \t\n\v\f\r\x85\xa0"
_V1_TOKENS, _V2_TOKENS = 9, 11


class Verb(enum.Enum):
    """What became of a message."""

    ACK = enum.auto()
    NEXT = enum.auto()  # and the next ones are asked for
    NAK = enum.auto()
    PROGRESS = enum.auto()
    TERM = enum.auto()
    NOTHING = enum.auto()


class Delivery(NamedTuple):
    """Which delivery is meant."""

    stream_sequence: int
    consumer_sequence: int
    deliveries: int


_EXACTLY = {b"": Verb.ACK, b"+ACK": Verb.ACK, b"+OK": Verb.ACK, b"+WPI": Verb.PROGRESS}
_NEXT = b"+NXT"
_BEGINNINGS = ((_NEXT, Verb.NEXT), (b"-NAK", Verb.NAK), (b"+TERM", Verb.TERM))


def parse_ack(payload: bytes) -> tuple[Verb, bytes]:
    """The verb, and what follows it."""
    if (verb := _EXACTLY.get(payload)) is not None:
        return verb, b""
    for beginning, verb in _BEGINNINGS:
        if payload.startswith(beginning):
            return verb, payload[len(beginning) :]
    return Verb.NOTHING, b""


def asks_for_next(payload: bytes) -> bool:
    """Whether it is the one that is followed by deliveries at once."""
    return payload.startswith(_NEXT)


def parse_subject(subject: bytes) -> Delivery | None:
    """The delivery that an acknowledgement's subject names, in either of its two forms."""
    tokens = subject.split(b".")
    if len(tokens) == _V1_TOKENS:
        numbers = tokens[4:7]
    elif len(tokens) >= _V2_TOKENS:
        numbers = tokens[6:9]
    else:
        return None
    deliveries, stream_sequence, consumer_sequence = map(_number, numbers)
    return Delivery(stream_sequence, consumer_sequence, deliveries)


def _number(token: bytes) -> int:
    return int(token) % _UINT64 if token.isdigit() else NOWHERE


def reason_of(rest: bytes) -> str:
    """Why a message was terminated."""
    return rest.decode(errors="replace").strip(_BLANKS)


def delay_of(rest: bytes) -> int | None:
    """How long a negative acknowledgement wants to wait; None if it does not say so."""
    text = rest.decode(errors="replace").strip(_BLANKS)
    if not text:
        return None
    if not text.startswith("{"):
        return duration_ns(text)
    try:
        fields = msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.MsgspecError, RecursionError):
        return None
    given = [value for name, value in fields.items() if name.lower() == "delay"]
    delay_ns = given[-1] if given and given[-1] is not None else 0
    if type(delay_ns) is not int or not -(2**63) <= delay_ns < 2**63:
        return None
    return delay_ns
