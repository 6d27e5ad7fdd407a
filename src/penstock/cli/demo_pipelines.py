"""Spark's part of the tour: pipelines over what the shop has stored, all in one Spark session.

A stop is a pipeline of the catalog, with its parameters and what is to be seen there. Its outcome
is shown as `penstock pipeline run` shows it.
"""

import asyncio
import importlib
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli.demo_shop import Say, Step, loss, visit
from penstock.cli.exits import CommandError
from penstock.cli.pipeline import Place, check_packages, print_outcome
from penstock.pipelines.catalog import find
from penstock.pipelines.java import JAVA_MIN, java_version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.pipelines.outcome import Outcome

MASTER = "local[*]"
SETTINGS = {"spark.sql.shuffle.partitions": "2"}  # there is little to do in each


HERE = "DIRECTORY"  # in parameters: where Spark's part of the tour is kept
ARCHIVE = f"{HERE}/archive"


@dataclass(frozen=True)
class Stop:
    """A pipeline of the tour."""

    name: str
    parameters: Mapping[str, str]
    shows: str
    before: Mapping[str, Step] = field(default_factory=dict)  # what the shop does before it

    def given(self, directory: Path) -> dict[str, str]:
        return {
            name: value.replace(HERE, str(directory)) for name, value in self.parameters.items()
        }


STOPS = (
    Stop(
        "recount",
        {"stream": "WORLD"},
        "every counter of the world and its regions, counted again from what was added",
    ),
    Stop(
        "rollup",
        {
            "stream": "ORDERS",
            "target": "TRENDS",
            "prefix": "trends",
            "by": "field:region",
            "value": "price",
            "time": "time",
            "window": "10 minutes",
        },
        "what each region sold in every ten minutes, written back exactly once",
    ),
    Stop(
        "tables",
        {"bucket": "OFFERS"},
        "the bucket as two tables: what is on offer, and everything that ever was",
    ),
    Stop(
        "acks",
        # "slow" is for consumers, not for a busy machine that shows them.
        {"stream": "ACKS", "window": "1 second", "slow": "5000", "plot": f"{HERE}/acks.png"},
        "how long billing had each message before it acknowledged it",
    ),
    Stop(
        "archive",
        {"stream": "ORDERS", "path": ARCHIVE},
        "the stream as Parquet files by date, each message exactly once",
    ),
    Stop(
        "restore",
        {"path": ARCHIVE, "target": "ORDERS"},
        "the archive published again, in order, in atomic batches",
        before={"loss": loss},
    ),
)


def missing() -> str:
    """What Spark lacks here, in one line; nothing if it has all."""
    try:
        check_packages()
    except CommandError as error:
        return str(error)
    if java_version() < JAVA_MIN:
        return f"Spark needs Java {JAVA_MIN} (set JAVA_HOME, or put java on PATH)"
    return ""


def run_all(url: str, directory: Path, say: Say) -> bool:
    """Whether all is as it should be."""
    from penstock.pipelines.errors import RunError
    from penstock.pipelines.session import session

    place = Place(MASTER, str(directory))
    begun = time.perf_counter()
    stop: Stop | None = None
    try:
        spark = session(place.master, place.directory, SETTINGS)
        say("spark", f"{spark.version} has started after {time.perf_counter() - begun:.0f} s")
        try:
            outcomes = []
            for stop in STOPS:
                print()
                outcomes.append(_run(spark, stop, url, place, say))
        finally:
            spark.stop()
    except RunError as error:
        raise CommandError(f"{stop.name}: {error}" if stop else str(error)) from error
    return all(one.is_right for one in outcomes)


def _run(spark: "SparkSession", stop: Stop, url: str, place: Place, say: Say) -> "Outcome":
    from penstock.pipelines.running import run

    pipeline = find(stop.name)
    assert pipeline is not None, f"{stop.name} is not in the catalog"
    assert place.directory is not None, "it is on this machine"
    given = stop.given(place.directory)
    values = pipeline.checked({"servers": url, **given})
    found = importlib.import_module(f"penstock.pipelines.{stop.name}.outcome").outcome
    asyncio.run(visit(url, stop.before, say))
    say(stop.name, stop.shows)
    begun = time.perf_counter()
    run(spark, pipeline, values, place.storage, lambda _event: None)
    outcome: Outcome = found(spark, values)
    words = (f"{name}={value}" for name, value in given.items())
    command = shlex.join(("penstock", "pipeline", "run", stop.name, *words))
    say("", f"{command} ({time.perf_counter() - begun:.0f} s)")
    print_outcome(outcome, place)
    return outcome
