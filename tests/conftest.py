"""Fixtures for every test: the running servers, and the options of the suite.

`servers` starts any server with given flags or configuration and keeps it for the session;
`reference_server`, `penstock_server` and `both` are the ones without flags. A test that must stop
its server, or wants it for itself, opens a `tests.parity.servers.Server` in a `with` block.
"""

import pytest

from tests.parity.servers import IMPLEMENTATIONS, PENSTOCK, REFERENCE, Pool, Server

POOL = pytest.StashKey[Pool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="record the expected output of the scenarios instead of checking it",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: waits for a timer of the server for seconds")
    config.stash[POOL] = Pool()


def pytest_unconfigure(config: pytest.Config) -> None:
    if POOL in config.stash:
        config.stash[POOL].close()


@pytest.fixture(scope="session")
def servers(pytestconfig: pytest.Config) -> Pool:
    return pytestconfig.stash[POOL]


@pytest.fixture
def reference_server(servers: Pool) -> Server:
    return servers.shared(REFERENCE)


@pytest.fixture
def penstock_server(servers: Pool) -> Server:
    return servers.shared(PENSTOCK)


@pytest.fixture(params=IMPLEMENTATIONS, ids=lambda implementation: implementation.name)
def both(servers: Pool, request: pytest.FixtureRequest) -> Server:
    """The same test against the reference and against penstock."""
    return servers.shared(request.param)
