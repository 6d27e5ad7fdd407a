"""Spark that is not in this process: a standalone cluster, and a Connect server.

The server of streams wants a password, which a context has. Executors are told by their driver.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from tests.parity.servers import PENSTOCK, Server
from tests.server_process import BIN
from tests.spark.cluster import Cluster, ConnectServer
from tests.spark.copying_there import ROWS
from tests.spark.length import long
from tests.spark.streams import ANSWER_SECONDS_MAX, connected
from tests.spark.test_pipelines import java  # noqa: F401 -- a fixture

PASSWORD = "hunter-42-xyzzy"  # noqa: S105 -- of a server that lives for a test
GUARDED = f'authorization {{ user: "ann", password: "{PASSWORD}" }}'
EVERY_ROW = [ROWS, ROWS, sum(range(ROWS))]
RUN_SECONDS_MAX = 280.0

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def context(tmp_path: Path) -> Iterator[Path]:
    """Of a server with two streams and one of counters."""
    with Server(PENSTOCK, ("-js", "-sd", str(tmp_path / "store")), GUARDED) as server:
        connected(server, filled, user="ann", password=PASSWORD)
        file = tmp_path / "context.json"
        file.write_text(json.dumps({"url": server.url, "user": "ann", "password": PASSWORD}))
        yield file


async def filled(client: Any) -> None:
    js = client.jetstream(timeout=ANSWER_SECONDS_MAX)
    for name, more in (("A", {}), ("B", {}), ("HITS", {"allow_msg_counter": True})):
        config = {"name": name, "subjects": [f"{name}.>"], "allow_direct": True, **more}
        request, place = json.dumps(config).encode(), f"$JS.API.STREAM.CREATE.{name}"
        told = await client.request(place, request, timeout=ANSWER_SECONDS_MAX)
        assert "error" not in json.loads(told.data)
    for number in range(12):
        await js.publish(f"HITS.{number % 3}", headers={"Nats-Incr": f"+{number}"})


def ran(*command: object, cwd: Path | None = None) -> Any:
    """What a process has printed, as JSON."""
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_SECONDS_MAX,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def copied(master: str, context: Path, folder: Path) -> Any:
    program = (sys.executable, "-m", "tests.spark.copying_there")
    return ran(*program, master, context, (folder / "checkpoints").as_uri())


def recounted(master: str, context: Path, output: str, *flags: str) -> Any:
    run = (BIN / "penstock", "pipeline", "run", "recount", "stream=HITS", "--json")
    return ran(*run, "--master", master, "--context", context, "--output", output, *flags)


@long
def test_a_cluster_reads_writes_and_streams(context: Path, tmp_path: Path) -> None:
    with Cluster(tmp_path / "cluster") as cluster:
        assert copied(cluster.url, context, tmp_path) == {"A": EVERY_ROW, "B": EVERY_ROW}
        assert cluster.executors() == {"one", "two"}


@long
def test_a_cluster_runs_a_pipeline(context: Path, tmp_path: Path) -> None:
    """`--output` is a directory that all of the cluster see."""
    memory = ("--conf", "spark.executor.memory=512m")
    with Cluster(tmp_path / "cluster") as cluster:
        told = recounted(cluster.url, context, str(tmp_path / "shared"), *memory)
        assert (told["right"], told["counters"]) == (True, 3)
        assert cluster.executors()
    assert [*(tmp_path / "shared" / "tables" / "recount_counters").glob("*.parquet")]


def test_a_connect_server_runs_a_pipeline(context: Path, tmp_path: Path) -> None:
    with ConnectServer(tmp_path / "elsewhere") as spark:
        told = recounted(spark.url, context, (tmp_path / "shared").as_uri())
        assert (told["right"], told["counters"]) == (True, 3)


@long
def test_a_connect_server_reads_writes_and_streams(context: Path, tmp_path: Path) -> None:
    with ConnectServer(tmp_path / "elsewhere") as spark:
        assert copied(spark.url, context, tmp_path) == {"A": EVERY_ROW, "B": EVERY_ROW}
