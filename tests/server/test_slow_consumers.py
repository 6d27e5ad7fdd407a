"""A subscriber that stops reading is disconnected alone; nobody else notices."""

from collections.abc import Iterator

import pytest

from tests.parity.servers import PENSTOCK, Server
from tests.server.peer import Peer

SIZE = 1024
COUNT = 40_000  # 40 MB: far more than the limit below and the socket buffers hold


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(PENSTOCK, config="max_pending: 4MB\n") as running:
        yield running


def read_all(peer: Peer, count: int) -> None:
    for _ in range(count):
        assert peer.line() == b"MSG flood 1 %d\r\n" % SIZE
        assert len(peer.read(SIZE + 2)) == SIZE + 2


def test_the_one_that_stopped_is_closed_and_the_others_get_everything(server: Server) -> None:
    stuck, healthy, publisher = (Peer(server.port) for _ in range(3))
    for subscriber in (stuck, healthy):
        subscriber.send(b"SUB flood 1\r\n")
        assert subscriber.barrier() == []
    message = b"PUB flood %d\r\n%s\r\n" % (SIZE, b"x" * SIZE)
    for _ in range(COUNT // 1000):
        publisher.send(message * 1000)
        read_all(healthy, 1000)
    assert publisher.barrier() == []
    assert healthy.barrier() == []
    received = len(stuck.closed())
    assert received < COUNT * SIZE
    assert "Slow Consumer Detected" in server.log


def test_a_fast_publisher_waits_a_little_for_a_reader_that_is_only_behind(server: Server) -> None:
    """A burst ten times the limit reaches a subscriber that reads all the time."""
    subscriber, publisher = Peer(server.port), Peer(server.port)
    subscriber.send(b"SUB flood 1\r\n")
    assert subscriber.barrier() == []
    publisher.socket.settimeout(30)
    message = b"PUB flood %d\r\n%s\r\n" % (SIZE, b"x" * SIZE)
    for _ in range(COUNT // 1000):
        publisher.send(message * 1000)
        read_all(subscriber, 1000)
    assert subscriber.barrier() == []
