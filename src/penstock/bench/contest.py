"""Who is measured, by what, and how they take turns.

Each round takes one sample of each server, one right after the other. A server that is a program is
started afresh for each sample, with an empty directory, and the other one does not run meanwhile;
one that is a URL is used as it is, and the streams made there are removed again.
"""

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from penstock.bench.connection import Connection
from penstock.bench.errors import BenchError
from penstock.bench.loads import Sample, Size, fetch, publish, request
from penstock.bench.processes import HOST, started
from penstock.bench.spread import Pair, Spread

PENSTOCK, REFERENCE = "penstock", "reference"
_LAZY = "2m"  # the reference's default
_DURABLE = "always"


@dataclass(frozen=True)
class Figure:
    """One number of a sample."""

    key: str
    label: str
    unit: Literal["per second", "us", "share"]


_RATE = Figure("rate", "messages", "per second")
_BUSY = Figure("load_busy", "this client, of one core", "share")


@dataclass(frozen=True)
class Benchmark:
    """A load, and how the server is configured for it."""

    name: str
    title: str
    load: Callable[[str, Size], Sample]
    figures: tuple[Figure, ...] = (_RATE, _BUSY)
    is_durable: bool = False  # every acknowledgement waits for the disk


BENCHMARKS = (
    Benchmark(
        "publish", "to a file stream, synced every 2 minutes", partial(publish, storage="file")
    ),
    Benchmark("memory", "to a memory stream", partial(publish, storage="memory")),
    Benchmark(
        "durable",
        "to a file stream, synced before every acknowledgement",
        partial(publish, storage="file"),
        is_durable=True,
    ),
    Benchmark("fetch", "from a file stream by a pull consumer, every message acknowledged", fetch),
    Benchmark(
        "request",
        "request and reply between two clients",
        request,
        (
            Figure("rate", "requests, 256 at once", "per second"),
            Figure("p50_us", "one at a time, p50", "us"),
            Figure("p99_us", "one at a time, p99", "us"),
            _BUSY,
        ),
    ),
)


@dataclass(frozen=True)
class Contestant:
    """A server: a program that is started, or a URL where one runs."""

    name: str
    command: tuple[str, ...] = ()
    url: str = ""

    @contextmanager
    def running(self, benchmark: Benchmark, store: Path) -> Iterator[str]:
        """Its URL."""
        if self.url:
            yield self.url
            return
        with tempfile.TemporaryDirectory(dir=store, prefix="penstock-store-") as directory:
            sync = _DURABLE if benchmark.is_durable else _LAZY
            settings = f'store_dir: "{directory}"\n  sync_interval: "{sync}"'
            with started(self.command, f"jetstream {{\n  {settings}\n}}\n") as server:
                yield f"nats://{HOST}:{server.port}"

    def version(self) -> str:
        """Of the program, or as the server tells it; BenchError if there is none."""
        if self.url:
            with Connection(self.url) as connection:
                return f"v{connection.info.get('version', ' unknown')}"
        try:
            asked = subprocess.run(  # noqa: S603 -- the servers that were asked for
                [*self.command, "-v"],
                capture_output=True,
                text=True,
                check=True,
                timeout=30,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise BenchError(f"{self.command[0]} cannot be run: {error}") from None
        return asked.stdout.strip().rpartition(": ")[2] or "unknown"


@dataclass
class Series:
    """All samples of one benchmark, by the names of the servers."""

    benchmark: Benchmark
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def pair(self, figure: Figure) -> Pair:
        return Pair(self._spread(PENSTOCK, figure.key), self._spread(REFERENCE, figure.key))

    def _spread(self, name: str, key: str) -> Spread | None:
        values = tuple(sample[key] for sample in self.samples.get(name, []))
        return Spread(values) if values else None


def alternate(
    benchmark: Benchmark,
    contestants: Sequence[Contestant],
    rounds: int,
    size: Size,
    store: Path,
    sampled: Callable[[], None],
) -> Series:
    """A B A B ...: one sample of each server in each round."""
    series = Series(benchmark)
    for number in range(1, rounds + 1):
        for contestant in contestants:
            try:
                with contestant.running(benchmark, store) as url:
                    sample = benchmark.load(url, size)
            except BenchError as fault:
                series.faults.append(f"round {number}, {contestant.name}: {fault}")
            else:
                series.samples.setdefault(contestant.name, []).append(sample)
            sampled()
    return series
