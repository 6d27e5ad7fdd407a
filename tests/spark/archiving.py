"""A driver, run as a process of its own: archives a stream as the pipeline does, in small steps.

`python -m tests.spark.archiving SERVER STREAM PATH CHECKPOINTS ROWS_PER_BATCH`

It ends when everything that was in the stream at its start is archived. Whoever starts it may kill
it at any moment and start it again.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.pipelines.archive.terms import beginning, opened
from pyspark_jetstream_archive.folder import Archive
from tests.spark.copying import session


def archived(
    spark: SparkSession,
    server: str,
    stream: str,
    path: Path,
    checkpoints: Path,
    *,
    subjects: str = ">",
    **options: str,
) -> Archive:
    """Until everything is read."""
    told = {"stream": stream, "path": str(path), "subjects": subjects}
    archive = opened({"servers": server}, told)
    name, start = beginning(archive)
    if subjects != ">":
        options["subjects"] = subjects
    (
        spark.readStream.format("jetstream")
        .options(**options)
        .option("servers", server)
        .option("stream", stream)
        .option("startingOffsets", start)
        .option("includeHeaders", "true")
        .load()
        .writeStream.format("jetstream_archive")
        .option("path", str(path))
        .option("failOnDataLoss", options.get("failOnDataLoss", "true"))
        .option("checkpointLocation", str(checkpoints / name))
        .trigger(availableNow=True)
        .start()
        .awaitTermination()
    )
    return archive


def main(server: str, stream: str, path: str, checkpoints: str, rows_per_batch: str) -> None:
    with session() as spark:
        options = {"maxOffsetsPerTrigger": rows_per_batch, "minPartitions": "2"}
        archived(spark, server, stream, Path(path), Path(checkpoints), **options)


if __name__ == "__main__":
    main(*sys.argv[1:])
