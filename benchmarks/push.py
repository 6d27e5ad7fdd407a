"""A push consumer to one subscriber, without acknowledgements."""

from benchmarks.consuming import SIZE, consume_benchmark
from benchmarks.publishing import LAZY

TITLE = f"push consumer, no acks, {SIZE} B"

PLAIN = consume_benchmark("push", TITLE, 3.0, LAZY, delivery="push")
FLOW_CONTROL = consume_benchmark(
    "push_flow", f"{TITLE}, flow control", None, LAZY, delivery="push-flow"
)
