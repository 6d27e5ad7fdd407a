"""Fixtures for every test: the running servers, and the options of the suite.

`servers` starts any server with given flags or configuration and keeps it for the session;
`reference_server`, `penstock_server` and `both` are the ones without flags. A test that must stop
its server, or wants it for itself, opens a `tests.parity.servers.Server` in a `with` block.
"""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.parity.servers import IMPLEMENTATIONS, PENSTOCK, REFERENCE, Pool, Server

POOL = pytest.StashKey[Pool]()
FILES = pytest.StashKey[Path]()
LONG = {"spark", "crash"}

# How long something takes is no test: a busy machine makes no example wrong. The examples are the
# same every time, so that a change is judged by itself; `make campaign` looks for new ones.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("search", settings.get_profile("any machine"), derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "any machine"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="record the expected output of the scenarios instead of checking it",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: waits for a timer of the server for seconds")
    config.stash[POOL] = Pool()
    keep_files_apart(config)


def keep_files_apart(config: pytest.Config) -> None:
    """Give this run's temporary files a folder of their own.

    In the folder that runs share, pytest removes what earlier ones have left, and fails if it
    cannot: a killed run may have left a mounted file system there, or a process that still writes.
    """
    if config.option.basetemp is None and "PYTEST_DEBUG_TEMPROOT" not in os.environ:
        config.stash[FILES] = Path(tempfile.mkdtemp(prefix="penstock-tests-"))
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(config.stash[FILES])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Folders with long files come first, so that no worker ends long after the others."""
    root = Path(__file__).parent
    items.sort(key=lambda item: item.path.relative_to(root).parts[0] not in LONG)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """What a failed test has left is there to be looked at."""
    if exitstatus != pytest.ExitCode.OK and FILES in session.config.stash:
        del session.config.stash[FILES]


def pytest_unconfigure(config: pytest.Config) -> None:
    if POOL in config.stash:
        config.stash[POOL].close()
    if FILES in config.stash:
        shutil.rmtree(config.stash[FILES], ignore_errors=True)


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
