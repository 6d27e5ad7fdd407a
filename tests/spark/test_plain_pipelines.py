"""Pipelines run by plain `spark-pipelines run`, as somebody does who has no `penstock` command."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from penstock.pipelines.catalog import find
from tests.parity.servers import PENSTOCK, Server
from tests.spark.length import long
from tests.spark.plain_run import Ran, spark_pipelines
from tests.spark.sink_bench import Bench
from tests.spark.streams import ANSWER_SECONDS_MAX, Published, connected, make, publish
from tests.spark.test_acks import sample
from tests.spark.test_pipelines import java  # noqa: F401 -- java is a fixture
from tests.spark.test_rollup import KEYS, orders

SPEC = """
name: mine
storage: {storage}
configuration:
{configuration}
libraries:
  - glob:
      include: definitions.py
"""


def run(spec: Path, folder: Path, **parameters: str) -> Ran:
    settings = {f"spark.penstock.{name}": value for name, value in parameters.items()}
    return spark_pipelines(spec, folder, settings | {"spark.sql.shuffle.partitions": "2"})


def spec_of(name: str) -> Path:
    pipeline = find(name)
    assert pipeline is not None
    return pipeline.spec


def table(folder: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(folder / "spark-warehouse" / name).to_pylist()
    return rows


def test_recount_at_a_server_that_wants_a_token(tmp_path: Path) -> None:
    """A context has it."""

    async def fill(client: Any) -> None:
        config = {"name": "ALONE", "subjects": ["alone.*"], "allow_direct": True}
        request = json.dumps(config | {"allow_msg_counter": True}).encode()
        place = "$JS.API.STREAM.CREATE.ALONE"
        await client.request(place, request, timeout=ANSWER_SECONDS_MAX)
        js = client.jetstream(timeout=ANSWER_SECONDS_MAX)
        for number in range(10):
            increment = {"Nats-Incr": f"+{number}"}
            await js.publish(f"alone.{number % 3}", headers=increment)

    config = 'authorization { token: "sesame" }'
    with Server(PENSTOCK, ("-js", "-sd", str(tmp_path / "store")), config) as server:
        connected(server, fill, token="sesame")
        context = tmp_path / "work.json"
        context.write_text(json.dumps({"url": server.url, "token": "sesame"}))
        ran = run(spec_of("recount"), tmp_path, context=str(context), stream="ALONE")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = table(tmp_path, "recount_counters")
    assert {row["verdict"] for row in rows} == {"exact"}
    assert sorted((row["subject"], int(row["recounted"])) for row in rows) == [
        ("alone.0", 18),
        ("alone.1", 12),
        ("alone.2", 15),
    ]


@long
def test_acks(penstock_streaming: Server, name: str, tmp_path: Path) -> None:
    """With more settings than pyspark keeps."""
    make(penstock_streaming, name)
    samples = [sample(number, "quick", 5) for number in range(10)]
    samples += [sample(number, "slow", 5000, deliveries=2) for number in range(4)]
    publish(penstock_streaming, [Published(f"{name}.x", data) for data in samples])
    given = {"servers": penstock_streaming.url, "stream": name, "subjects": f"{name}.>"}
    ran = run(spec_of("acks"), tmp_path, **given)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    consumers = {row["consumer"]: row for row in table(tmp_path, "acks_consumers")}
    figures = ("samples", "redelivered", "slow_windows")
    assert [consumers["quick"][one] for one in figures] == [10, 0, 0]
    assert [consumers["slow"][one] for one in figures] == [4, 4, 1]


@long
def test_rollup_with_a_spec_of_its_own(
    penstock_streaming: Server, name: str, tmp_path: Path
) -> None:
    """As docs/pipelines.md has it; what it writes goes on in a second run."""
    target = f"{name}T"
    make(penstock_streaming, name)
    subjects = [f"{target}.>", f"spark_ledger.{target}.>"]
    make(penstock_streaming, target, subjects=subjects, allow_atomic=True)
    given = {"servers": penstock_streaming.url, "stream": name, "target": target}
    given |= {"prefix": target, "by": "part:1", "time": "at"}
    lines = [f"  spark.penstock.{one}: {value}" for one, value in given.items()]
    storage = (tmp_path / "storage").as_uri()
    spec = tmp_path / "spark-pipeline.yaml"
    spec.write_text(SPEC.format(storage=storage, configuration="\n".join(lines)))
    line = "from penstock.pipelines.rollup import definitions  # noqa: F401\n"
    (tmp_path / "definitions.py").write_text(line)
    publish(penstock_streaming, orders(name, range(3)))
    ran = run(spec, tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    stored = [json.loads(one.data) for one in Bench(penstock_streaming.url, target).stored()]
    assert [window["count"] for window in stored] == [KEYS] * 2  # the last one is not finished
    assert {window["key"] for window in stored} == {name}
