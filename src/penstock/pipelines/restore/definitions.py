"""The flow of a restore, from an archive to a stream. Spark loads this file; `messages.py` has the
meaning."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

from penstock.pipelines.catalog import find
from penstock.pipelines.restore.messages import published
from penstock.pipelines.restore.target import target_of
from penstock.pipelines.restore.terms import terms_of
from penstock.pipelines.settings import Settings
from pyspark_jetstream_archive.source import FORMAT

spark = SparkSession.active()
pipeline = find("restore")
assert pipeline is not None
settings = Settings(spark, pipeline)
terms = terms_of({one.name: settings[one.name] for one in pipeline.parameters})
target = target_of(settings.connection, terms)
run = terms.name(target.archive)
dp.create_sink(run, "jetstream", dict(target.options))


@dp.append_flow(target=run, name=run)
def restore() -> DataFrame:
    rows = (
        spark.readStream.format(FORMAT)
        .options(**{name: value for name, value in terms.chosen.items() if value})
        .option("path", str(terms.path))
        .option("maxOffsetsPerTrigger", settings["maxOffsetsPerTrigger"])
        .option("increments", str(target.is_counter).lower())
        .load()
    )
    return published(
        rows,
        is_counter=target.is_counter,
        has_ttl=target.has_ttl,
        id_stem=target.id_stem,
    )
