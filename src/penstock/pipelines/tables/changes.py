"""Changes of a bucket, out of the messages of its stream.

A key is what its last message says: a value, or that there is none, be it a client's word
(`KV-Operation`) or the server's (`Nats-Marker-Reason`, ADR-43). A key without any message is not
there either, so what holds now can be told only from what the stream has now; which keys have gone
without a word, no feed of changes tells.

A stream moves on while it is scanned. Whoever writes a key anew removes its old message behind the
reader's back, and the new one is beyond the end that was planned: a key that is written all the
time would never be seen. So when the scan is done, somebody reads on from its end until there is
nothing more to come (`catching_up.py`), and the newest message counts.

Columns are added by `select`, never by `withColumn`: see `recount/counting.py`.
"""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it

from penstock.pipelines.tables.bucket import Bucket

_TYPES = {
    "subject": "string",
    "seq": "bigint",
    "timestamp": "timestamp",
    "data": "binary",
    "headers": "map<string,array<string>>",
    "marker_reason": "string",
}
NAMES = tuple(_TYPES)
COLUMNS = ", ".join(f"{name} {kind}" for name, kind in _TYPES.items())
PUT, DELETE, PURGE, EXPIRED = "PUT", "DEL", "PURGE", "EXPIRED"
CURRENT = ("key", "value", "revision", "created")
IS_GONE = f"operation <> '{PUT}'"
SEQUENCE = "struct(bucket_created, revision)"  # one that was created anew counts from 1

_MARKERS = {"MaxAge": EXPIRED, "Purge": PURGE, "Remove": DELETE}


def changes(messages: DataFrame, bucket: Bucket) -> DataFrame:
    """A row for each message: what has become of which key, and why, if it was the server."""
    key = F.substr(F.col("subject"), F.lit(len(bucket.prefix) + 1))
    value = F.when(F.col("operation") == PUT, F.col("data"))
    return messages.select("*", _operation().alias("operation")).select(
        key.alias("key"),
        "operation",
        F.col("marker_reason").alias("reason"),
        F.col("seq").alias("revision"),
        F.col("timestamp").alias("created"),
        value.alias("value"),
    )


def _operation() -> Column:
    """A marker for a reason that nobody knows yet is one nevertheless: the key is gone."""
    told = F.col("headers").getItem("KV-Operation").getItem(0)
    found = F.when(told.isin(DELETE, PURGE), told)
    for reason, operation in _MARKERS.items():
        found = found.when(F.col("marker_reason") == reason, operation)
    return found.when(F.col("marker_reason").isNotNull(), DELETE).otherwise(PUT)


def newest(messages: DataFrame) -> DataFrame:
    """The last one of each subject."""
    others = [name for name in NAMES if name != "subject"]
    last = F.max_by(F.struct(*others), "seq")
    return messages.groupBy("subject").agg(last.alias("last")).select("subject", "last.*")


def with_nobody(spark: SparkSession, messages: DataFrame) -> DataFrame:
    """And one of no subject: of no rows Spark may make no tasks, and nobody would read on."""
    nothing = (F.lit(None).cast(kind).alias(name) for name, kind in _TYPES.items())
    return messages.union(spark.range(1).select(*nothing))


def held(last: DataFrame) -> DataFrame:
    """The keys that there are, by the last change of each."""
    return last.where(F.col("operation") == PUT).select(*CURRENT)
