"""A bucket as its server tells of it: where its keys are in the stream, and how far that has come.

A mirror has the subjects of its origin, so its keys are behind the origin's name.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.pipelines.catalog import ParameterError
from pyspark_jetstream.connection import Connection, StreamNotFoundError
from pyspark_jetstream.options import read_options
from pyspark_jetstream.stream_facts import nanoseconds


@dataclass(frozen=True)
class Bucket:
    """At one moment."""

    stream: str
    prefix: str  # of its subjects: keys are behind it
    created: str
    end: int  # the sequence of the next change

    @property
    def subjects(self) -> str:
        return f"{self.prefix}>"

    @property
    def created_us(self) -> int:
        """Since 1970, as Spark keeps times."""
        return nanoseconds(self.created) // 1000


def bucket_of(connection: Mapping[str, str], name: str) -> Bucket:
    """Asks the server. Raises ParameterError."""
    stream = f"KV_{name}"
    options = read_options({**connection, "stream": stream})
    with Connection(options.connection) as server:
        try:
            told = server.api(f"STREAM.INFO.{stream}")
        except StreamNotFoundError:
            problem = f"bucket is {name!r}, and there is no stream {stream}"
            raise ParameterError(f"{problem} on {server.shown}") from None
    origin = (told["config"].get("mirror") or {}).get("name", stream)
    prefix = f"$KV.{origin.removeprefix('KV_')}."
    return Bucket(stream, prefix, told["created"], int(told["state"]["last_seq"]) + 1)
