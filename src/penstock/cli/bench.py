"""`penstock bench`: how fast this machine's servers are, side by side if there are two.

Nothing is taken from the environment or a context: a load is not put on a server that was not named
here.
"""

import itertools
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.command import Json, command
from penstock.cli.exits import CommandError, ExitCode
from penstock.cli.output import print_json, print_table, progress

if TYPE_CHECKING:
    from penstock.bench.contest import Benchmark, Contestant, Figure, Series
    from penstock.bench.spread import Pair, Spread

_LIMIT_SHARE = 0.9
_LIMIT = (
    "The load is one Python process on this machine, and shares its cores with the server. Where"
    " it took more than {share:.0%} of its core (*), it was the limit, and the server can do more."
)


def declare(app: typer.Typer) -> None:
    command(app, "bench", bench, ExitCode.NO_CONNECTION, ExitCode.NOT_FOUND)


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="publish, memory, durable, fetch, request: all."),
    ] = None,
    reference: Annotated[
        str, typer.Option(metavar="SERVER", help="Beside it: a nats-server program, or a URL.")
    ] = "",
    url: Annotated[
        str, typer.Option(metavar="URL", help="Measure this server; else one is started.")
    ] = "",
    rounds: Annotated[int, typer.Option(help="Samples of each server.", min=1)] = 3,
    seconds: Annotated[
        float, typer.Option(help="Length of a sample.", min=0.01, max=10)  # streams grow meanwhile
    ] = 1.0,
    size: Annotated[int, typer.Option(help="Bytes of a payload.", min=0, max=1 << 20)] = 128,
    messages: Annotated[int, typer.Option(help="In the stream that is fetched.", min=1)] = 100_000,
    store: Annotated[
        Path | None, typer.Option(help="Where servers that are started keep streams.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Measure a server: publish to files and memory, durably too, fetch with acks, request.

    Without --url a penstock is started for each sample, in an empty directory, on a free port. With
    --reference another server is measured beside it: the two take turns, round by round, with the
    same configuration, and their medians are compared. Servers given by a URL
    (nats://user:password@host:port) are used as they are configured, so durable is not measured
    there; what is stored is removed again.
    """
    from penstock.bench import contest, disk
    from penstock.bench.loads import Size

    chosen = _chosen(names or [], contest.BENCHMARKS)
    contestants = _contestants(url, reference)
    if any(one.url for one in contestants):
        chosen = _without_durable(chosen, names or [])
    versions = {one.name: _version(one) for one in contestants}
    place = _directory(store)
    sync_us = disk.sync_us(place)
    amount = Size(seconds, size, messages)
    total, done = len(chosen) * len(contestants) * rounds, itertools.count(1)
    with progress("measuring") as advance:

        def sampled() -> None:
            advance(next(done), total)

        found = [
            contest.alternate(one, contestants, rounds, amount, place, sampled) for one in chosen
        ]
    facts: dict[str, Any] = {"rounds": rounds, "seconds": seconds, "payload_bytes": size}
    facts |= {"servers": versions, "store": str(place), "sync_us": sync_us}
    if as_json:
        print_json(facts | {"benchmarks": {one.benchmark.name: _as_data(one) for one in found}})
    else:
        _print(facts, found)
    faults = [fault for series in found for fault in series.faults]
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise CommandError(f"not everything could be measured: {faults[0]}{more}")
    return ExitCode.DONE


def _chosen(names: list[str], known: "tuple[Benchmark, ...]") -> "list[Benchmark]":
    by_name = {one.name: one for one in known}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        problem = f"there is no benchmark {unknown[0]!r}"
        raise CommandError(problem, f"there are: {', '.join(by_name)}", ExitCode.USAGE)
    return [by_name[name] for name in names or by_name]


def _without_durable(chosen: "list[Benchmark]", names: list[str]) -> "list[Benchmark]":
    """Where a server syncs is its own decision, if it runs already."""
    asked = [one.name for one in chosen if one.is_durable and one.name in names]
    if asked:
        problem = f"{asked[0]} is for servers that are started here"
        raise CommandError(problem, "not for those given by a URL", ExitCode.USAGE)
    return [one for one in chosen if not one.is_durable]


def _contestants(url: str, reference: str) -> "list[Contestant]":
    from penstock.bench.contest import PENSTOCK, REFERENCE, Contestant

    ours = (sys.executable, "-m", "penstock", "serve")
    contestants = [Contestant(PENSTOCK, () if url else ours, url)]
    if "://" in reference:
        contestants.insert(0, Contestant(REFERENCE, url=reference))
    elif reference:
        program = shutil.which(reference)
        if program is None:
            hint = "the path of a nats-server, or the URL of one that runs"
            raise CommandError(f"{reference} is no program", hint, ExitCode.NOT_FOUND)
        contestants.insert(0, Contestant(REFERENCE, (program,)))
    return contestants


def _version(contestant: "Contestant") -> str:
    from penstock.bench.errors import BenchError

    try:
        return contestant.version()
    except BenchError as error:
        code = ExitCode.NO_CONNECTION if contestant.url else ExitCode.FAILED
        raise CommandError(f"{contestant.name} is not measured: {error}", "", code) from None


def _directory(store: Path | None) -> Path:
    import tempfile

    place = store or Path(tempfile.gettempdir())
    if not place.is_dir():
        raise CommandError(f"{place} is no directory", "", ExitCode.NOT_FOUND)
    return place.absolute()


def _as_data(series: "Series") -> dict[str, Any]:
    figures: dict[str, dict[str, Any]] = {}
    for figure in series.benchmark.figures:
        pair = series.pair(figure)
        spreads = {"penstock": pair.ours, "reference": pair.theirs}
        spreads["ratio_of_rounds"] = pair.round_ratios
        told = {name: spread.as_data() if spread else None for name, spread in spreads.items()}
        figures[figure.key] = {"label": figure.label, "unit": figure.unit, "ratio": pair.ratio}
        figures[figure.key] |= told
    title = series.benchmark.title
    return {"title": title, "figures": figures, "samples": series.samples, "faults": series.faults}


def _print(facts: dict[str, Any], found: "list[Series]") -> None:
    servers = facts["servers"]
    versions = ", ".join(f"{name} {version}" for name, version in servers.items())
    print(
        f"{versions}; {facts['rounds']} rounds of {facts['seconds']:g} s,"
        f" {facts['payload_bytes']} B; streams in {facts['store']}, where a sync takes"
        f" {facts['sync_us']:.0f} us\n"
    )
    columns = ["benchmark", "figure", "penstock", "reference", "ratio", "rounds"]
    shown = len(columns) if len(servers) > 1 else 3
    rows = [
        _row(series.benchmark.name, figure, series.pair(figure))[:shown]
        for series in found
        for figure in series.benchmark.figures
    ]
    print_table(columns[:shown], rows)
    print()
    for series in found:
        print(f"{series.benchmark.name}: {series.benchmark.title}")
    print(f"\nMedian (smallest - largest). {_LIMIT.format(share=_LIMIT_SHARE)}")


def _row(name: str, figure: "Figure", pair: "Pair") -> list[str]:
    row = [name, figure.label, _cell(figure, pair.ours), _cell(figure, pair.theirs)]
    rounds = pair.round_ratios
    if figure.unit == "share" or pair.ratio is None or rounds is None:
        return [*row, "", ""]
    return [*row, f"{pair.ratio:.2f}", f"{rounds.least:.2f} - {rounds.most:.2f}"]


def _cell(figure: "Figure", spread: "Spread | None") -> str:
    if spread is None:
        return "-"
    least, middle, most = (
        _shown(figure, value) for value in (spread.least, spread.median, spread.most)
    )
    mark = "*" if figure.unit == "share" and spread.median > _LIMIT_SHARE else ""
    return f"{middle}{mark}" if least == most else f"{middle}{mark} ({least} - {most})"


def _shown(figure: "Figure", value: float) -> str:
    if figure.unit == "per second":
        return f"{value / 1e6:.2f} M/s" if value >= 1e6 else f"{value / 1e3:.1f} k/s"
    return f"{value:.0f} us" if figure.unit == "us" else f"{value:.2f}"
