"""Requests for messages that arrive together are answered as those that come one after the other.

Both are played on one server: the same requests in one write, and with a PING between any two. What
is compared is everything the client hears, in its order.
"""

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.parity.servers import PENSTOCK, Server
from tests.server.peer import Peer

MESSAGES = 12
SECOND = 1_000_000_000
UNHEARD = "nobody.listens"
LIKELY = (b"", b"1", b'{"batch":1,"expires":60000000000}', b'{"batch":1,"no_wait":true}')
BODIES = (
    *LIKELY,
    b"{}",
    b"2",
    b'{"batch":3}',
    b'{"batch":0,"expires":60000000000}',
    b'{"batch":1,"max_bytes":1000}',
    b'{"batch":1,"expires":-5}',
    b'{"batch":1,"expires":60000000000,"idle_heartbeat":20000000000}',
    b'{"batch":1,"group":"g"}',
    b'{"batch":100}',
    b"{",
)
CONFIGS: tuple[dict[str, Any], ...] = (
    {},
    {"ack_policy": "none"},
    {"ack_policy": "all"},
    {"max_ack_pending": 5},
    {"max_waiting": 4},
    {"max_deliver": 1},
    {"max_batch": 2},
    {"headers_only": True},
    {"filter_subject": "*.even"},
    {"pause_until": "2099-01-01T00:00:00Z"},
    {"priority_groups": ["g"], "priority_policy": "overflow"},
    {"replay_policy": "original"},
    {"mem_storage": True},
    {"sample_freq": "100"},
)
# The same words several times, now and then for an inbox that nobody listens to.
SOME = st.builds(
    lambda body, count, unheard: [(body, number != unheard) for number in range(count)],
    st.sampled_from((*LIKELY * 2, *BODIES)),
    st.integers(1, 7),
    st.integers(0, 40),
)
RUNS = st.lists(SOME, min_size=1, max_size=5).map(lambda some: [*itertools.chain(*some)])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    store: Path = tmp_path_factory.mktemp("store")
    with Server(PENSTOCK, ("-js", "-sd", str(store))) as server:
        yield server


class Player:
    """A client with an inbox for each request, and streams of its own."""

    numbers = itertools.count()

    def __init__(self, server: Server, config: dict[str, Any]) -> None:
        self.name = f"R{next(self.numbers)}"
        self.peer = Peer(server.port)
        stream = {"name": self.name, "subjects": [f"{self.name}.>"], "storage": "memory"}
        self.api(f"STREAM.CREATE.{self.name}", stream)
        if config.get("replay_policy"):
            self.publish()  # before and at once: a pace that takes no time
        body = {"durable_name": "c", "ack_policy": "explicit", "ack_wait": 3600 * SECOND, **config}
        self.api(f"CONSUMER.CREATE.{self.name}.c", {"stream_name": self.name, "config": body})
        if not config.get("replay_policy"):
            self.publish()

    def api(self, place: str, body: dict[str, Any] | None = None) -> None:
        payload = json.dumps(body).encode() if body else b""
        self.peer.send(b"SUB api 0\r\nPUB $JS.API.%s api %d\r\n" % (place.encode(), len(payload)))
        self.peer.send(payload + b"\r\n")
        while not self.peer.line().startswith(b"MSG api "):
            pass  # who waits is told that the consumer goes
        answer = json.loads(self.peer.line())
        assert "error" not in answer, answer
        self.peer.send(b"UNSUB 0\r\n")

    def publish(self) -> list[str]:
        kinds = ("even", "odd")
        subjects = [f"{self.name}.{kinds[number % 2]}".encode() for number in range(MESSAGES)]
        heard = self.shown(b"".join(b"PUB %s 1\r\nx\r\n" % subject for subject in subjects))
        return heard + self.shown(b"")  # and a turn later

    def play(self, run: list[tuple[bytes, bool]], *, together: bool) -> list[str]:
        for number in range(len(run)):
            self.peer.send(b"SUB in.%d %d\r\n" % (number, number + 1))
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self.name}.c"
        frames = []
        for number, (body, is_heard) in enumerate(run):
            inbox = f"in.{number}" if is_heard else UNHEARD
            frames.append(f"PUB {subject} {inbox} {len(body)}\r\n".encode() + body + b"\r\n")
        lines = [] if together else [self.shown(frame) for frame in frames]
        if together:
            lines.append(self.shown(b"".join(frames)))
        lines.append(self.shown(b""))  # what came a turn later
        return [line for some in lines for line in some]

    def shown(self, frames: bytes) -> list[str]:
        """What is heard upon some frames, without names and times."""
        self.peer.send(frames)
        heard = b"".join(self.peer.barrier()).decode().replace(self.name, "R")
        return re.sub(r"(\$JS\.ACK\.(?:\w+\.){5})\d+", r"\1<time>", heard).splitlines()


@settings(max_examples=60, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(st.sampled_from(CONFIGS), RUNS)
def test_requests_that_come_together_are_requests_one_by_one(
    server: Server, config: dict[str, Any], run: list[tuple[bytes, bool]]
) -> None:
    apart, joined = (Player(server, config) for _ in range(2))
    try:
        assert joined.play(run, together=True) == apart.play(run, together=False)
    finally:
        for player in (apart, joined):
            player.api(f"STREAM.DELETE.{player.name}")
            player.peer.close()


def test_those_that_are_served_share_nothing(server: Server) -> None:
    """Each of a hundred in one write has a message, and those behind the last one wait."""
    player = Player(server, {})
    heard = player.play([(b"", True)] * 100, together=True)
    messages = [line for line in heard if line.startswith("MSG ")]
    assert [line.split()[2] for line in messages] == [str(n) for n in range(1, MESSAGES + 1)]
    inboxes = [line.split()[2] for line in player.publish() if line.startswith("MSG ")]
    assert inboxes == [str(n) for n in range(MESSAGES + 1, 2 * MESSAGES + 1)]
    player.peer.close()
