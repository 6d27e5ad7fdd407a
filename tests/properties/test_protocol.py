"""The kernel's decoder against the model of the protocol: whatever the bytes, wherever they are
cut, however little a read may take, and wherever Python suspends the connection."""

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kernel.hub import Frame, Hub, Verb
from tests.properties import model_protocol as model
from tests.properties.client_bytes import FRAMES, cut, streams
from tests.properties.hub_walk import frames_of, small_hub

LINE_BYTES_MAX = 64
PAYLOAD_BYTES_MAX = 1000
many = settings(max_examples=500, deadline=None)
READS = st.sampled_from([1 << 16, 1 << 16, 300, 40, 7, 1])


def hub_for(read_bytes_max: int = 1 << 16) -> Hub:
    return small_hub(
        line_bytes_max=LINE_BYTES_MAX,
        payload_bytes_max=PAYLOAD_BYTES_MAX,
        read_bytes_max=read_bytes_max,
    )


def expected(data: bytes) -> list[model.Seen | int]:
    frames, fault = model.decode(data, LINE_BYTES_MAX, PAYLOAD_BYTES_MAX)
    return [*frames, *([int(fault)] if fault is not None else [])]


def seen(frame: Frame) -> model.Seen | int:
    if frame.verb == Verb.FAULT:
        return frame.number
    return model.Seen(Verb(frame.verb), *frame[2:6])


def collect(hub: Hub, connection: int, pieces: list[bytes]) -> list[Frame]:
    """One read in each turn; an empty one at the end, as a socket that is drained."""
    found: list[Frame] = []
    for piece in [*pieces, b""]:
        rest = piece
        while True:
            hub.begin(1)
            taken = hub.feed(connection, rest)
            found += frames_of(hub)
            rest = rest[taken:]
            if not rest or not taken:
                break
    return found


@many
@given(streams(), st.data(), READS)
def test_frames_and_faults_are_the_models(data: bytes, chosen: st.DataObject, reads: int) -> None:
    pieces = chosen.draw(cut(data))
    hub = hub_for(reads)
    connection = hub.open(0, False)
    found = collect(hub, connection, pieces)
    assert [seen(frame) for frame in found] == expected(data)
    assert all(frame.connection == connection for frame in found)


@many
@given(st.lists(FRAMES, max_size=6), st.data())
def test_what_was_meant_comes_back(
    frames: list[tuple[bytes, model.Seen]], chosen: st.DataObject
) -> None:
    data = b"".join(wire for wire, _ in frames)
    meant = [frame for _, frame in frames]
    assert expected(data) == meant
    hub = hub_for()
    pieces = chosen.draw(cut(data))
    assert [seen(frame) for frame in collect(hub, hub.open(0, False), pieces)] == meant


@many
@given(streams(), streams(), st.data())
def test_connections_do_not_mix(one: bytes, two: bytes, chosen: st.DataObject) -> None:
    hub = hub_for()
    connections = [hub.open(0, False), hub.open(0, False)]
    pieces = [chosen.draw(cut(one)), chosen.draw(cut(two))]
    found: dict[int, list[Frame]] = {connection: [] for connection in connections}
    while any(pieces):
        hub.begin(1)
        for connection, waiting in zip(connections, pieces, strict=True):
            if waiting:
                hub.feed(connection, waiting.pop(0))
        for frame in frames_of(hub):
            found[frame.connection].append(frame)
    for connection, data in zip(connections, (one, two), strict=True):
        assert [seen(frame) for frame in found[connection]] == expected(data)


class Holder:
    """Reads turn by turn, suspends the connection after some frames and releases it again."""

    def __init__(self, hub: Hub, holds: list[bool]) -> None:
        self.hub = hub
        self.connection = hub.open(0, False)
        self.bystander = hub.open(0, False)
        self.holds = holds
        self.found: list[model.Seen | int] = []

    def turn(self, data: bytes) -> tuple[int, bool]:
        """How many bytes were taken, and whether the connection was suspended."""
        hub = self.hub
        hub.begin(1)
        taken = hub.feed(self.connection, data)
        fed = hub.feed(self.bystander, b"PING\r\n")
        held, pings, index = False, 0, 0
        while (group := hub.next_group(index)) is not None:
            index = group[1] + 1
            columns = hub.frame(group[1])
            assert columns is not None
            frame = Frame(*columns)
            if frame.connection == self.bystander:
                pings += 1
            elif self.look(group[1], frame):
                held = True
        assert pings * 6 == fed, "the bystander noticed"
        if held:
            assert hub.release(self.connection) and not hub.release(self.connection)
        return taken, held

    def look(self, index: int, frame: Frame) -> bool:
        self.found.append(seen(frame))
        if frame.verb == Verb.FAULT or not self.holds[len(self.found) % len(self.holds)]:
            return False
        self.hub.hold_after(index)
        assert self.hub.feed(self.connection, b"more") == 0
        return True


@many
@given(
    streams(),
    st.data(),
    READS.filter(lambda reads: reads > 6),
    st.lists(st.booleans(), min_size=1, max_size=6),
)
def test_held_frames_come_again(
    data: bytes, chosen: st.DataObject, reads: int, holds: list[bool]
) -> None:
    """A hold in the middle of the vector takes the later frames back; after the release they come
    once more, together with whatever followed. Another connection does not notice."""
    holder = Holder(hub_for(reads), holds)
    for piece in [*chosen.draw(cut(data)), b""]:
        rest, again = piece, True
        while rest or again:
            taken, held = holder.turn(rest)
            rest = rest[taken:]
            again = held
            if not taken and not held:
                break  # drained, or broken: nothing more is read
    assert holder.found == expected(data)
