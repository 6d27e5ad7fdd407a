"""What is written down about a consumer: in the log as JSON, at checkpoints with its state."""

from typing import NamedTuple

import msgspec

from penstock.model.consumer_config import ConsumerConfig
from penstock.model.consumer_request import parse_consumer_request
from penstock.model.stream_config import shown


class ConsumerRecord(NamedTuple):
    number: int  # its name in the stream's part of the log
    name: str
    created_ns: int
    config: ConsumerConfig
    spared_below: int = 0  # on a work queue: what is there below it was not acknowledged

    def encode(self) -> bytes:
        fields = {
            "number": self.number,
            "name": self.name,
            "created_ns": self.created_ns,
            "config": shown(self.config),
            "spared_below": self.spared_below,
        }
        return msgspec.json.encode(fields)

    @classmethod
    def decode(cls, data: bytes) -> "ConsumerRecord":
        """Raises ValueError if it is not what was written."""
        fields = msgspec.json.decode(data, type=_Fields)
        config = parse_consumer_request(b'{"config":%s}' % fields.config, strict=False).config
        return cls(fields.number, fields.name, fields.created_ns, config, fields.spared_below)


class _Fields(msgspec.Struct):
    number: int
    name: str
    created_ns: int
    config: msgspec.Raw
    spared_below: int = 0
