"""A thousand pull consumers on one stream, each on a subject of its own with a request waiting.

For each consumer one message is on its way: it is published, delivered to the request that waits,
and acknowledged; then the consumer asks again, and its next message is published. Publishes are
acknowledged too. The consumers share one connection; with a hundred connections, ten share one.
On a file stream the reference replaces a file for each consumer about once a second, which on many
disks is most of its time; a memory stream shows what the rest costs.
"""

from collections.abc import Callable

from benchmarks.consuming import SIZE, consume_metrics
from benchmarks.generator import Load
from benchmarks.measure import Benchmark, Sample, flow_sample
from benchmarks.publishing import DURABLE, LAZY
from benchmarks.servers import Server

CONSUMERS = 1_000
CONNECTIONS = 100
TITLE = f"{CONSUMERS:,} pull consumers, a request of each waiting, {SIZE} B"


def _sampler(connections: int = 1, storage: str = "file") -> Callable[[Server, Load], Sample]:
    def sample(server: Server, load: Load) -> Sample:
        found = load.run(
            "work",
            server,
            consumers=CONSUMERS,
            connections=connections,
            storage=storage,
            size=SIZE,
            batch=1,
            ahead=1,
            window=1,
        )
        return flow_sample(found)

    return sample


LAZY_ONE = Benchmark("pull_thousand", f"{TITLE}, lazy", consume_metrics(2.0), _sampler(), LAZY)
LAZY_MANY = Benchmark(
    "pull_thousand_connections",
    f"{TITLE}, {CONNECTIONS} connections, lazy",
    consume_metrics(),
    _sampler(CONNECTIONS),
    LAZY,
)
MEMORY = Benchmark(
    "pull_thousand_memory",
    f"{TITLE}, memory, lazy",
    consume_metrics(),
    _sampler(storage="memory"),
    LAZY,
)
DURABLE_ONE = Benchmark(
    "pull_thousand_durable",
    f"{TITLE}, penstock's default sync, the reference lazy",
    consume_metrics(),
    _sampler(),
    DURABLE,
)
