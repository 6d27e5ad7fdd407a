"""What samples have told: the consumers, the slow ones, and a plot."""

from collections.abc import Mapping

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it

from penstock.pipelines.acks.plot import draw
from penstock.pipelines.acks.terms import terms_of
from penstock.pipelines.outcome import Outcome

ROWS_SHOWN_MAX = 30

_COLUMNS = (
    *("stream", "consumer", "samples", "p50_ms", "p90_ms", "p99_ms", "max_ms"),
    *("redelivered", "deliveries_max", "windows", "slow_windows"),
)


def outcome(spark: SparkSession, values: Mapping[str, str]) -> Outcome:
    terms = terms_of(values)
    consumers = spark.read.table("acks_consumers").orderBy(F.desc("p99_ms"), "stream", "consumer")
    windows = spark.read.table("acks_latency")
    shown = consumers.limit(ROWS_SHOWN_MAX).collect()
    slow = consumers.where("slow_windows > 0")
    facts: dict[str, object] = {
        "consumers": consumers.count(),
        "slow": slow.count(),
        "unreadable": sum(row.samples for row in windows.where("consumer is null").collect()),
    }
    if terms.plot is not None and shown:
        facts["plot"] = draw(windows, shown, terms.slow_ms, terms.plot)
    return Outcome(
        _COLUMNS,
        [tuple(_rounded(row[name]) for name in _COLUMNS) for row in shown],
        is_right=facts["slow"] == 0,
        problems=[_of(row) for row in slow.limit(ROWS_SHOWN_MAX).collect()],
        facts=facts,
    )


def _rounded(value: object) -> object:
    return round(value, 3) if isinstance(value, float) else value


def _of(row: Row) -> str:
    return (
        f"{row.stream} {row.consumer}: slow in {row.slow_windows} of {row.windows} windows, "
        f"from {row.slow_from:%Y-%m-%d %H:%M:%S} to {row.slow_until:%Y-%m-%d %H:%M:%S}"
    )
