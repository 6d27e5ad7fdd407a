"""The tables of samples. Spark loads this file; `latency.py` has the meaning."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

from penstock.pipelines.acks import latency
from penstock.pipelines.acks.terms import terms_of
from penstock.pipelines.catalog import find
from penstock.pipelines.settings import Settings

spark = SparkSession.active()
pipeline = find("acks")
assert pipeline is not None
settings = Settings(spark, pipeline)
terms = terms_of({one.name: settings[one.name] for one in pipeline.parameters})


@dp.materialized_view
def acks_samples() -> DataFrame:
    messages = (
        spark.read.format("jetstream")
        .options(**settings.connection)
        .option("stream", terms.stream)
        .option("subjects", terms.subjects)
        .schema(latency.COLUMNS)
        .load()
    )
    return latency.samples(messages)


@dp.materialized_view
def acks_latency() -> DataFrame:
    return latency.latency(spark.read.table("acks_samples"), terms.window, terms.slow_ms)


@dp.materialized_view
def acks_consumers() -> DataFrame:
    return latency.consumers(spark.read.table("acks_samples"), spark.read.table("acks_latency"))
