"""What is written down about a stream beside its messages: in the log, and in its folder.

In a folder it is sealed: a second line holds a checksum, because JSON with a flipped bit may still
be JSON, of another configuration.
"""

import hashlib
from typing import NamedTuple

import msgspec

from penstock.model.stream_config import StreamConfig, shown
from penstock.model.stream_request import parse_stream_request


class Description(NamedTuple):
    number: int  # the stream's name in the commit log
    config: StreamConfig
    created_ns: int

    def encode(self) -> bytes:
        fields = {
            "number": self.number,
            "created_ns": self.created_ns,
            "config": shown(self.config),
        }
        return msgspec.json.encode(fields)

    @classmethod
    def decode(cls, data: bytes) -> "Description":
        fields = msgspec.json.decode(data, type=dict[str, object])
        config = parse_stream_request(msgspec.json.encode(fields["config"])).config
        number, created_ns = fields["number"], fields["created_ns"]
        assert isinstance(number, int)
        assert isinstance(created_ns, int)
        return cls(number, config, created_ns)

    def sealed(self) -> bytes:
        data = self.encode()
        return b"%s\n%s\n" % (data, _checksum(data))

    @classmethod
    def unsealed(cls, content: bytes) -> "Description":
        """Raises ValueError unless it is exactly what was written."""
        data, _, seal = content.partition(b"\n")
        if seal != _checksum(data) + b"\n":
            raise ValueError("the checksum does not match")
        return cls.decode(data)


def _checksum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=8).hexdigest().encode()
