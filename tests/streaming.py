"""A server with streams in a folder of its own, for the tests of a package or a file."""

from collections.abc import Iterator

import pytest

from tests.parity.servers import Implementation, Server
from tests.watching import in_order


def streaming_server(
    implementation: Implementation, folders: pytest.TempPathFactory
) -> Iterator[Server]:
    """It runs until the fixture that yields from here ends; no traceback may be in its log then."""
    store = folders.mktemp("store")
    running = Server(implementation, ("-js", "-sd", str(store)))
    running.store_dir = store  # type: ignore[attr-defined]
    with running, in_order(implementation):
        yield running
        assert "Traceback" not in running.log
