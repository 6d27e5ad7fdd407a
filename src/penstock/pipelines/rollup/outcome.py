"""What the target of a rollup has now."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it

from penstock.pipelines.catalog import CONNECTION
from penstock.pipelines.outcome import Outcome
from penstock.pipelines.rollup.target import target_of
from penstock.pipelines.rollup.terms import terms_of

ROWS_SHOWN_MAX = 30


def outcome(spark: SparkSession, values: Mapping[str, str]) -> Outcome:
    terms = terms_of(values)
    connection = {one.name: values[one.name] for one in CONNECTION if values[one.name]}
    target = target_of(connection, terms, values["sinkMode"])
    results = (
        spark.read.format("jetstream")
        .options(**connection)
        .option("stream", terms.target)
        .option("subjects", f"{terms.prefix},{terms.prefix}.>")
        .schema("subject string, seq bigint, data binary, counter_value string")
        .load()
    )
    columns, table = _counters(results) if target.is_counter else _messages(results)
    rows = [tuple(row) for row in table.orderBy("subject").limit(ROWS_SHOWN_MAX).collect()]
    facts = {"target": terms.target, "subjects": table.count(), "written by": target.mode}
    return Outcome(columns, rows, facts=facts | {"checkpoint": terms.name})


def _counters(results: DataFrame) -> tuple[tuple[str, ...], DataFrame]:
    value = F.max_by("counter_value", "seq")
    found = results.groupBy("subject").agg(value.alias("value"), F.count("*").alias("windows"))
    return ("subject", "value", "windows"), found


def _messages(results: DataFrame) -> tuple[tuple[str, ...], DataFrame]:
    told = results.select(
        "subject", F.from_json(F.col("data").cast("string"), "count bigint, end string").alias("of")
    )
    found = told.groupBy("subject").agg(
        F.count("*").alias("windows"),
        F.sum("of.count").alias("messages"),
        F.max("of.end").alias("up to"),
    )
    return ("subject", "windows", "messages", "up to"), found
