"""What a client reads: MSG and HMSG, taken apart without trust."""

from tests.properties.model_subjects import Delivery, Message


def read_deliveries(data: bytes) -> list[Delivery]:
    """Everything in `data` must be whole deliveries; anything else is a failure."""
    found = []
    while data:
        line, separator, data = data.partition(b"\r\n")
        assert separator, f"no end of line: {line!r}"
        verb, subject, sid, *words = line.split(b" ")
        assert verb in (b"MSG", b"HMSG"), line
        size = int(words.pop())
        header_bytes = int(words.pop()) if verb == b"HMSG" else 0
        assert verb == b"MSG" or header_bytes > 0, line
        assert len(words) <= 1, line
        reply = words[0] if words else b""
        payload, end, data = data[:size], data[size : size + 2], data[size + 2 :]
        assert len(payload) == size and end == b"\r\n", (line, payload, end)
        message = Message(subject, reply, payload[:header_bytes], payload[header_bytes:])
        found.append(Delivery(sid, message))
    return found
