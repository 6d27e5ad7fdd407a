"""A stream of 3 million messages, opened again: after kill -9, and after a clean stop.

Ready is when the server answers STREAM.INFO with every message that was acknowledged; the time is
from the start of its process, so it holds the start of the program too. Resident memory is read
then. With `--more N` the stream is made longer and the server restarted once more, to see what the
length of a stream costs in memory. Both servers sync as their own default has it. The messages are
all younger than the duplicate window, and `restart_ids` is the same with a `Nats-Msg-Id` in each:
then every one of them is part of what must be there again.
"""

import os
import signal
import time
from pathlib import Path

from benchmarks.generator import Load, LoadError
from benchmarks.measure import Metric, RestartBenchmark, Sample, Target
from benchmarks.publishing import DURABLE, WINDOW
from benchmarks.servers import Contestant, Server, running

SIZE = 128
SETTLE_SECONDS = 0.5


def _fill(
    contestant: Contestant, store: Path, load: Load, count: int, ids: str, *, kill: bool
) -> None:
    with running(contestant, store, DURABLE) as server:
        load.run("publish", server, messages=count, size=SIZE, window=WINDOW, message_ids=ids)
        if kill:
            os.kill(server.pid, signal.SIGKILL)


def _opened(server: Server, load: Load, begin: float, messages: int) -> Sample:
    found = load.run("state", server)
    seconds = time.monotonic() - begin
    if found["messages"] != messages:
        raise LoadError(f"of {messages} acknowledged messages {found['messages']} are there")
    time.sleep(SETTLE_SECONDS)
    return {
        "seconds": seconds,
        "gigabytes": found["bytes"] / 1e9,
        "resident_kb": server.resident_bytes() / 1e3,
    }


def _restart(contestant: Contestant, store: Path, load: Load, messages: int) -> Sample:
    begin = time.monotonic()
    with running(contestant, store, DURABLE) as server:
        return _opened(server, load, begin, messages)


def _restarts(contestant: Contestant, store: Path, load: Load, ids: str) -> Sample:
    _fill(contestant, store, load, load.messages, ids, kill=True)
    killed = _restart(contestant, store, load, load.messages)  # ends with a clean stop
    stopped = _restart(contestant, store, load, load.messages)
    return {
        "killed_seconds": killed["seconds"],
        "killed_seconds_gb": killed["seconds"] / killed["gigabytes"],
        "stopped_seconds": stopped["seconds"],
        "killed_kb": killed["resident_kb"],
        "stopped_kb": stopped["resident_kb"],
    }


def sample(contestant: Contestant, store: Path, load: Load) -> Sample:
    figures = _restarts(contestant, store, load, "no")
    if load.messages_more > load.messages:
        more = load.messages_more - load.messages
        _fill(contestant, store, load, more, "no", kill=False)
        longer = _restart(contestant, store, load, load.messages_more)
        figures["longer_seconds"] = longer["seconds"]
        figures["longer_more_kb"] = longer["resident_kb"] - figures["stopped_kb"]
    return figures


def sample_ids(contestant: Contestant, store: Path, load: Load) -> Sample:
    return _restarts(contestant, store, load, "yes")


BENCHMARK = RestartBenchmark(
    name="restart",
    title="a file stream opened again, 128 B (3 M messages unless --messages says otherwise)",
    metrics=(
        Metric("killed_seconds", "ready after kill -9", "s"),
        Metric("killed_seconds_gb", "the same, for each GB", "s", Target("at most", 4.0, "ours")),
        Metric("stopped_seconds", "ready after a clean stop", "s", Target("at most", 1.0, "ours")),
        Metric("killed_kb", "resident after kill -9", "kB"),
        Metric("stopped_kb", "resident after a clean stop", "kB"),
        Metric("longer_seconds", "ready with --more", "s"),
        Metric(
            "longer_more_kb",
            "resident, more with --more",
            "kB",
            Target("at most", 200e3, "ours"),
        ),
    ),
    sample=sample,
    sync=DURABLE,
)

WITH_IDS = RestartBenchmark(
    name="restart_ids",
    title="the same with a message id in every message, all in the duplicate window",
    metrics=tuple(
        Metric(metric.key, metric.label, metric.unit) for metric in BENCHMARK.metrics[:5]
    ),
    sample=sample_ids,
    sync=DURABLE,
)
