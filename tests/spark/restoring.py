"""A driver, run as a process of its own: restores an archive as the pipeline does, in small steps.

`python -m tests.spark.restoring SERVER PATH TARGET CHECKPOINTS ROWS_PER_BATCH`

Whoever starts it may kill it at any moment and start it again with the same checkpoints.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.pipelines.catalog import find
from penstock.pipelines.restore.messages import published
from penstock.pipelines.restore.target import Target, target_of
from penstock.pipelines.restore.terms import Terms, terms_of
from tests.spark.copying import OUTSTANDING_ACKS, session


def told(path: Path, target: str, **parameters: str) -> Terms:
    pipeline = find("restore")
    assert pipeline is not None
    return terms_of(pipeline.checked({"path": str(path), "target": target} | parameters))


def restored(
    spark: SparkSession,
    server: str,
    terms: Terms,
    checkpoints: Path,
    rows_per_batch: int = 100,
) -> Target:
    """Until everything is published."""
    target = target_of({"servers": server}, terms)
    rows = (
        spark.readStream.format("jetstream_archive")
        .options(**{name: value for name, value in terms.chosen.items() if value})
        .option("path", str(terms.path))
        .option("maxOffsetsPerTrigger", rows_per_batch)
        .option("increments", str(target.is_counter).lower())
        .load()
    )
    messages = published(
        rows, is_counter=target.is_counter, has_ttl=target.has_ttl, id_stem=target.id_stem
    )
    (
        messages.writeStream.format("jetstream")
        .options(**target.options)
        .option("maxOutstandingAcks", OUTSTANDING_ACKS)
        .option("checkpointLocation", str(checkpoints / terms.name(target.archive)))
        .trigger(availableNow=True)
        .start()
        .awaitTermination()
    )
    return target


def main(server: str, path: str, target: str, checkpoints: str, rows_per_batch: str) -> None:
    with session() as spark:
        restored(spark, server, told(Path(path), target), Path(checkpoints), int(rows_per_batch))


if __name__ == "__main__":
    main(*sys.argv[1:])
