"""One stream behind its ingest, on a hub without sockets: runs go in, and everything that can be
seen from outside comes out. With `careful` every message goes through the careful lane.

The publisher hears the answers to its publishes and the copies of what was stored; a second
target hears the copies too, as another stream would.
"""

from collections.abc import Sequence
from typing import NamedTuple

from penstock.kernel.hub import Hub, picked_frames
from penstock.kernel.storage import Blocks
from penstock.model.stream_config import Storage, StreamConfig
from penstock.server.jetstream.ingest import Ingest
from penstock.server.jetstream.usage import Usage
from penstock.storage.block_store import BlockStore
from penstock.storage.journal import Journal
from penstock.storage.store import Record, StoreState
from penstock.streams.registry import Registry
from penstock.streams.resources import ServerResources
from penstock.streams.stream import Stream
from tests.properties.hub_walk import open_client, small_hub

CAREFUL = 2
NAME = "T"
IDS = [*(b"%d" % number for number in range(31)), b"x", b""]
REPLIES, COPIES = b"r.>", b"c.>"
STREAM_TARGET, COPIES_TARGET = 0, 1


class Publish(NamedTuple):
    """A publish; what it is answered goes to a reply subject with its number, unless it asks for
    none."""

    subject: bytes
    payload: bytes = b""
    headers: bytes = b""
    asks: bool = True

    def frame(self, number: int) -> bytes:
        reply = b" r.%d" % number if self.asks else b""
        sizes = b"%d" % (len(self.headers) + len(self.payload))
        if self.headers:
            sizes = b"%d %s" % (len(self.headers), sizes)
        verb = b"HPUB" if self.headers else b"PUB"
        head = b"%s %s%s %s\r\n" % (verb, self.subject, reply, sizes)
        return head + self.headers + self.payload + b"\r\n"


class Seen(NamedTuple):
    """Everything there is to see of a stream."""

    said: bytes
    copies: list[tuple[bytes, bytes, bytes]]
    state: StoreState
    records: list[Record | None]
    subjects: list[tuple[bytes, int]]
    deleted: list[tuple[int, int]]
    message_id_last: bytes
    ids: dict[bytes, int | None]


PLENTY = ServerResources(
    memory_bytes_max=1 << 40, storage_bytes_max=1 << 40, duplicate_window_max_ns=0
)


class Endless:
    """A disk that is never full."""

    def left(self) -> int:
        return 1 << 40

    def add(self, size: int) -> None:
        pass


class LaneRig:
    """The stream, and its one client."""

    def __init__(
        self,
        config: StreamConfig,
        *,
        careful: bool,
        root: str = "",
        journal: Journal | None = None,
    ) -> None:
        self.hub: Hub = small_hub(line_bytes_max=4096, payload_bytes_max=1 << 17)
        if config.storage is Storage.MEMORY:
            blocks = Blocks.in_memory(NAME)
        else:
            blocks, *_ = Blocks.open(root, "streams/T", NAME, None)
        self.stream = Stream(config, BlockStore(blocks, journal), 0)
        self.failures: list[Exception] = []
        self.now_ns = 1_700_000_000_000_000_000
        self.ingest = Ingest(
            self.hub,
            self.stream,
            0,
            None,
            lambda: self.now_ns,
            lambda _stream, error: self.failures.append(error),
            Usage(Registry(), PLENTY, Endless()),
        )
        if careful:
            self.ingest.lanes.cut = lambda start, end: [(CAREFUL, start, end)]  # type: ignore[method-assign]
        for subject in config.subjects:
            assert self.hub.add_target(0, subject.encode(), STREAM_TARGET)
        assert self.hub.add_target(0, COPIES, COPIES_TARGET)
        self.client = open_client(self.hub)
        for sid, pattern in enumerate((REPLIES, COPIES)):
            assert self.hub.subscribe(self.client, pattern, None, b"%d" % sid)
        self.said = b""
        self.copies: list[tuple[bytes, bytes, bytes]] = []
        self.sent = 0
        self.turns = 0

    def publish(self, publishes: Sequence[Publish]) -> None:
        """All of them in one turn."""
        data = b"".join(one.frame(self.sent + at) for at, one in enumerate(publishes))
        self.sent += len(publishes)
        self.now_ns += 1_000_001_000
        self.feed(data)

    def feed(self, data: bytes) -> None:
        """Turns until everything was taken, also what one put off to the next."""
        before = -1
        while data or before != self.stream.sequence_last:
            before = self.stream.sequence_last
            self.turns += 1
            self.hub.begin(self.turns)
            data = data[self.hub.feed(self.client, data) :]
            self._walk()

    def _walk(self) -> None:
        hub, position = self.hub, 0
        while (group := hub.next_group(position)) is not None:
            bulk, start, position, runs = group
            assert bulk
            assert hub.fan_out(start, position) < 0
            for target, run_start, run_end in runs:
                assert target == STREAM_TARGET
                self.ingest.take(run_start, run_end)
        while runs := hub.loopback_runs():
            for target, run_start, run_end in runs:
                assert target == COPIES_TARGET
                for frame in picked_frames(hub, run_start, run_end):
                    self.copies.append((frame.subject, frame.headers, frame.body))
        self.said += hub.take(self.client)

    def seen(self) -> Seen:
        assert not self.failures, self.failures
        store = self.stream.store
        state = store.state()
        assert self.stream.sequence_last == state.sequence_last
        sequences = range(state.sequence_first, state.sequence_last + 1)
        return Seen(
            self.said,
            self.copies,
            state,
            [store.load(sequence) for sequence in sequences],
            store.subjects(b">", 0, 1000),
            store.deleted(),
            self.stream.message_id_last,
            {one: self.stream.dedup.find(one, self.now_ns) for one in IDS},
        )


def answers(said: bytes) -> list[bytes]:
    """The answers to the publishes among what a client was told, in their order."""
    return [line for line in said.split(b"\r\n") if line.startswith(b"{")]
