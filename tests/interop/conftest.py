"""Servers with streams, for programs that run against either."""

from collections.abc import Iterator

import pytest

from tests.parity.servers import IMPLEMENTATIONS, Server
from tests.streaming import streaming_server


@pytest.fixture(scope="module", params=IMPLEMENTATIONS, ids=lambda one: one.name)
def streaming(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """One for all tests of a file: each uses names of its own."""
    yield from streaming_server(request.param, tmp_path_factory)
