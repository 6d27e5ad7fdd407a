"""What streams cost in resident memory: a message in memory, and a subject in the index.

Each figure is the growth while the messages come, after a run of the same kind into another stream
has warmed up the server's buffers. The subjects have one message each, so a subject's figure holds
what its message costs outside the file, too.
"""

import time

from benchmarks.generator import Load
from benchmarks.measure import Benchmark, Metric, Sample, Target
from benchmarks.publishing import LAZY, WINDOW
from benchmarks.servers import Server

COUNT = 1_000_000
WARM_UP = 200_000
SIZE = 128
SETTLE_SECONDS = 1.0


def _growth(server: Server, load: Load, storage: str, subjects: int) -> float:
    """Bytes for each of a million messages."""

    def publish(root: str, count: int, subjects: int) -> None:
        names = {"stream": root.upper(), "subject": root, "subjects": subjects}
        load.run(
            "publish", server, **names, storage=storage, messages=count, size=SIZE, window=WINDOW
        )
        time.sleep(SETTLE_SECONDS)

    publish(f"warm{storage}{subjects}", WARM_UP, 1)
    before = server.resident_bytes()
    publish(f"full{storage}{subjects}", COUNT, subjects)
    return (server.resident_bytes() - before) / COUNT


def sample(server: Server, load: Load) -> Sample:
    return {
        "memory_message": _growth(server, load, "memory", 1),
        "file_message": _growth(server, load, "file", 1),
        "file_subject": _growth(server, load, "file", COUNT),
    }


BENCHMARK = Benchmark(
    name="stream_memory",
    title=f"resident memory for each of {COUNT:,}, {SIZE} B",
    metrics=(
        Metric("memory_message", "message in memory", "B", Target("at most", SIZE + 100, "ours")),
        Metric("file_message", "message in a file", "B"),
        Metric("file_subject", "subject in a file stream", "B", Target("at most", 300, "ours")),
    ),
    sample=sample,
    sync=LAZY,
)
