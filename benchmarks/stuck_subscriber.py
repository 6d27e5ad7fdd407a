"""One subscriber that never reads, beside four that do.

The share is the good subscribers' rate in the window that begins with its SUB, over their rate in
the window before, on the same connections. Afterwards the load goes on until the server has
disconnected it, for 15 seconds at most.
"""

from benchmarks.generator import Load
from benchmarks.measure import Benchmark, Metric, Sample, Target
from benchmarks.servers import Server

SECONDS_MIN = 3.0  # a shorter window could end before the queue for it is full


def sample(server: Server, load: Load) -> Sample:
    seconds = max(load.seconds, SECONDS_MIN)
    found = load.run("stuck", server, seconds=seconds, publishers=1, subscribers=4, size=128)
    figures = {
        "kept": found["kept"],
        "rate_without": found["rate_without"],
        "rate_with": found["rate_with"],
        "disconnected": float(found["disconnected"]),
    }
    if found["disconnected"]:
        figures["after_seconds"] = found["disconnected_after_seconds"]
    return figures


BENCHMARK = Benchmark(
    name="stuck_subscriber",
    title="1 publisher to 4 subscribers, and one more that never reads, 128 B",
    metrics=(
        Metric("kept", "rate kept by the others", "share", Target("at least", 0.95, "ours")),
        Metric("rate_without", "delivered before", "per second"),
        Metric("rate_with", "delivered with it", "per second"),
        Metric(
            "disconnected",
            "it is disconnected",
            "yes",
            Target("at least", 1.0, "ours", every_round=True),
        ),
        Metric("after_seconds", "disconnected after", "s"),
    ),
    sample=sample,
)
