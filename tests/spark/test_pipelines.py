"""Pipelines as their users run them: processes of their own, with a Spark of their own."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from nats.js.api import StreamSource, SubjectTransform

from penstock import client
from penstock.client import JetStream
from tests.server_process import BIN, ServerProcess
from tests.spark.conftest import JAVA_MIN, java_version
from tests.spark.length import long_with_reference
from tests.spark.sink_bench import patient

RUN_SECONDS_MAX = 280.0  # a Spark of its own takes half a minute, idle
RIGHT, FLAWED = 0, 5
LIMITS = ("--conf", "spark.sql.shuffle.partitions=2")


@pytest.fixture(autouse=True)
def java() -> None:
    if java_version() < JAVA_MIN:
        pytest.skip(f"Spark needs Java {JAVA_MIN}: set JAVA_HOME, or put java on PATH")


def run(*arguments: object, output: Path) -> tuple[int, Any, str]:
    """Exit code, what was printed, and errors."""
    command = [BIN / "penstock", "pipeline", "run", *arguments, "--json", "--master", "local[2]"]
    ran = subprocess.run(
        [*map(str, command), "--output", str(output), *LIMITS],
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_SECONDS_MAX,
    )
    return ran.returncode, json.loads(ran.stdout) if ran.stdout else None, ran.stderr


async def _counters(js: JetStream) -> None:
    """ES and DE are counted into EU, which has something of its own."""
    counting = {"allow_msg_counter": True, "allow_direct": True}
    for name in ("es", "de"):
        await js.add_stream(name=name.upper(), subjects=[f"hits.{name}.>"], **counting)
    sources = [
        StreamSource(
            name=name.upper(),
            subject_transforms=[SubjectTransform(src=f"hits.{name}.>", dest="hits.>")],
        )
        for name in ("es", "de")
    ]
    await js.add_stream(name="EU", subjects=["hits.*"], sources=sources, **counting)
    for name in ("es", "de"):
        counters = await js.counters(name.upper())
        for number in range(1, 5):
            await counters.add(f"hits.{name}.home", number)
        await counters.add(f"hits.{name}.shop", 2)
    eu = await js.counters("EU")
    await _followed(eu, {"hits.home": 20, "hits.shop": 4})
    await eu.add("hits.home", 100)


async def _followed(counters: client.Counters, values: dict[str, int]) -> None:
    """Until what was sourced has come to this."""
    while True:
        found = {subject: value async for subject, value in counters.load_multiple([*values])}
        if found == values:
            return
        await asyncio.sleep(0.02)


def verdicts(told: dict[str, Any]) -> dict[tuple[str, str, str], int]:
    return {(row["what"], row["stream"], row["verdict"]): row["count"] for row in told["rows"]}


@long_with_reference
def test_a_tree_of_counters_is_counted_again(streaming: ServerProcess, tmp_path: Path) -> None:
    async def program() -> None:
        async with patient(streaming.url) as js:
            await _counters(js)
            await js.delete_msg("DE", 2)  # an increment that cannot be counted again
            await js.purge_stream("ES", seq=3, subject="hits.es.home")  # a beginning

    asyncio.run(program())
    code, told, errors = run("recount", "stream=EU", "-s", streaming.url, output=tmp_path)
    assert (code, errors) == (FLAWED, "")
    assert verdicts(told) == {
        ("counter", "DE", "partial"): 1,  # what was deleted may have been this one's
        ("counter", "DE", "unproven"): 1,
        ("counter", "ES", "exact"): 1,
        ("counter", "ES", "partial"): 1,
        ("counter", "EU", "exact"): 2,
        ("origin", "EU", "exact"): 4,
    }
    assert [problem.split(":")[0] for problem in told["problems"]] == ["DE hits.de.home"]
    assert (told["counters"], told["wrong"]) == (6, 1)
    table = pq.read_table(tmp_path / "tables" / "recount_counters").to_pylist()
    (home,) = (row for row in table if (row["stream"], row["subject"]) == ("EU", "hits.home"))
    assert (int(home["stored"]), int(home["recounted"])) == (120, 120)
    assert dict(home["sources"]) == {"DE": [("hits.de.home", "10")], "ES": [("hits.es.home", "10")]}
