"""Tables of a bucket as users make them: processes of their own, with a Spark of their own."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from nats.js import JetStreamContext
from nats.js.kv import KeyValue

from penstock.cli.exits import ExitCode
from penstock.pipelines.tables.terms import table_of
from tests.parity.servers import Server
from tests.server_process import BIN
from tests.spark.length import long
from tests.spark.plain_run import spark_pipelines
from tests.spark.streams import api
from tests.spark.test_pipelines import java, run  # noqa: F401 -- java is a fixture
from tests.spark.test_tables import make_bucket, with_bucket

CHANGES = 60
ROOT = Path(__file__).parents[2]
MERGED = ROOT / ".interop" / "spark" / "spark-catalyst_2.13-tests.jar"  # tests/interop/fetch spark

pytestmark = [
    pytest.mark.timeout(640),  # some run Spark twice
    pytest.mark.usefixtures("java"),
]


async def _begin(_: JetStreamContext, kv: KeyValue) -> None:
    for key in ("a", "b", "c", "vanishes"):
        await kv.put(key, f"{key} 1".encode())
    await kv.delete("b")


async def _go_on(js: JetStreamContext, kv: KeyValue) -> None:
    await kv.put("a", b"a 2")
    await kv.purge("c")
    await js.purge_stream(f"KV_{kv._name}", subject=f"$KV.{kv._name}.vanishes")


def test_a_bucket_that_is_not_there_is_told_before_spark_starts(
    streaming: Server, name: str, tmp_path: Path
) -> None:
    code, _, errors = run("tables", f"bucket={name}", "-s", streaming.url, output=tmp_path)
    assert (code, f"KV_{name}" in errors) == (ExitCode.NOT_FOUND, True)
    assert not list(tmp_path.iterdir())


def test_a_run_holds_what_there_is_and_keeps_what_there_was(
    penstock_streaming: Server, name: str, tmp_path: Path
) -> None:
    bucket = f"{name}-of_my"
    given = ("tables", f"bucket={bucket}", "-s", penstock_streaming.url)
    make_bucket(penstock_streaming, bucket)
    with_bucket(penstock_streaming, bucket, _begin)
    code, told, errors = run(*given, output=tmp_path)
    assert (code, errors) == (0, "")
    assert shown(told) == {"a": "a 1", "c": "c 1", "vanishes": "vanishes 1"}
    assert figures(told) == (3, 3, 1, 0, 5, 1)
    with_bucket(penstock_streaming, bucket, _go_on)
    code, told, errors = run(*given, output=tmp_path)
    assert (code, errors) == (0, "")
    assert shown(told) == {"a": "a 2"}
    assert figures(told) == (1, 4, 1, 1, 7, 1)
    assert (told["table"], told["history"]) == (table_of(bucket), f"{table_of(bucket)}_history")
    (row,) = pq.read_table(tmp_path / "tables" / told["table"]).to_pylist()
    assert (row["key"], row["value"], row["revision"]) == ("a", b"a 2", 6)
    assert api(penstock_streaming, f"STREAM.INFO.KV_{bucket}")["state"]["consumer_count"] == 0


@long
def test_a_history_that_was_killed_has_every_change_once(
    penstock_streaming: Server, name: str, tmp_path: Path
) -> None:
    async def write(js: JetStreamContext, _: KeyValue) -> None:
        for number in range(CHANGES):
            await js.publish(f"$KV.{name}.k", b"%d" % number)

    make_bucket(penstock_streaming, name, history=64)
    with_bucket(penstock_streaming, name, write)
    given = ("tables", f"bucket={name}", "table=t", "-s", penstock_streaming.url)
    steps = ("maxOffsetsPerTrigger=2", "--master", "local[2]")
    command = [BIN / "penstock", "pipeline", "run", *given, *steps]
    batches = tmp_path / "tables" / "t_history" / "_spark_metadata"
    log = tmp_path / "log"
    with (
        log.open("wb") as file,
        subprocess.Popen(
            [*map(str, command), "--output", str(tmp_path)],
            stdout=file,
            stderr=file,
            start_new_session=True,
        ) as running,
    ):
        while not (batches / "1").exists():
            assert running.poll() is None, log.read_text()
            time.sleep(0.02)
        os.killpg(running.pid, signal.SIGKILL)
    assert not (batches / str(CHANGES // 2 - 1)).exists()  # it was not done
    code, told, errors = run(*given, output=tmp_path)
    assert (code, errors) == (0, "")
    assert (told["keys"], told["puts"], told["unseen revisions"]) == (1, CHANGES, 0)


def shown(told: dict[str, Any]) -> dict[str, str]:
    return {row["key"]: row["value"] for row in told["rows"]}


def figures(told: dict[str, Any]) -> tuple[int, ...]:
    names = ("keys", "puts", "deletes", "purges", "newest revision", "unseen revisions")
    return tuple(told[name] for name in names)


@long
def test_spark_runs_it_without_us(streaming: Server, name: str, tmp_path: Path) -> None:
    make_bucket(streaming, name)
    with_bucket(streaming, name, _begin)
    spec = tmp_path / "spark-pipeline.yaml"
    configuration = {
        "spark.penstock.servers": streaming.url,
        "spark.penstock.bucket": name,
        "spark.penstock.table": "mine",
        "spark.sql.shuffle.partitions": "2",
    }
    told = {
        "name": "mine",
        "storage": (tmp_path / "storage").as_uri(),
        "configuration": configuration,
        "libraries": [{"glob": {"include": "definitions.py"}}],
    }
    spec.write_text(json.dumps(told))  # which is YAML too
    (tmp_path / "definitions.py").write_text("from penstock.pipelines.tables import definitions\n")
    ran = spark_pipelines(spec, tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    table = pq.read_table(tmp_path / "spark-warehouse" / "mine").to_pylist()
    assert {row["key"]: row["value"] for row in table} == {
        "a": b"a 1",
        "c": b"c 1",
        "vanishes": b"vanishes 1",
    }
    history = pq.read_table(tmp_path / "spark-warehouse" / "mine_history").to_pylist()
    assert [row["operation"] for row in sorted(history, key=lambda row: row["revision"])] == [
        *("PUT", "PUT", "PUT", "DEL"),
    ]


@pytest.mark.skipif(
    not MERGED.exists(), reason="no tables that Spark can merge into: tests/interop/fetch spark"
)
def test_what_is_new_is_merged(streaming: Server, name: str, tmp_path: Path) -> None:
    """With tables in memory, which end with their Spark: so one process has all runs."""
    make_bucket(streaming, name)
    with_bucket(streaming, name, _begin)
    command = [sys.executable, "-m", "tests.spark.merging", streaming.url, name, tmp_path, MERGED]
    with subprocess.Popen(
        [*map(str, command)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as merging:
        assert merging.stdin is not None
        assert merging.stdout is not None
        first = json.loads(merging.stdout.readline())
        with_bucket(streaming, name, _go_on)
        merging.stdin.write("again\n")
        merging.stdin.flush()
        second = json.loads(merging.stdout.readline())
    assert first["right"], first["problems"]
    assert shown(first) == {"a": "a 1", "c": "c 1", "vanishes": "vanishes 1"}
    assert shown(second) == {"a": "a 2", "vanishes": "vanishes 1"}
    assert not second["right"]  # nobody has told that one is gone
    assert second["problems"][0].startswith("1 keys of memory.kv.")
    assert second["purges"] == 1
