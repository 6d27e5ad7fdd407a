"""The tables of the recount. Spark loads this file; `counting.py` has the meaning."""

import json

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

from penstock.pipelines.catalog import find
from penstock.pipelines.recount import counting
from penstock.pipelines.recount.tree import ends
from penstock.pipelines.settings import Settings

spark = SparkSession.active()
pipeline = find("recount")
assert pipeline is not None
settings = Settings(spark, pipeline)
streams = ends(settings.connection, settings["stream"])


@dp.materialized_view
def recount_contributions() -> DataFrame:
    ends_at = json.dumps(streams)
    messages = settings.messages(*streams, columns=counting.COLUMNS, endingOffsets=ends_at)
    return counting.contributions(messages)


@dp.materialized_view
def recount_counters() -> DataFrame:
    return counting.counters(spark.read.table("recount_contributions"), streams)


@dp.materialized_view
def recount_sources() -> DataFrame:
    return counting.sources(
        spark.read.table("recount_contributions"), spark.read.table("recount_counters")
    )
