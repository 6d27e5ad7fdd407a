"""What a recount has found: the verdicts on counters and their origins, and the wrong ones."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it

from penstock.pipelines.outcome import Outcome
from penstock.pipelines.recount.counting import RIGHT

PROBLEMS_SHOWN_MAX = 20


def outcome(spark: SparkSession, _values: Mapping[str, str]) -> Outcome:
    counters = spark.read.table("recount_counters")
    sources = spark.read.table("recount_sources")
    rows = [("counter", *row) for row in _by_verdict(counters)]
    rows += [("origin", *row) for row in _by_verdict(sources)]
    wrong = sum(count for *_, verdict, count in rows if verdict not in RIGHT)
    problems = [_of_counter(row) for row in _wrong(counters)]
    problems += [_of_origin(row) for row in _wrong(sources)]
    return Outcome(
        ("what", "stream", "verdict", "count"),
        rows,
        is_right=wrong == 0,
        problems=problems[:PROBLEMS_SHOWN_MAX],
        facts={
            "counters": sum(row[3] for row in rows if row[0] == "counter"),
            "wrong": wrong,
            "missing messages": _missing(counters),
        },
    )


def _by_verdict(table: DataFrame) -> list[tuple[str, str, int]]:
    found = table.groupBy("stream", "verdict").agg(F.count("*").alias("count"))
    return [tuple(row) for row in found.orderBy("stream", "verdict").collect()]


def _missing(counters: DataFrame) -> int:
    """Of all streams, behind the first message that each still has."""
    by_stream = counters.groupBy("stream").agg(F.max("gaps").alias("gaps")).collect()
    return sum(row.gaps for row in by_stream)


def _wrong(table: DataFrame) -> list[Row]:
    found = table.where(~F.col("verdict").isin(*RIGHT)).orderBy("stream", "subject")
    rows: list[Row] = found.limit(PROBLEMS_SHOWN_MAX).collect()
    return rows


def _of_counter(row: Row) -> str:
    return (
        f"{row.stream} {row.subject}: {row.verdict}: stored {row.stored}, counted {row.recounted}"
        f" ({row.messages} messages, {row.gaps} missing in the stream)"
    )


def _of_origin(row: Row) -> str:
    return (
        f"{row.stream} {row.subject}: {row.verdict}: seen {row.seen} of {row.origin_stream}"
        f" {row.origin_subject}, which is {row.origin_value}; {row.came} came from it"
    )
