"""`python -m benchmarks [names...]`: both servers side by side, medians, ratio, CPU per message.

The exit status says whether everything could be measured, never whether a number was good: targets
are printed beside the figures as met or missed.
"""

import argparse
import json
import sys
from pathlib import Path

from benchmarks import (
    core_pubsub,
    fanout,
    idle_connections,
    latency,
    machine,
    report,
    requests,
    stuck_subscriber,
)
from benchmarks.generator import Load, LoadError, build, raise_file_limit
from benchmarks.measure import Benchmark, Series, alternate
from benchmarks.servers import CONTESTANTS, Contestant

BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in (
        core_pubsub.BENCHMARK,
        core_pubsub.MANY_SUBJECTS,
        fanout.TWO_TO_FOUR,
        fanout.ONE_TO_FIFTY,
        fanout.ONE_TO_FIFTY_SAME_SID,
        requests.MANY,
        requests.ONE,
        latency.BENCHMARK,
        idle_connections.BENCHMARK,
        stuck_subscriber.BENCHMARK,
    )
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(BENCHMARKS))
    parser.add_argument("--rounds", type=int, default=5, help="samples of each server (5)")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a sample (2)")
    parser.add_argument("--only", choices=[one.name for one in CONTESTANTS], help="one server")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples there too")
    parser.add_argument("--load", type=Path, metavar="FILE", help="use this load generator")
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no such benchmark: {', '.join(unknown)} (there are {', '.join(BENCHMARKS)})")
    if asked.rounds < 1 or asked.seconds <= 0:
        parser.error("--rounds and --seconds must be positive")
    return asked


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def contestants(only: str | None) -> list[Contestant]:
    chosen = [one for one in CONTESTANTS if only in (None, one.name)]
    missing = [str(one.program) for one in chosen if not one.program.exists()]
    if missing:
        sys.exit(f"not there: {', '.join(missing)}; `make build` installs them, --only leaves one")
    return chosen


def generator_speed(load: Load) -> str:
    found = load.run("selfcheck", None, seconds=1)
    sent, received = found["publish_rate"] / 1e6, found["receive_rate"] / 1e6
    return f"{sent:.1f} M/s published, {received:.1f} M/s received, 128 B, without a server"


def main() -> int:
    asked = arguments()
    chosen = contestants(asked.only)
    files = raise_file_limit()
    facts = machine.facts(chosen) | {"open files": str(files)}
    try:
        load = Load(asked.load or build(), asked.seconds)
        facts["load generator"] = generator_speed(load)
    except LoadError as fault:
        sys.exit(str(fault))

    ticks_before, stolen_before = machine.cpu_ticks()
    names = asked.names or list(BENCHMARKS)
    all_series: list[Series] = [
        alternate(BENCHMARKS[name], chosen, asked.rounds, load, say) for name in names
    ]
    ticks, stolen = machine.cpu_ticks()
    share = (stolen - stolen_before) / max(ticks - ticks_before, 1)
    facts["stolen by the host"] = f"{share:.1%} of the cores' time during the run"

    for name, fact in facts.items():
        print(f"{name + ':':<22}{fact}")
    print(f"\nmedian (smallest - largest) of {asked.rounds} alternating rounds\n")
    print(report.table(all_series))
    if asked.json:
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        benchmarks = {one.benchmark.name: report.as_json(one) for one in all_series}
        found = {"rounds": asked.rounds, "seconds": asked.seconds, "machine": facts}
        asked.json.write_text(json.dumps(found | {"benchmarks": benchmarks}, indent=1) + "\n")
    return 1 if any(series.faults for series in all_series) else 0


if __name__ == "__main__":
    sys.exit(main())
