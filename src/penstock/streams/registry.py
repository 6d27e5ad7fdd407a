"""The streams of one account, and the rules that concern more than one of them.

Which requests are allowed is decided elsewhere, and so is what becomes of a stream's store.
"""

from collections.abc import Iterator

from penstock.model.api_errors import Fault
from penstock.model.stream_config import Storage, StreamConfig
from penstock.streams.stream import Stream
from penstock.streams.subjects import collide


class Registry:
    """Streams by name."""

    def __init__(self) -> None:
        self._streams: dict[str, Stream] = {}

    def __len__(self) -> int:
        return len(self._streams)

    def __iter__(self) -> Iterator[Stream]:
        """In the order of their names."""
        return (self._streams[name] for name in sorted(self._streams))

    def find(self, name: str) -> Stream | None:
        return self._streams.get(name)

    def require(self, name: str) -> Stream:
        stream = self._streams.get(name)
        if stream is None:
            raise Fault.STREAM_UNKNOWN.error()
        return stream

    def add(self, stream: Stream) -> None:
        assert stream.config.name not in self._streams
        self._streams[stream.config.name] = stream

    def remove(self, stream: Stream) -> None:
        del self._streams[stream.config.name]

    def configs(self) -> dict[str, StreamConfig]:
        """By name."""
        return {name: stream.config for name, stream in self._streams.items()}

    def reserved_bytes(self) -> dict[Storage, int]:
        """What the streams may fill, by storage; one without `max_bytes` reserves nothing."""
        reserved = dict.fromkeys(Storage, 0)
        for stream in self._streams.values():
            reserved[stream.config.storage] += max(0, stream.config.max_bytes)
        return reserved

    def listening(self, subject: str) -> list[Stream]:
        """Streams with a subject that collides with this one."""
        return [
            stream
            for stream in self
            if any(collide(pattern, subject) for pattern in stream.config.subjects)
        ]
