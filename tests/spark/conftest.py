"""One Spark for all tests of a run, and servers with streams that both sides can reach.

Spark takes ten seconds to start and needs Java 17; where there is none, these tests are skipped.
"""

import os
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.pipelines.java import JAVA_MIN, java_version
from tests.parity.servers import IMPLEMENTATIONS, PENSTOCK, Server
from tests.streaming import streaming_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NUMBERS = count(1)
TEST_SECONDS_MAX = 400  # a Spark of its own takes half a minute, idle


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of this folder that do not say how long they may take have longer than others."""
    folder = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(folder) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TEST_SECONDS_MAX))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    if java_version() < JAVA_MIN:
        pytest.skip(f"Spark needs Java {JAVA_MIN}: set JAVA_HOME, or put java on PATH")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .appName("tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="package", params=IMPLEMENTATIONS, ids=lambda one: one.name)
def streaming(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """Either server, for all tests: each uses names of its own."""
    yield from streaming_server(request.param, tmp_path_factory)


@pytest.fixture(scope="package")
def penstock_streaming(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """For what no other server has."""
    yield from streaming_server(PENSTOCK, tmp_path_factory)


@pytest.fixture
def name() -> str:
    """A name that no other test uses, for streams and subjects."""
    return f"T{os.getpid()}N{next(_NUMBERS)}"
