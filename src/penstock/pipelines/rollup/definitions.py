"""The flow of a rollup, from a stream to its target. Spark loads this file; `windows.py` has the
meaning."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

from penstock.pipelines.catalog import find
from penstock.pipelines.rollup.target import target_of
from penstock.pipelines.rollup.terms import terms_of
from penstock.pipelines.rollup.windows import COLUMNS, STATE
from penstock.pipelines.settings import Settings

spark = SparkSession.active()
pipeline = find("rollup")
assert pipeline is not None
settings = Settings(spark, pipeline)
terms = terms_of({one.name: settings[one.name] for one in pipeline.parameters})
target = target_of(settings.connection, terms, settings["sinkMode"])
# How many partitions there are stays as it was in the first run: Spark's checkpoint has it.
conf = STATE | {"spark.sql.shuffle.partitions": settings["partitions"]}
server = {name: value for name, value in settings.connection.items() if name != "storeDir"}
dp.create_sink(terms.name, "jetstream", {**server, "stream": terms.target, "sinkMode": target.mode})


@dp.append_flow(target=terms.name, name=terms.name, spark_conf=conf)
def rollup() -> DataFrame:
    options = {name: settings[name] for name in ("maxOffsetsPerTrigger", "failOnDataLoss")}
    messages = (
        spark.readStream.format("jetstream")
        .options(**settings.connection, **options)
        .option("stream", terms.stream)
        .option("subjects", terms.subjects)
        .option("startingOffsets", "earliest")
        .schema(COLUMNS)
        .load()
    )
    return target.results(messages, terms)
