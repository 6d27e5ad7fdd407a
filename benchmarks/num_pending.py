"""Consumers with filters on a long stream: how long one takes to be made, and to tell what is left.

The stream has 5 million messages over 100,000 subjects of the form `root.0.<100>.<1,000>`. The
filters take everything, one of the hundred (a branch), one of the thousand (across all branches),
and the last from the middle of the stream on. Each is made anew with another literal, the median
counts, and what the server says is left is checked against a count.
"""

from benchmarks.generator import Load
from benchmarks.measure import Benchmark, Metric, Sample, Target
from benchmarks.publishing import LAZY, WINDOW
from benchmarks.servers import Server

MESSAGES = 5_000_000
SUBJECTS = 100_000
SIZE = 16

FILTERS = {
    "all": "everything",
    "branch": "one branch",
    "across": "across branches",
    "middle": "the same from the middle",
}


def sample(server: Server, load: Load) -> Sample:
    shape = {"subjects": SUBJECTS, "tokens": 2, "size": SIZE}
    load.run("publish", server, messages=MESSAGES, window=WINDOW, **shape)
    found = load.run("num-pending", server, **shape)
    return {name: value for name, value in found.items() if name.endswith("_us")}


NO_SLOWER = Target("at most", 1.0, "ratio")

BENCHMARK = Benchmark(
    name="num_pending",
    title=f"filtered consumers on {MESSAGES:,} messages with {SUBJECTS:,} subjects",
    metrics=tuple(
        Metric(f"{asked}_{key}_us", f"{asked}, {words}", "us", NO_SLOWER)
        for asked in ("create", "info")
        for key, words in FILTERS.items()
    ),
    sample=sample,
    sync=LAZY,
)
