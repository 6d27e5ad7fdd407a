"""The tour, without Spark: what it shows, what it leaves, and how it ends. With Spark it is in
tests/spark/test_demo.py."""

import asyncio
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

import penstock
from penstock.cli.demo_pipelines import STOPS, Stop, missing
from penstock.cli.demo_shop import BATCH, ORDERS, STEPS, all_orders
from penstock.client import connect
from penstock.pipelines.catalog import find
from tests.cli.run import called, world
from tests.server_process import BIN

DONE, USAGE = 0, 2

_ADDRESS = re.compile(rb"until \^C.* -s (nats://[\d.:]+)\r?\n")


def test_the_tour_without_spark_says_what_is_missing_and_leaves_its_streams(tmp_path: Path) -> None:
    output = tmp_path / "tour"
    with mock.patch.dict(sys.modules, {"pyspark": None, "pyspark.pipelines": None}):
        ran = called("demo", "--output", output)
    assert (ran.code, ran.err) == (DONE, "")
    told = [line.split()[0] for line in ran.out.splitlines() if line]
    shown = [*dict.fromkeys(told)]  # some have two lines
    assert shown == ["server", *STEPS, "spark", "done", "streams"]
    (line,) = (line for line in ran.out.splitlines() if line.startswith("  spark"))
    assert "pip install 'penstock[spark]'" in line
    asyncio.run(_is_what_was_sold(output / "store"))


async def _is_what_was_sold(store: Path) -> None:
    sold = sum(one.price for one in all_orders())
    async with penstock.Server(store) as server, connect(server.url) as js:
        assert (await js.stream_info("ORDERS")).state.messages == ORDERS + BATCH
        world = await js.counters("WORLD")
        assert sum([value async for _, value in world.load_multiple(["sales.*"])]) == sold
        offers = await js.key_value("OFFERS")
        assert (await offers.get("coffee")).value == b"10 % off"


def test_a_directory_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    ran = called("demo", "--output", tmp_path)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (USAGE, "", 1)
    assert "not an empty directory" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_on_a_terminal_the_server_goes_on_until_it_is_interrupted(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [BIN / "penstock", "demo", "--no-spark", "--output", tmp_path / "tour"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=world(),
    )
    os.close(theirs)
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        shown = b""
        while not (found := _ADDRESS.search(shown)):
            shown += terminal.read(4096)
        asyncio.run(_answers(found[1].decode()))
        process.send_signal(signal.SIGINT)
        assert process.wait() == DONE


async def _answers(url: str) -> None:
    async with connect(url) as js:
        assert (await js.stream_info("ORDERS")).state.messages == ORDERS + BATCH


@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop.name)
def test_every_stop_is_a_pipeline_that_takes_its_parameters(stop: Stop) -> None:
    pipeline = find(stop.name)
    assert pipeline is not None
    assert pipeline.checked(stop.parameters).items() >= stop.parameters.items()


def test_without_java_it_says_so() -> None:
    with mock.patch.dict(os.environ, {"JAVA_HOME": "/nonexistent"}):
        assert missing().startswith("Spark needs Java 17")
