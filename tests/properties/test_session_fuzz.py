"""Hostile bytes through the whole of the pure server: hub and session, effects carried out as the
server does. Nothing may be raised, only listed effects may come out, each for its own connection,
and a client beside it that behaves must get what it subscribed to.
"""

import json
import typing
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kernel.hub import Frame, Hub, Traffic, Verb
from penstock.model.errors import Reason
from penstock.wire import effects
from penstock.wire.render import no_responders_headers, render_error, render_status
from penstock.wire.session import Session
from tests.properties.client_bytes import cut, streams
from tests.properties.hub_walk import Walked, open_client, publish_frame, small_hub, walk

EFFECTS = typing.get_args(effects.Effect)
ACCOUNT = 0

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
KEYS = st.sampled_from(
    ["verbose", "pedantic", "echo", "headers", "no_responders", "protocol", "user", "VERBOSE"]
)
VALUES = st.one_of(st.booleans(), st.integers(-1, 2), JSON)


@st.composite
def connects(draw: st.DrawFn) -> bytes:
    usual = {"verbose": False, "pedantic": False, "headers": True, "protocol": 1}
    given_ = draw(st.dictionaries(KEYS, VALUES, max_size=4))
    text = json.dumps(usual | given_ if draw(st.booleans()) else given_)
    odd = st.sampled_from(
        ["", "null", "[]", "{", '{"a":' * 5000, '{"user":"\\\\ud800"}', '{"protocol":1e400}', "{}}"]
    )
    text = draw(odd) if draw(st.integers(0, 5)) == 0 else text
    return b"CONNECT " + text.encode(errors="surrogatepass") + b"\r\n"


@dataclass
class Peer:
    session: Session
    closed: bool = False
    reasons: list[Reason] = field(default_factory=list)


class Stage:
    """Sessions on a hub; the effects are done here, without sockets and without waiting."""

    def __init__(self, hub: Hub, allows: bool) -> None:
        self.hub = hub
        self.allows = allows
        self.peers: dict[int, Peer] = {}

    def open(self, auth_required: bool) -> int:
        connection = self.hub.open(ACCOUNT, auth_required)
        self.peers[connection] = Peer(Session(auth_required=auth_required, headers_offered=True))
        return connection

    def turn(self, connection: int, data: bytes) -> int:
        self.hub.begin(1)
        taken = self.hub.feed(connection, data)
        walked = walk(self.hub, self.look)
        for frame in walked.unanswered:
            headers = no_responders_headers(frame.subject)
            for sid in self.hub.own_sids(frame.connection, frame.reply):
                self.hub.send(frame.connection, render_status(frame.reply, sid, headers))
        return taken

    def look(self, index: int, frame: Frame, walked: Walked) -> None:
        peer = self.peers[frame.connection]
        assert not peer.closed, "a frame outlived its connection"
        assert frame.verb in Verb.__members__.values()
        self.run(frame.connection, peer.session.apply(frame), index, walked)

    def run(
        self, connection: int, wanted: typing.Iterable[effects.Effect], index: int, walked: Walked
    ) -> None:
        peer, hub = self.peers[connection], self.hub
        for effect in wanted:
            assert type(effect) in EFFECTS, effect
            assert not peer.closed, f"{effect} after the end"
            match effect:
                case effects.Send(data):
                    hub.send(connection, data)
                case effects.Warn(reason):
                    assert reason.wire is not None
                    hub.send(connection, render_error(reason.wire))
                case effects.Close(reason):
                    assert isinstance(reason, Reason)
                    peer.closed = hub.close(connection)
                    peer.reasons.append(reason)
                case effects.Authenticate(connect):
                    self.authenticate(connection, connect, index, walked)
                case effects.Settle():
                    session = peer.session
                    hub.switch(connection, ACCOUNT, session.bulk, session.connect.echo,
                               session.headers, session.connect.no_responders)  # fmt: skip
                case effects.Publish():
                    publish_frame(hub, index, walked)
                case effects.Subscribe(pattern, queue, sid):
                    hub.subscribe(connection, pattern, queue, sid)
                case effects.Unsubscribe(sid, delivered_max):
                    assert 0 <= delivered_max < 10**9
                    hub.unsubscribe(connection, sid, delivered_max)

    def authenticate(
        self, connection: int, connect: typing.Any, index: int, walked: Walked
    ) -> None:
        """The answer comes later, as from a thread that checks a password."""
        peer = self.peers[connection]
        self.hub.hold_after(index)
        assert self.hub.release(connection)
        if not peer.session.auth_required or self.allows:
            self.run(connection, peer.session.admit(connect), index, walked)
        else:
            self.run(connection, (effects.Close(Reason.AUTHENTICATION_FAILURE),), index, walked)


@settings(max_examples=600, deadline=None)
@given(
    st.lists(connects() | streams(), max_size=5).map(b"".join),
    st.data(),
    st.booleans(),
    st.booleans(),
)
def test_hostile_bytes_harm_nobody_else(
    data: bytes, chosen: st.DataObject, auth_required: bool, allows: bool
) -> None:
    hub = small_hub(line_bytes_max=4096)
    stage = Stage(hub, allows)
    good = open_client(hub)
    assert hub.subscribe(good, b"good", None, b"1")
    hostile = stage.open(auth_required)
    peer = stage.peers[hostile]
    for piece in chosen.draw(cut(data)):
        rest, idle = piece, 0
        while idle < 2 and not peer.closed:  # once more: held bytes come with the next read
            taken = stage.turn(hostile, rest)
            rest = rest[taken:]
            idle = 0 if taken else idle + 1
    assert len(peer.reasons) <= 1
    assert (hub.traffic(hostile) is None) == peer.closed
    hub.take(good)
    hub.begin(2)
    hub.feed(good, b"PUB good 2\r\nok\r\n")
    walk(hub, stage.look)
    assert hub.take(good) == b"MSG good 1 2\r\nok\r\n"
    columns = hub.traffic(good)
    assert columns is not None and Traffic(*columns).subscriptions == 1
    assert hub.flush() == []


@settings(max_examples=300, deadline=None)
@given(
    st.integers(1, 11).filter(lambda verb: verb != Verb.FAULT),
    st.binary(max_size=12),
    st.binary(max_size=12),
    st.binary(max_size=12) | connects().map(lambda line: line[8:-2]),
    st.booleans(),
)
def test_any_frame_is_answered_with_effects(
    verb: int, subject: bytes, reply: bytes, payload: bytes, auth_required: bool
) -> None:
    """Fields no decoder would give, straight into the session."""
    session = Session(auth_required=auth_required, headers_offered=True)
    for _ in range(2):
        wanted = list(session.apply(Frame(verb, 1, 0, subject, reply, payload, 0)))
        assert all(type(effect) in EFFECTS for effect in wanted)
        ends = [effect for effect in wanted if isinstance(effect, effects.Close)]
        assert not ends or wanted[-1] is ends[0]
