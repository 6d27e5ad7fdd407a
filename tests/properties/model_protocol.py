"""The client protocol read as slowly and obviously as possible: whole stream, one line at a time.

Written from the rules, not from the kernel: a verb in any case; a line ends with LF, and a CR
before it belongs to the end; blanks are spaces and tabs. PUB, HPUB, SUB, UNSUB and -ERR need a
blank behind the verb, CONNECT and INFO take the rest of the line with or without one, PING, PONG
and +OK ignore it. Sizes are one to nine ASCII digits. A payload is followed by CRLF and nothing
else. What can no longer become a frame is a fault at once, even before its line ends.
"""

import re
from typing import NamedTuple

from penstock.kernel.hub import Fault, Verb

_VERBS = {
    b"PUB": Verb.PUBLISH,
    b"HPUB": Verb.PUBLISH_WITH_HEADERS,
    b"SUB": Verb.SUBSCRIBE,
    b"UNSUB": Verb.UNSUBSCRIBE,
    b"PING": Verb.PING,
    b"PONG": Verb.PONG,
    b"CONNECT": Verb.CONNECT,
    b"INFO": Verb.INFO,
    b"-ERR": Verb.ERR,
    b"+OK": Verb.OK,
}
_NEED_A_BLANK = {b"PUB", b"HPUB", b"SUB", b"UNSUB", b"-ERR"}
_TAKE_NOTHING = {b"PING", b"PONG", b"+OK"}
_SIZE = re.compile(rb"[0-9]{1,9}")


class Seen(NamedTuple):
    """A frame, without whose it is."""

    verb: Verb
    header_bytes: int = 0
    subject: bytes = b""
    reply: bytes = b""
    payload: bytes = b""


class Decoded(NamedTuple):
    frames: list[Seen]
    fault: Fault | None


class _NeedMore(Exception):  # noqa: N818 - an outcome, not an error
    pass


class _Refused(Exception):  # noqa: N818 - an outcome, not an error
    def __init__(self, fault: Fault) -> None:
        self.fault = fault


def decode(stream: bytes, line_bytes_max: int, payload_bytes_max: int) -> Decoded:
    frames: list[Seen] = []
    while True:
        try:
            frame, stream = _read_frame(stream, line_bytes_max, payload_bytes_max)
        except _NeedMore:
            return Decoded(frames, None)
        except _Refused as refused:
            return Decoded(frames, refused.fault)
        frames.append(frame)


def _read_frame(stream: bytes, line_max: int, payload_max: int) -> tuple[Seen, bytes]:
    name = _read_verb(stream)
    rest = stream[len(name) :]
    if name in _NEED_A_BLANK:
        if not rest:
            raise _NeedMore
        if rest[:1] not in (b" ", b"\t"):
            raise _Refused(Fault.UNKNOWN_OPERATION)
    if name not in _TAKE_NOTHING:
        rest = rest.lstrip(b" \t")
    line, rest = _read_line(rest, line_max)
    if name in (b"PUB", b"HPUB"):
        return _read_publish(name, line, rest, payload_max)
    words = re.findall(rb"[^ \t\r]+", line)
    if name in _TAKE_NOTHING:
        return Seen(_VERBS[name]), rest
    if name == b"SUB" and len(words) in (2, 3):
        queue = words[1] if len(words) == 3 else b""
        return Seen(Verb.SUBSCRIBE, subject=words[0], reply=queue, payload=words[-1]), rest
    if name == b"UNSUB" and len(words) in (1, 2):
        maximum = words[1] if len(words) == 2 else b""
        return Seen(Verb.UNSUBSCRIBE, reply=maximum, payload=words[0]), rest
    if name in (b"SUB", b"UNSUB"):
        raise _Refused(Fault.BAD_ARGUMENTS)
    return Seen(_VERBS[name], payload=line), rest


def _read_verb(stream: bytes) -> bytes:
    for name in _VERBS:
        if stream[: len(name)].upper() == name:
            return name
    if any(name.startswith(stream.upper()) for name in _VERBS):
        raise _NeedMore
    raise _Refused(Fault.UNKNOWN_OPERATION)


def _read_line(rest: bytes, line_max: int) -> tuple[bytes, bytes]:
    line, newline, after = rest.partition(b"\n")
    if not newline and len(line) <= line_max + 1:
        raise _NeedMore
    line = line.removesuffix(b"\r") if newline else line
    if len(line) > line_max:
        raise _Refused(Fault.CONTROL_LINE_TOO_LONG)
    return line, after


def _read_publish(name: bytes, line: bytes, rest: bytes, payload_max: int) -> tuple[Seen, bytes]:
    numbers = 2 if name == b"HPUB" else 1
    words = re.findall(rb"[^ \t]+", line)
    sizes = words[-numbers:]
    good = (
        b"\r" not in line
        and len(words) in (numbers + 1, numbers + 2)
        and all(_SIZE.fullmatch(size) for size in sizes)
        and int(sizes[0]) <= int(sizes[-1])
    )
    if not good:
        raise _Refused(Fault.BAD_ARGUMENTS)
    size = int(sizes[-1])
    if size > payload_max:
        raise _Refused(Fault.PAYLOAD_TOO_LARGE)
    payload, end, after = rest[:size], rest[size : size + 2], rest[size + 2 :]
    if not b"\r\n".startswith(end):
        raise _Refused(Fault.UNKNOWN_OPERATION)
    if end != b"\r\n":
        raise _NeedMore
    reply = words[1] if len(words) == numbers + 2 else b""
    header_bytes = int(sizes[0]) if numbers == 2 else 0
    return Seen(_VERBS[name], header_bytes, words[0], reply, payload), after
