"""The flow of an archive, from a stream to its folder. Spark loads this file; `folder.py` has the
meaning."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

from penstock.pipelines.archive.terms import EVERY, beginning, opened, session_of
from penstock.pipelines.catalog import find
from penstock.pipelines.settings import Settings
from pyspark_jetstream_archive.source import FORMAT

spark = SparkSession.active()
pipeline = find("archive")
assert pipeline is not None
settings = Settings(spark, pipeline)
folder = opened(
    settings.connection, {name: settings[name] for name in ("stream", "path", "subjects")}
)
run, start = beginning(folder)
told = {"failOnDataLoss": settings["failOnDataLoss"], "session": session_of(spark)}
dp.create_sink(run, FORMAT, {"path": str(folder.path), **told})


@dp.append_flow(target=run, name=run)
def archive() -> DataFrame:
    names = ("maxOffsetsPerTrigger", "maxBytesPerTrigger", "failOnDataLoss")
    options = {name: settings[name] for name in names}
    if settings["subjects"] != EVERY:
        options["subjects"] = settings["subjects"]
    return (
        spark.readStream.format("jetstream")
        .options(**settings.connection, **options)
        .option("stream", settings["stream"])
        .option("startingOffsets", start)
        .option("includeHeaders", "true")
        .load()
    )
