"""Messages of batches in stretches: the same comes of them as one by one.

Two streams behind their ingest are sent the same; with one of them nothing goes in stretches, and
commits look at every message. Turns hold whole batches, parts of several, and mistakes.
"""

import tempfile
from itertools import chain
from typing import Any, NamedTuple, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.server.jetstream.batches import OpenBatches, StreamBatches
from penstock.streams.batches import BatchLimits, Reason, Room
from penstock.streams.stream import Stream
from tests.properties.lane_rig import LaneRig, Publish
from tests.unit.streams.configs import create

LIMITS = BatchLimits(messages_max=6, open_max=3, bytes_max=4000, total_bytes_max=6000)


class Part(NamedTuple):
    """A message and how it is numbered: as its batch goes on, or with a mistake."""

    batch: str
    skip: int
    commit: str
    extra: str
    subject: str
    size: int
    asks: bool


EXTRAS = [
    *[""] * 8,
    "A: b\r\n",
    "Nats-Msg-Id: 1\r\n",
    "Nats-Msg-Id: 2\r\n",
    "Nats-TTL: 9\r\n",
    "Nats-Expected-Last-Sequence: 3\r\n",
    "Nats-Required-Api-Level: 2\r\n",
    "Nats-Required-Api-Level: 99\r\n",
    "Nats-Stream: T\r\n",
]
PARTS = st.builds(
    Part,
    st.sampled_from(["a", "a", "a", "b", "c", "d", "i" * 65, ""]),
    st.sampled_from([0] * 15 + [1, -1]),
    st.sampled_from([""] * 8 + ["1", "1", "eob", "no"]),
    st.sampled_from(EXTRAS),
    st.sampled_from(["t.a", "t.b", "t.c"]),
    st.sampled_from([0, 1, 30, 30, 700]),
    st.booleans(),
)
SIZED = st.tuples(st.sampled_from(["t.a", "t.b", "t.c"]), st.sampled_from([0, 30, 60, 300]))


def whole(sizes: list[tuple[str, int]], end: str, extra: str) -> list[Part]:
    """A batch without a mistake, its last message with a header more."""
    parts = [Part("e", 0, "", "", subject, size, False) for subject, size in sizes]
    subject, size = sizes[0]
    return [*parts, Part("e", 0, end, extra, subject, size, True)]


WHOLE = st.builds(
    whole,
    st.lists(SIZED, min_size=1, max_size=5),
    st.sampled_from(["1", "1", "eob"]),
    st.sampled_from(["", "", "", "Nats-Msg-Id: 1\r\n"]),
)
TURN = st.lists(st.one_of(WHOLE, WHOLE, st.lists(PARTS, max_size=12)), min_size=1, max_size=4)
TURNS = st.lists(TURN.map(lambda pieces: [*chain(*pieces)]), min_size=1, max_size=6)
CONFIGS = st.sampled_from(
    [
        {},
        {},
        {"max_msgs": 5},
        {"max_msgs_per_subject": 2},
        {"max_msgs_per_subject": 1, "max_bytes": 900},
        {"max_msg_size": 120},
        {"discard": "new", "max_msgs": 9},
        {"allow_msg_ttl": True},
        {"no_ack": True},
        {"republish": {"src": "t.>", "dest": "c.t.>"}},
        {"subject_transform": {"src": "t.*", "dest": "u.$1"}},
    ]
)


class Told(NamedTuple):
    batch: bytes
    reason: Reason


class AllBatches:
    """What a stream's batches need of a server."""

    def __init__(self) -> None:
        self.room = Room(LIMITS)
        self.told: list[Told] = []
        self.context = self

    def left(self, _storage: object) -> int:
        return 1 << 40

    def tell(self, _stream: Stream, batch_ids: list[bytes], reason: Reason) -> None:
        self.told += [Told(batch_id, reason) for batch_id in batch_ids]

    def after(self, *_: object) -> None:
        """A timer; nothing is idle for long here."""


class BatchRig(LaneRig):
    """A stream that takes batches."""

    def __init__(self, fields: dict[str, Any], *, careful: bool, root: str) -> None:
        config = create(subjects=["t.>"], allow_atomic=True, **fields)
        super().__init__(config, careful=careful, root=root)
        self.all = AllBatches()
        batches = StreamBatches(cast(OpenBatches, self.all), self.stream)
        self.ingest.lanes._batches = batches
        self.stretches = 0
        if careful:
            self.stream.is_careful = True
        else:
            take_run = batches.take_run
            batches.take_run = lambda *columns: self._counted(take_run(*columns))  # type: ignore

    def _counted(self, is_taken: bool) -> bool:
        self.stretches += is_taken
        return is_taken


def publishes(turns: list[list[Part]]) -> list[list[Publish]]:
    places: dict[str, int] = {}
    found = []
    for turn in turns:
        found.append([])
        for part in turn:
            place = places.get(part.batch, 0) + 1 + part.skip
            places[part.batch] = 0 if part.commit or part.skip else place
            lines = f"Nats-Batch-Id: {part.batch}\r\nNats-Batch-Sequence: {place}\r\n"
            lines += f"Nats-Batch-Commit: {part.commit}\r\n" if part.commit else ""
            headers = f"NATS/1.0\r\n{lines}{part.extra}\r\n".encode()
            found[-1].append(
                Publish(part.subject.encode(), b"x" * part.size, headers, asks=part.asks)
            )
    return found


@settings(max_examples=150, deadline=None)
@given(TURNS, CONFIGS, st.sampled_from(["memory", "file"]))
def test_stretches_come_to_the_same(
    turns: list[list[Part]], fields: dict[str, Any], storage: str
) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="stretches-") as one,
        tempfile.TemporaryDirectory(prefix="careful-") as other,
    ):
        fields = {**fields, "storage": storage}
        rig, careful = (
            BatchRig(fields, careful=False, root=one),
            BatchRig(fields, careful=True, root=other),
        )
        for turn in publishes(turns):
            for each in (rig, careful):
                each.publish(turn)
            assert rig.seen() == careful.seen()
            assert rig.all.told == careful.all.told
            assert (rig.all.room.open, rig.all.room.bytes) == (
                careful.all.room.open,
                careful.all.room.bytes,
            )
        assert careful.stretches == 0


def test_a_batch_goes_in_few_steps() -> None:
    """All but its commit in one stretch for each turn, and answered."""
    with tempfile.TemporaryDirectory(prefix="stretches-") as root:
        rig = BatchRig({"storage": "memory"}, careful=False, root=root)
        parts = [Part("a", 0, "1" if at == 5 else "", "", "t.a", 10, True) for at in range(6)]
        (turn,) = publishes([parts])
        rig.publish(turn)
        assert rig.stretches == 1
        assert rig.said.count(b"MSG r.") == 6
        assert b'"batch":"a","count":6' in rig.said
        assert rig.stream.sequence_last == 6
