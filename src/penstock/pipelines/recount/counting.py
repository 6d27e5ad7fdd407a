"""Counters counted again (ADR-49, "Recounts and Audit").

Every message of a counter says what it added (`Nats-Incr`) and what that came to (its value); one
that came from a source says where from (`Nats-Stream-Source`), and the last one of a counter says
what was seen of every origin so far (`Nats-Counter-Sources`). So one pass over all streams of a
tree, grouped by counter and origin, is enough:

- a counter is right if what was there before the first message that is left, and everything that
  was added since, come to its value; if no message of its stream is missing since the first that is
  left, that is all there ever was: a counter whose last message was deleted adds up as well;
- an origin is right if what was seen of it is its own value, or its value was still on the way.

Columns are added by `select`, never by `withColumn`: with Spark 4.3, that looks into the catalog
while the pipeline is defined, and a table that is left from the last run is taken for another one
than the pipeline's own.

The order of messages matters only for the first and the last of each group, so nothing is sorted,
and memory is what the groups take. Numbers are decimals of 38 digits; a counter may have more, and
is then told to be unreadable, not wrong.
"""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it

COLUMNS = (
    "stream string, subject string, seq bigint, headers map<string,array<string>>,"
    " counter_value string"
)
NUMBER = "decimal(38,0)"
SOURCES = "map<string,map<string,string>>"
EXACT = "exact"  # everything is there and adds up
PARTIAL = "partial"  # what is left adds up; the beginning is gone, or something of the stream is
BEHIND = "behind"  # the origin has gone on, and what it added will come
UNCHECKED = "unchecked"  # the origin is not there to be asked
UNPROVEN = "unproven"  # it does not add up, and messages are missing that might tell why
UNREADABLE = "unreadable"  # a message without an increment or a value, or with too long a one
MISMATCH = "mismatch"  # it does not add up
RIGHT = (EXACT, PARTIAL, BEHIND, UNCHECKED)

_COUNTER = ("stream", "subject")
_ORIGIN = ("origin_stream", "origin_subject")


def _header(name: str) -> Column:
    return F.col("headers").getItem(name).getItem(0)


def _number(text: Column) -> Column:
    return text.try_cast(NUMBER)


def contributions(messages: DataFrame) -> DataFrame:
    """What was added to every counter, by origin; one that is null was published to the stream."""
    words = F.split(F.col("source"), " ")
    rows = messages.select(
        *_COUNTER,
        "seq",
        _number(_header("Nats-Incr")).alias("increment"),
        _number(F.col("counter_value")).alias("value"),
        _header("Nats-Counter-Sources").alias("sources"),
        _header("Nats-Stream-Source").alias("source"),
    ).select(
        "*",
        F.split(words.getItem(0), ":").getItem(0).alias("origin_stream"),
        F.get(words, F.lit(4)).alias("origin_subject"),
        F.get(words, F.lit(1)).try_cast("bigint").alias("origin_seq"),
    )
    is_unreadable = F.col("increment").isNull() | F.col("value").isNull()
    return rows.groupBy(*_COUNTER, *_ORIGIN).agg(
        F.count("*").alias("messages"),
        F.count_if(is_unreadable).alias("unreadable"),
        F.min("seq").alias("first_seq"),
        F.max("seq").alias("last_seq"),
        F.min_by(F.col("value") - F.col("increment"), "seq").cast(NUMBER).alias("before"),
        F.try_sum("increment").cast(NUMBER).alias("increments"),
        F.max_by("value", "seq").alias("value"),
        F.max_by("sources", "seq").alias("sources"),
        F.max("origin_seq").alias("origin_seq"),
    )


def counters(added: DataFrame, ends: Mapping[str, int]) -> DataFrame:
    """Every counter: what is stored, what it comes to when it is counted again, and the verdict.

    `ends` has the sequence behind the last one of every stream, with or without a message.
    """
    counted = added.groupBy(*_COUNTER).agg(
        F.sum("messages").alias("messages"),
        F.sum("unreadable").alias("unreadable"),
        F.min("first_seq").alias("first_seq"),
        F.max("last_seq").alias("last_seq"),
        F.min_by("before", "first_seq").alias("carried"),
        F.try_sum("increments").cast(NUMBER).alias("increments"),
        F.max_by("value", "last_seq").alias("stored"),
        F.from_json(F.max_by("sources", "last_seq"), SOURCES).alias("sources"),
    )
    end = F.create_map(*(F.lit(part) for pair in ends.items() for part in pair))
    span = F.max(end[F.col("stream")]) - F.min("first_seq")
    gaps = counted.groupBy("stream").agg((span - F.sum("messages")).alias("gaps"))
    return (
        counted.join(F.broadcast(gaps), "stream")
        .select("*", (F.col("carried") + F.col("increments")).cast(NUMBER).alias("recounted"))
        .select(
            *_COUNTER,
            _verdict_of_counter().alias("verdict"),
            "stored",
            "recounted",
            "carried",
            "increments",
            "messages",
            "first_seq",
            "last_seq",
            "gaps",
            "sources",
        )
    )


def _verdict_of_counter() -> Column:
    is_unreadable = (F.col("unreadable") > 0) | F.col("recounted").isNull()
    return (
        F.when(is_unreadable, UNREADABLE)
        .when((F.col("recounted") != F.col("stored")) & (F.col("gaps") > 0), UNPROVEN)
        .when(F.col("recounted") != F.col("stored"), MISMATCH)
        .when((F.col("carried") != 0) | (F.col("gaps") > 0), PARTIAL)
        .otherwise(EXACT)
    )


def sources(added: DataFrame, counted: DataFrame) -> DataFrame:
    """Every origin of a counter: what was seen of it, what came from it, and what it is."""
    seen = counted.select(
        *_COUNTER, "carried", F.explode("sources").alias("origin_stream", "values")
    ).select(*_COUNTER, "carried", "origin_stream", F.explode("values").alias(_ORIGIN[1], "text"))
    came = added.select(*_COUNTER, *_ORIGIN, "increments", "origin_seq")
    origins = counted.select(
        F.col("stream").alias("origin_stream"),
        F.col("subject").alias("origin_subject"),
        F.col("stored").alias("origin_value"),
        F.col("last_seq").alias("origin_last_seq"),
    )
    return (
        seen.select("*", _number(F.col("text")).alias("seen"))
        .join(came, [*_COUNTER, *_ORIGIN], "left")
        .join(origins, [*_ORIGIN], "left")
        .select(
            *_COUNTER,
            *_ORIGIN,
            _verdict_of_origin().alias("verdict"),
            "seen",
            F.col("increments").alias("came"),
            "origin_value",
            "origin_seq",
            "origin_last_seq",
        )
    )


def _verdict_of_origin() -> Column:
    is_all_there = (F.col("carried") == 0) & F.col("increments").isNotNull()
    return (
        F.when(F.col("seen").isNull(), UNREADABLE)
        .when(is_all_there & (F.col("increments") != F.col("seen")), MISMATCH)
        .when(F.col("origin_value").isNull(), UNCHECKED)
        .when(F.col("seen") == F.col("origin_value"), EXACT)
        .when(F.col("origin_seq") < F.col("origin_last_seq"), BEHIND)
        .when(F.col("origin_seq") == F.col("origin_last_seq"), MISMATCH)
        .otherwise(UNPROVEN)
    )
