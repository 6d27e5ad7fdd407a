"""Where the changes of a bucket come from: read once more as a whole, or on from the last run.

What is gone by the time it is read is no fault of a scan: it holds what there is.
"""

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it

from penstock.pipelines.tables.bucket import Bucket
from penstock.pipelines.tables.catching_up import caught_up
from penstock.pipelines.tables.changes import COLUMNS, changes, newest, with_nobody


def current_changes(
    spark: SparkSession, bucket: Bucket, connection: Mapping[str, str]
) -> DataFrame:
    """The last change of each key."""
    ends = {"endingOffsets": json.dumps({bucket.stream: bucket.end}), "failOnDataLoss": "false"}
    read = spark.read.format("jetstream").options(**_what(bucket), **connection, **ends)
    scanned = newest(with_nobody(spark, read.schema(COLUMNS).load()))
    messages = caught_up(scanned, bucket, connection).where("subject is not null")
    return changes(newest(messages), bucket)


def new_changes(spark: SparkSession, bucket: Bucket, options: Mapping[str, str]) -> DataFrame:
    """Every change since the last run that the bucket still has."""
    read = spark.readStream.format("jetstream").options(**_what(bucket), **options)
    messages = read.option("startingOffsets", "earliest").schema(COLUMNS).load()
    created = F.timestamp_micros(F.lit(bucket.created_us))
    created = F.when(F.col("revision") > 0, created)  # Spark 4.3 cannot merge by what is never null
    return changes(messages, bucket).select("*", created.alias("bucket_created"))


def _what(bucket: Bucket) -> dict[str, str]:
    return {"stream": bucket.stream, "subjects": bucket.subjects, "includeHeaders": "true"}
