"""Message headers as bytes: found, set and removed without parsing what nobody asked for.

As the reference: names are compared exactly, the first of several counts, blanks before a value
do not belong to it, and everything that is not touched passes through byte for byte. A client's
block may end in the middle of a line: what is added to it begins a line of its own all the same.
"""

STATUS_LINE = b"NATS/1.0\r\n"
CONTROL_PREFIX = b"Nats-"  # without it, no header is a control header
_VERSION = b"NATS/1.0"
_CRLF = b"\r\n"


def find(headers: bytes, name: bytes) -> bytes | None:
    """The value of the first header of that name."""
    start = _line_start(headers, name)
    if start < 0:
        return None
    end = headers.find(_CRLF, start)
    value = headers[start + len(name) + 1 : end if end >= 0 else len(headers)]
    return value.lstrip(b" ")


def without_status(headers: bytes) -> bytes:
    """Without the code and the text after the version: a stored message is no status.

    They reach to the first carriage return; as the reference, three bytes from there on are no
    header, whatever they are.
    """
    end = headers.find(b"\r")
    if not headers.startswith(_VERSION) or end <= len(_VERSION):
        return headers
    headers = _VERSION + headers[end:]
    return b"" if len(headers) == len(STATUS_LINE + _CRLF) else headers


def remove(headers: bytes, name: bytes) -> bytes:
    """Without any header of that name; empty if nothing is left."""
    while (start := _line_start(headers, name)) >= 0:
        end = headers.find(_CRLF, start)
        rest = headers[end + 2 :] if end >= 0 else b""
        headers = headers[:start] + rest
    return b"" if headers in (STATUS_LINE, STATUS_LINE + _CRLF) else headers


def unended(headers: bytes) -> bytes:
    """Without the empty line at the end, so that another line may follow."""
    lines = headers.removesuffix(_CRLF)
    return lines if lines.endswith(_CRLF) else lines + _CRLF


def add(headers: bytes, name: bytes, value: bytes) -> bytes:
    """With one more header at the end."""
    line = name + b": " + value + _CRLF
    if not headers:
        return STATUS_LINE + line + _CRLF
    return unended(headers) + line + _CRLF


def put(headers: bytes, name: bytes, value: bytes) -> bytes:
    """With that value in the place of the first header of that name, or one more at the end."""
    start = _line_start(headers, name)
    if start < 0:
        return add(headers, name, value)
    start += len(name) + 1
    start += headers[start : start + 1] == b" "
    end = headers.find(_CRLF, start)
    return headers[:start] + value + (headers[end:] if end >= 0 else b"")


def _line_start(headers: bytes, name: bytes) -> int:
    found = headers.find(_CRLF + name + b":")
    return found + 2 if found >= 0 else -1
