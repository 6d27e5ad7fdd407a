"""What a publisher is told, as bytes. The words and blanks are the reference's."""

import msgspec

from penstock.model.api_errors import ApiError


class PubAcks:
    """The acknowledgements of one stream."""

    def __init__(self, name: str) -> None:
        self._name = name
        # A whole run is acknowledged by the kernel: prefix, sequence, suffix.
        self.prefix = b'{"stream":' + msgspec.json.encode(name) + b',"seq":'
        self.suffix = b"}"
        self.joint = b","  # in a counter's, where the object that is its body goes on

    def stored(self, sequence: int) -> bytes:
        return b"%s%d}" % (self.prefix, sequence)

    def counted(self, sequence: int, body: bytes) -> bytes:
        """The body of a counter's message is an object with the value; it goes on behind it."""
        return b"%s%d,%s" % (self.prefix, sequence, body[1:])

    def duplicate(self, sequence: int) -> bytes:
        return b'%s%d,"duplicate": true}' % (self.prefix, sequence)

    def batch(self, sequence: int, batch_id: bytes, count: int) -> bytes:
        """Of a batch that is committed: its last sequence, its id and how many messages it has."""
        shown = msgspec.json.encode(batch_id.decode(errors="replace"))
        return b'%s%d,"batch":%s,"count":%d}' % (self.prefix, sequence, shown, count)

    def refused(self, error: ApiError) -> bytes:
        return msgspec.json.encode({"error": error.shown(), "stream": self._name, "seq": 0})
