"""`python -m benchmarks [names...]`: both servers side by side, medians, ratio, CPU per message.

The exit status says whether everything could be measured, never whether a number was good: targets
are printed beside the figures as met or missed.
"""

import argparse
import json
import sys
from pathlib import Path

from benchmarks import (
    batches,
    catch_up,
    core_pubsub,
    counters,
    disk,
    expiry,
    fanout,
    fetch,
    fetch_acks,
    idle_connections,
    key_value,
    latency,
    machine,
    num_pending,
    publish_1kb,
    publish_200_connections,
    publish_file,
    publish_ids,
    publish_memory,
    publish_revisions,
    publish_subjects,
    publish_sync,
    publish_two_streams,
    pull_thousand,
    push,
    report,
    requests,
    restart,
    stream_memory,
    stuck_subscriber,
    workqueue,
)
from benchmarks.generator import ROOT, Load, LoadError, build, raise_file_limit
from benchmarks.measure import AnyBenchmark, Series, alternate
from benchmarks.servers import CONTESTANTS, Contestant

ALL: tuple[AnyBenchmark, ...] = (
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
    publish_file.LAZY_WIDE,
    publish_file.LAZY_NARROW,
    publish_1kb.LAZY_WIDE,
    publish_subjects.LAZY_WIDE,
    publish_ids.LAZY_WIDE,
    publish_revisions.LAZY_WIDE,
    publish_two_streams.LAZY_WIDE,
    publish_memory.BENCHMARK,
    publish_sync.LAZY_ONE,
    publish_200_connections.LAZY_MANY,
    publish_file.DURABLE_WIDE,
    publish_file.DURABLE_NARROW,
    publish_1kb.DURABLE_WIDE,
    publish_subjects.DURABLE_WIDE,
    publish_ids.DURABLE_WIDE,
    publish_revisions.DURABLE_WIDE,
    publish_two_streams.DURABLE_WIDE,
    publish_sync.ALWAYS_ONE,
    publish_sync.DURABLE_ONE,
    publish_200_connections.DURABLE_MANY,
    counters.LAZY_HOT,
    counters.LAZY_MANY,
    counters.DURABLE_HOT,
    counters.DURABLE_MANY,
    fetch.LAZY_FILE,
    fetch.MEMORY,
    fetch.LAZY_SINGLES,
    fetch_acks.LAZY_FILE,
    fetch_acks.LAZY_NARROW,
    fetch_acks.MEMORY,
    push.PLAIN,
    push.FLOW_CONTROL,
    pull_thousand.LAZY_ONE,
    pull_thousand.LAZY_MANY,
    pull_thousand.MEMORY,
    workqueue.LAZY_ONE,
    fetch.DURABLE_FILE,
    fetch_acks.DURABLE_FILE,
    pull_thousand.DURABLE_ONE,
    workqueue.DURABLE_ONE,
    num_pending.BENCHMARK,
    batches.LAZY_ONE,
    batches.LAZY_FOUR,
    batches.DURABLE_ONE,
    batches.DURABLE_FOUR,
    catch_up.LAZY_FILE,
    catch_up.DURABLE_FILE,
    expiry.PLAIN,
    expiry.MARKED,
    key_value.MILLION_KEYS,
    key_value.GIGABYTE_OBJECT,
    restart.BENCHMARK,
    restart.WITH_IDS,
    stream_memory.BENCHMARK,
)
BENCHMARKS: dict[str, AnyBenchmark] = {benchmark.name: benchmark for benchmark in ALL}
STORE = ROOT / "target" / "streams"  # ignored by git, and on a disk wherever the sources are


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(BENCHMARKS))
    parser.add_argument("--rounds", type=int, default=5, help="samples of each server (5)")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a sample (2)")
    parser.add_argument("--only", choices=[one.name for one in CONTESTANTS], help="one server")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples there too")
    parser.add_argument("--load", type=Path, metavar="FILE", help="use this load generator")
    parser.add_argument(
        "--store", type=Path, metavar="DIR", help="where streams are (target/streams)"
    )
    parser.add_argument("--messages", type=int, default=3_000_000, help="of restart (3,000,000)")
    parser.add_argument("--more", type=int, default=0, help="of restart's longer stream (none)")
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
    names = asked.names or list(BENCHMARKS)
    store = (asked.store or STORE).resolve()
    try:
        load = Load(asked.load or build(), asked.seconds, store, asked.messages, asked.more)
        facts["load generator"] = generator_speed(load)
        if any(BENCHMARKS[name].sync for name in names):
            facts["streams in"] = disk.checked(store)
    except (LoadError, disk.DiskError, OSError) as fault:
        sys.exit(str(fault))

    ticks_before, stolen_before = machine.cpu_ticks()
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
