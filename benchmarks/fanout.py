"""Fan-out, 128 B: every subscriber receives everything, and every delivery counts as one.

Subscribers have sids of their own, so no two of them get the same bytes; that is what the targets
are judged by. Where all have the same sid a server may render a message once for all of them:
that is a benchmark of its own, without a target, because it is the best case.
"""

from benchmarks.generator import Load
from benchmarks.measure import Benchmark, Sample, flow_metrics, flow_sample
from benchmarks.servers import Server


def two_to_four(server: Server, load: Load) -> Sample:
    return flow_sample(load.run("pubsub", server, publishers=2, subscribers=4, size=128))


def one_to_fifty(server: Server, load: Load) -> Sample:
    return flow_sample(load.run("pubsub", server, publishers=1, subscribers=50, size=128))


def one_to_fifty_same_sid(server: Server, load: Load) -> Sample:
    found = load.run("pubsub", server, publishers=1, subscribers=50, size=128, sids="same")
    return flow_sample(found)


TWO_TO_FOUR = Benchmark(
    name="fanout_2_to_4",
    title="fan-out, 2 publishers to 4 subscribers, 128 B",
    metrics=flow_metrics(ratio_min=2.0),
    sample=two_to_four,
)
ONE_TO_FIFTY = Benchmark(
    name="fanout_1_to_50",
    title="fan-out, 1 publisher to 50 subscribers, 128 B",
    metrics=flow_metrics(ratio_min=1.5),
    sample=one_to_fifty,
)
ONE_TO_FIFTY_SAME_SID = Benchmark(
    name="fanout_1_to_50_same_sid",
    title="fan-out, 1 publisher to 50 subscribers that all use sid 1, 128 B",
    metrics=flow_metrics(),
    sample=one_to_fifty_same_sid,
)
