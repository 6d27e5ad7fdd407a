"""What a benchmark is, how the servers take turns at it, and what becomes of the samples.

The machine is shared and its speed drifts, so a figure counts only beside one of the other server
taken seconds before or after: the servers alternate, round by round, and a verdict compares the
medians. The spread (smallest and largest sample) stands beside every median. Nothing here fails
because a number is low.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from benchmarks.generator import Load, LoadError
from benchmarks.servers import (
    PENSTOCK,
    REFERENCE,
    Contestant,
    Server,
    Sync,
    fresh_store,
    running,
)
from penstock.bench.errors import BenchError
from penstock.bench.spread import Pair, Spread

Sample = dict[str, float]


@dataclass(frozen=True)
class Target:
    """What the issue asks for: of the ratio ours : theirs, or of our own figure."""

    bound: Literal["at least", "at most"]
    value: float
    of: Literal["ratio", "ours"]
    every_round: bool = False  # else the medians decide

    def is_met(self, found: float) -> bool:
        return found >= self.value if self.bound == "at least" else found <= self.value

    def worst(self, spread: Spread) -> float:
        return spread.least if self.bound == "at least" else spread.most


@dataclass(frozen=True)
class Metric:
    key: str
    label: str
    unit: Literal["per second", "us", "kB", "B", "share", "s", "yes"]
    target: Target | None = None


@dataclass(frozen=True)
class Benchmark:
    name: str
    title: str
    metrics: tuple[Metric, ...]
    sample: Callable[[Server, Load], Sample]
    sync: Sync | None = None  # with streams, synced like this

    def take(self, contestant: Contestant, load: Load) -> Sample:
        """One sample of a fresh server."""
        if self.sync is None:
            with running(contestant) as server:
                return self.sample(server, load)
        with (
            fresh_store(load.store) as store,
            running(contestant, store, self.sync) as server,
        ):
            return self.sample(server, load)


@dataclass(frozen=True)
class RestartBenchmark:
    """One whose sample starts the server itself, more than once, on the same directory."""

    name: str
    title: str
    metrics: tuple[Metric, ...]
    sample: Callable[[Contestant, Path, Load], Sample]
    sync: Sync

    def take(self, contestant: Contestant, load: Load) -> Sample:
        with fresh_store(load.store) as store:
            return self.sample(contestant, store, load)


AnyBenchmark = Benchmark | RestartBenchmark


@dataclass(frozen=True)
class Row(Pair):
    """One metric of one benchmark, both servers."""

    metric: Metric

    @property
    def verdict(self) -> bool | None:
        """Whether the target is met; none if there is no target, or nothing to judge by."""
        target = self.metric.target
        if target is None:
            return None
        if target.of == "ratio":
            return None if self.ratio is None else target.is_met(self.ratio)
        if self.ours is None:
            return None
        return target.is_met(target.worst(self.ours) if target.every_round else self.ours.median)


@dataclass
class Series:
    """All samples of one benchmark."""

    benchmark: AnyBenchmark
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def spread(self, contestant: Contestant, key: str) -> Spread | None:
        samples = self.samples.get(contestant.name, [])
        values = tuple(sample[key] for sample in samples if key in sample)
        return Spread(values) if values else None

    def rows(self) -> list[Row]:
        return [
            Row(self.spread(PENSTOCK, metric.key), self.spread(REFERENCE, metric.key), metric)
            for metric in self.benchmark.metrics
        ]


def alternate(
    benchmark: AnyBenchmark,
    contestants: Sequence[Contestant],
    rounds: int,
    load: Load,
    say: Callable[[str], None],
) -> Series:
    """A B A B ...: one sample of each server in each round, each on a fresh server."""
    series = Series(benchmark)
    for number in range(1, rounds + 1):
        for contestant in contestants:
            say(f"{benchmark.name}: round {number} of {rounds}, {contestant.name}")
            try:
                sample = benchmark.take(contestant, load)
            except (BenchError, LoadError, OSError) as fault:
                series.faults.append(f"round {number}, {contestant.name}: {fault}")
            else:
                series.samples.setdefault(contestant.name, []).append(sample)
    return series


def flow_sample(found: dict[str, Any]) -> Sample:
    """What every flow of messages has: its rate, the server's CPU and the generator's own load."""
    return {
        "rate": found["delivered_rate"],
        "server_cpu_us": found["server_cpu_seconds"] * 1e6 / max(found["delivered"], 1),
        "server_busy": found["server_cpu_seconds"] / found["seconds"],
        "load_busy": found["load_cpu_seconds"] / found["seconds"],
    }


def flow_metrics(ratio_min: float | None = None, what: str = "delivered") -> tuple[Metric, ...]:
    """The metrics of `flow_sample`; with a ratio, the issue's targets for rate and CPU."""
    rate = None if ratio_min is None else Target("at least", ratio_min, "ratio")
    cpu = None if ratio_min is None else Target("at most", 0.5, "ratio")
    return (
        Metric("rate", what, "per second", rate),
        Metric("server_cpu_us", "server CPU for each", "us", cpu),
        Metric("server_busy", "server CPU, of one core", "share"),
        Metric("load_busy", "generator CPU, of its core", "share"),
    )
