"""The whole tour, as `make demo` runs it."""

import json
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.cli.demo_pipelines import STOPS
from penstock.cli.demo_shop import BATCH, ITEMS, ORDERS, REGIONS, all_orders
from tests.parity.servers import PENSTOCK, Server
from tests.server_process import BIN
from tests.spark.conftest import JAVA_MIN, java_version
from tests.spark.streams import api

TOUR_SECONDS_MAX = 560.0


@pytest.mark.timeout(640)  # a tour of all pipelines takes a minute, idle
def test_the_tour(tmp_path: Path) -> None:
    if java_version() < JAVA_MIN:
        pytest.skip(f"Spark needs Java {JAVA_MIN}: set JAVA_HOME, or put java on PATH")
    output = tmp_path / "tour"
    ran = subprocess.run(
        [BIN / "penstock", "demo", "--once", "--output", output],
        capture_output=True,
        text=True,
        check=False,
        timeout=TOUR_SECONDS_MAX,
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    told = [line.split()[0] for line in ran.stdout.splitlines() if line]
    assert [one.name for one in STOPS if one.name not in told] == []
    tables = output / "spark" / "tables"
    assert f"  parquet    {tables.parent}: tables, archive" in ran.stdout.splitlines()
    _check_counters(tables)
    (offers,) = tables.glob("kv_offers_*[!y]")
    (offer,) = pq.read_table(offers).to_pylist()
    assert (offer["key"], offer["value"]) == ("coffee", b"10 % off")
    archived = pq.read_table(output / "spark" / "archive" / "messages")
    numbers = sorted(json.loads(data)["order"] for data in archived["data"].to_pylist())
    assert numbers == [*range(1, ORDERS + BATCH + 1)]
    assert (output / "spark" / "acks.png").stat().st_size > 0
    _check_streams(output / "store")


def _check_counters(tables: Path) -> None:
    counters = pq.read_table(tables / "recount_counters").to_pylist()
    assert {row["verdict"] for row in counters} == {"exact"}
    world = {row["subject"]: int(row["recounted"]) for row in counters if row["stream"] == "WORLD"}
    assert world == {
        f"sales.{item}": sum(one.price for one in all_orders() if one.item == item)
        for item in ITEMS
    }
    assert len(counters) == len(ITEMS) * (len(REGIONS) + 1)


def _check_streams(store: Path) -> None:
    """What Spark has written back is there when a server starts again."""
    with Server(PENSTOCK, ("-js", "-sd", str(store))) as server:
        orders, trends = _subjects(server, "ORDERS"), _subjects(server, "TRENDS")
    assert sum(orders.values()) == ORDERS + BATCH
    # Of a hundred minutes, the last ten are not over.
    assert trends == {f"trends.{region}": 9 for region in REGIONS}


def _subjects(server: Server, stream: str) -> dict[str, int]:
    """With how many messages each, without the ledger of what Spark has written."""
    asked = {"subjects_filter": f"{stream.lower()}.>"}
    subjects: dict[str, int] = api(server, f"STREAM.INFO.{stream}", asked)["state"]["subjects"]
    return subjects
