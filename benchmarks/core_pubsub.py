"""Core pub/sub, one publisher to one subscriber, 128 B: the path every other one stands on.

With one subject all frames of a block have the same route, which suits a server that works on runs
of them; the second benchmark goes round 1,000 subjects, so that no two neighbours are alike.
"""

from benchmarks.generator import Load
from benchmarks.measure import Benchmark, Sample, flow_metrics, flow_sample
from benchmarks.servers import Server


def sample(server: Server, load: Load) -> Sample:
    return flow_sample(load.run("pubsub", server, publishers=1, subscribers=1, size=128))


def many_subjects_sample(server: Server, load: Load) -> Sample:
    return flow_sample(load.run("pubsub", server, subjects=1000, size=128))


BENCHMARK = Benchmark(
    name="core_pubsub",
    title="core pub/sub, 1 publisher to 1 subscriber, 128 B",
    metrics=flow_metrics(ratio_min=2.5),
    sample=sample,
)
MANY_SUBJECTS = Benchmark(
    name="core_many_subjects",
    title="core pub/sub, 1 to 1 through a wildcard, 1,000 subjects in turn, 128 B",
    metrics=flow_metrics(),
    sample=many_subjects_sample,
)
