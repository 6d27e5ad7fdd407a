"""What is written down about a stream beside its messages: in the log, and in its folder.

In the log it also says whether the stream's store had anything in it: if not, the log has all that
its files may have, and they need not be whole before the first checkpoint.

In a folder it is sealed: a second line holds a checksum, because JSON with a flipped bit may still
be JSON, of another configuration.
"""

import hashlib
from typing import NamedTuple

import msgspec

from penstock.model.api_errors import ApiError
from penstock.model.stream_config import StreamConfig, shown
from penstock.model.stream_request import parse_stream_request


class _Fields(msgspec.Struct):
    number: int
    created_ns: int
    config: msgspec.Raw
    is_empty: bool = False


class Description(NamedTuple):
    number: int  # the stream's name in the commit log
    config: StreamConfig
    created_ns: int
    is_empty: bool = False  # nothing was in its store when the log got this

    def encode(self) -> bytes:
        fields = {
            "number": self.number,
            "created_ns": self.created_ns,
            "config": shown(self.config),
        }
        if self.is_empty:
            fields["is_empty"] = True
        return msgspec.json.encode(fields)

    @classmethod
    def decode(cls, data: bytes) -> "Description":
        """Raises ValueError for what this version did not write, such as an unknown field."""
        try:
            fields = msgspec.json.decode(data, type=_Fields)
            config = parse_stream_request(bytes(fields.config)).config
        except (msgspec.MsgspecError, ApiError) as error:
            raise ValueError(str(error)) from None
        return cls(fields.number, config, fields.created_ns, fields.is_empty)

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
