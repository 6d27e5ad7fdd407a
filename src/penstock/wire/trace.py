"""Frames as a person at the trace log reads them: the protocol line, without secrets."""

import re

from penstock.kernel.hub import Frame, Verb

_SECRETS = re.compile(
    rb'("(?:pass|auth_token|jwt|sig)"\s*:\s*)"(?:[^"\\]|\\.)*"?', re.IGNORECASE | re.DOTALL
)
_PAYLOAD_SHOWN_MAX = 256
_NAMES = {
    Verb.CONNECT: b"CONNECT",
    Verb.PUBLISH: b"PUB",
    Verb.PUBLISH_WITH_HEADERS: b"HPUB",
    Verb.SUBSCRIBE: b"SUB",
    Verb.UNSUBSCRIBE: b"UNSUB",
    Verb.PING: b"PING",
    Verb.PONG: b"PONG",
    Verb.INFO: b"INFO",
    Verb.OK: b"+OK",
    Verb.ERR: b"-ERR",
    Verb.FAULT: b"(not a frame)",
}


def describe(frame: Frame) -> str:
    """`[PUB orders.eu 5]` and the like; bytes that are no UTF-8 are escaped."""
    verb = Verb(frame.verb)
    words = [_NAMES[verb], *_arguments(verb, frame)]
    line = b"[" + b" ".join(word for word in words if word) + b"]"
    if verb in (Verb.PUBLISH, Verb.PUBLISH_WITH_HEADERS):
        line += b" %r" % frame.payload[:_PAYLOAD_SHOWN_MAX]
    return line.decode(errors="backslashreplace")


def _arguments(verb: Verb, frame: Frame) -> list[bytes]:
    match verb:
        case Verb.PUBLISH:
            return [frame.subject, frame.reply, b"%d" % len(frame.payload)]
        case Verb.PUBLISH_WITH_HEADERS:
            sizes = b"%d %d" % (frame.header_bytes, len(frame.payload))
            return [frame.subject, frame.reply, sizes]
        case Verb.SUBSCRIBE:
            return [frame.subject, frame.reply, frame.payload]
        case Verb.UNSUBSCRIBE:
            return [frame.payload, frame.reply]
        case Verb.CONNECT:
            return [_SECRETS.sub(rb'\1"[REDACTED]"', frame.payload)]
        case _:
            return [frame.payload]
