"""Samples of acknowledgements, and what they tell about consumers.

A consumer with a `sample_freq` has the server publish, for that share of its acknowledgements, how
long the message was with the client and how often it was delivered. A stream that listens to the
subjects of these samples keeps them.

Percentiles are approximate, from sketches of bounded size: within 0.01 % of the rank, whatever the
number of samples. Those of windows cannot be put together, so those of a consumer are computed from
its samples.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it

COLUMNS = "timestamp timestamp, data binary"
TYPE = "io.nats.jetstream.metric.v1.consumer_ack"
PERCENTILES = {"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99}

_ACCURACY = 10_000
_SAMPLE = (
    "type string, timestamp string, stream string, consumer string, stream_seq bigint,"
    " ack_time bigint, deliveries bigint"
)
_CONSUMER = ("stream", "consumer")
_FIGURES = ("samples", *PERCENTILES, "max_ms", "redelivered", "deliveries_max")


def samples(messages: DataFrame) -> DataFrame:
    """What is no sample is one of no consumer: it is seen, and counts for nobody."""
    told = F.from_json(F.col("data").cast("string"), _SAMPLE)
    rows = messages.select("timestamp", told.alias("told"))
    told = F.when(F.col("told.type") == TYPE, F.col("told")).alias("told")
    return rows.select("timestamp", told).select(
        F.coalesce(F.col("told.timestamp").try_cast("timestamp"), "timestamp").alias("at"),
        *(f"told.{name}" for name in (*_CONSUMER, "stream_seq")),
        (F.col("told.ack_time") / 1e6).alias("latency_ms"),
        "told.deliveries",
    )


def latency(found: DataFrame, window: str, slow_ms: float) -> DataFrame:
    """Every window of every consumer."""
    counted = found.groupBy(F.window("at", window).alias("window"), *_CONSUMER).agg(*_figures())
    is_slow = F.coalesce(F.col("p99_ms") > slow_ms, F.lit(False))
    return counted.select(
        "window.start", "window.end", *_CONSUMER, *_FIGURES, is_slow.alias("is_slow")
    )


def consumers(found: DataFrame, windows: DataFrame) -> DataFrame:
    """Every consumer, with how many of its windows were slow, and the first and last of them."""
    whole = found.where("consumer is not null").groupBy(*_CONSUMER).agg(*_figures())
    slow_start = F.when(F.col("is_slow"), F.col("start"))
    slow_end = F.when(F.col("is_slow"), F.col("end"))
    over_time = windows.groupBy(*_CONSUMER).agg(
        F.count("*").alias("windows"),
        F.count_if("is_slow").alias("slow_windows"),
        F.min(slow_start).alias("slow_from"),
        F.max(slow_end).alias("slow_until"),
    )
    return whole.join(over_time, [*_CONSUMER])


def _figures() -> list[Column]:
    shares = F.array(*(F.lit(share) for share in PERCENTILES.values()))
    percentiles = F.percentile_approx("latency_ms", shares, _ACCURACY)
    return [
        F.count("*").alias("samples"),
        *(percentiles.getItem(at).alias(name) for at, name in enumerate(PERCENTILES)),
        F.max("latency_ms").alias("max_ms"),
        F.count_if(F.col("deliveries") > 1).alias("redelivered"),
        F.max("deliveries").alias("deliveries_max"),
    ]
