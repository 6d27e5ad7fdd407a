"""A driver, run as a process of its own, whose Spark is a cluster or a Connect server.

`python -m tests.spark.copying_there MASTER CONTEXT CHECKPOINTS`

Writes rows to A, copies A to B as a stream, reads both as batches, and prints what it has found.
"""

import json
import sys

from pyspark.sql import DataFrame, SparkSession

ROWS = 2000


def session(master: str) -> SparkSession:
    if master.startswith("sc://"):
        return SparkSession.builder.remote(master).getOrCreate()
    return (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.executor.memory", "512m")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )


def main(master: str, context: str, checkpoints: str) -> None:
    spark = session(master)
    access = {"context": context, "minPartitions": "4"}
    rows = spark.range(0, ROWS, numPartitions=4)
    written = rows.selectExpr("concat('A.', id % 3) as subject", "string(id) as data")
    written.write.format("jetstream").option("context", context).option("stream", "A").mode(
        "append"
    ).save()
    copied = spark.readStream.format("jetstream").options(**access).option("stream", "A")
    query = (
        copied.option("startingOffsets", "earliest")
        .load()
        .selectExpr("replace(subject, 'A.', 'B.') as subject", "data")
        .writeStream.format("jetstream")
        .option("context", context)
        .option("stream", "B")
        .option("checkpointLocation", checkpoints)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    found = {}
    for stream in ("A", "B"):
        read = spark.read.format("jetstream").options(**access).option("stream", stream).load()
        found[stream] = figures(read)
    sys.stdout.write(json.dumps(found))
    spark.stop()


def figures(messages: DataFrame) -> list[int]:
    """How many there are, how many different ones, and their sum."""
    numbers = messages.selectExpr("int(string(data)) as number")
    row = numbers.selectExpr("count(*)", "count(distinct number)", "sum(number)").first()
    assert row is not None
    return [*row]


if __name__ == "__main__":
    main(*sys.argv[1:])
