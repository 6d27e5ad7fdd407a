"""The short lines a server sends; delivered messages are rendered in bulk by the kernel."""

OK = b"+OK\r\n"
PING = b"PING\r\n"
PONG = b"PONG\r\n"
CRLF = b"\r\n"


def render_error(words: str) -> bytes:
    return b"-ERR '%s'\r\n" % words.encode()


def render_status(subject: bytes, sid: bytes, headers: bytes) -> bytes:
    """A message that is only headers, to one subscription."""
    return b"HMSG %s %s %d %d\r\n%s\r\n" % (subject, sid, len(headers), len(headers), headers)


def no_responders_headers(subject: bytes) -> bytes:
    """What a requester hears when nobody listens to `subject`."""
    return b"NATS/1.0 503\r\nNats-Subject: %s\r\n\r\n" % subject
