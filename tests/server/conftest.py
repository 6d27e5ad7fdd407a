"""After each test its sockets are closed, whatever happened in it."""

from collections.abc import Iterator

import pytest

from tests.server.peer import Peer


@pytest.fixture(autouse=True)
def _close_peers() -> Iterator[None]:
    yield
    while Peer.opened:
        Peer.opened.pop().close()
