"""A mirror, and streams with a source, made over a stream that is there: how fast they follow.

The origin has half a million messages of 128 B over 100 subjects. The time is from the request that
makes the copy until its last message is the origin's last; it must have all of them. A mirror, a
source, and a source that gives every message another subject, one after the other on one server.
"""

import os
import time
from typing import Any

from benchmarks.generator import Load, LoadError
from benchmarks.measure import Benchmark, Metric, Sample, Target
from benchmarks.publishing import DURABLE, LAZY, WINDOW
from benchmarks.servers import Server, Sync
from benchmarks.talk import Talk

MESSAGES = int(os.environ.get("PENSTOCK_BENCH_COPIED", "500000"))
SUBJECTS = 100
SIZE = 128
POLL_SECONDS = 0.005
WAIT_SECONDS_MAX = 600.0

NAME = "ORIGIN0"  # what the generator makes of ORIGIN, with the subjects origin.0.*
RENAMED = {"src": "origin.0.*", "dest": "copy.$1"}
COPIES: dict[str, dict[str, Any]] = {
    "mirror": {"mirror": {"name": NAME}},
    "source": {"sources": [{"name": NAME}]},
    "renamed": {"sources": [{"name": NAME, "subject_transforms": [RENAMED]}]},
}


def _followed(talk: Talk, name: str, fields: dict[str, Any]) -> float:
    """Messages a second."""
    began = time.monotonic()
    talk.ask(f"STREAM.CREATE.{name}", {"name": name, **fields})
    while True:
        state = talk.ask(f"STREAM.INFO.{name}")["state"]
        elapsed = time.monotonic() - began
        if state["last_seq"] >= MESSAGES:
            break
        if elapsed > WAIT_SECONDS_MAX:
            raise LoadError(f"{name} is at {state['last_seq']} after {elapsed:.0f} s")
        time.sleep(POLL_SECONDS)
    if state["messages"] != MESSAGES:
        raise LoadError(f"{name} has {state['messages']} of {MESSAGES} messages")
    talk.ask(f"STREAM.DELETE.{name}")
    return MESSAGES / elapsed


def sample(server: Server, load: Load) -> Sample:
    names = {"stream": "ORIGIN", "subject": "origin", "subjects": SUBJECTS}
    load.run("publish", server, messages=MESSAGES, size=SIZE, window=WINDOW, **names)
    talk = Talk(server)
    found = {name: _followed(talk, name.upper(), fields) for name, fields in COPIES.items()}
    talk.close()
    return found


def benchmark(name: str, sync: Sync) -> Benchmark:
    how = "every entry synced, the reference lazy" if sync is DURABLE else "lazy"
    target = Target("at least", 1.5, "ratio")
    return Benchmark(
        name=name,
        title=f"copies of a stream of {MESSAGES:,} messages, {SIZE} B, {how}",
        metrics=(
            Metric("mirror", "mirror", "per second", target),
            Metric("source", "source", "per second", target),
            Metric("renamed", "source with new subjects", "per second", target),
        ),
        sample=sample,
        sync=sync,
    )


LAZY_FILE = benchmark("catch_up", LAZY)
DURABLE_FILE = benchmark("catch_up_durable", DURABLE)
