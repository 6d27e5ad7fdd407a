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

    def stored(self, sequence: int) -> bytes:
        return b"%s%d}" % (self.prefix, sequence)

    def duplicate(self, sequence: int) -> bytes:
        return b'%s%d,"duplicate": true}' % (self.prefix, sequence)

    def refused(self, error: ApiError) -> bytes:
        return msgspec.json.encode({"error": error.shown(), "stream": self._name, "seq": 0})
