"""A driver, run as a process of its own: copies a stream to others, each in a mode of the sink.

`python -m tests.spark.copying SERVER SOURCE CHECKPOINTS ROWS_PER_BATCH TARGET:MODE ...`

It ends when everything that was in the source at its start is copied. Whoever starts it may kill
it at any moment and start it again with the same checkpoints.
"""

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.functions import concat, lit, split

OUTSTANDING_ACKS = "16"  # few: kills shall find partitions that are stored in part
MASTER = "local[2,8]"  # a task is tried 8 times: its workers are killed too


def session() -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    return (
        SparkSession.builder.master(MASTER)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.memory", "1g")
        .getOrCreate()
    )


def main(
    server: str, source: str, checkpoints: str, rows_per_batch: str, targets: list[str]
) -> None:
    with session() as spark:
        queries = []
        for target in targets:
            name, mode = target.split(":")
            rows = (
                spark.readStream.format("jetstream")
                .option("servers", server)
                .option("stream", source)
                .option("startingOffsets", "earliest")
                .option("maxOffsetsPerTrigger", rows_per_batch)
                .option("minPartitions", "2")
                .load()
            )
            subject = concat(lit(f"{name}."), split("subject", "\\.")[1])
            queries.append(
                rows.select(subject.alias("subject"), "data")
                .writeStream.format("jetstream")
                .option("servers", server)
                .option("stream", name)
                .option("sinkMode", mode)
                .option("ledgerSubject", f"ledger.{name}")
                .option("maxOutstandingAcks", OUTSTANDING_ACKS)
                .option("checkpointLocation", str(Path(checkpoints) / name))
                .trigger(availableNow=True)
                .start()
            )
        for query in queries:
            query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:5], sys.argv[5:])
