"""Windows of a stream, and the messages or increments that they become.

A retry of a streaming batch must give the rows that it gave before, in their order, or nobody could
tell what is stored already. So numbers are decimals, since a sum of floating point numbers depends
on the order of its parts; the state is kept in RocksDB, which gives finished windows in the order
of their keys, while Spark's own store gives them as its hash table has them; and everything else
comes from the checkpoint: the sequences of a batch, the watermark and the number of partitions.

Where results are told apart by an id, it is made of the window itself.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it

from penstock.pipelines.rollup.terms import Key, Terms

COLUMNS = "subject string, timestamp timestamp, data binary"
NOTHING = "_"  # the key of messages that have none
STATE = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}

_NUMBER = "decimal(38,9)"
_WHOLE = "decimal(38,0)"
_NO_TOKEN = r"[\s\p{Cntrl}.*>]"  # what a token of a subject cannot have  # noqa: S105
_JSON = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss'Z'", "timeZone": "UTC"}


def windows(messages: DataFrame, terms: Terms, *, is_whole: bool) -> DataFrame:
    """A row for each window and key: once it is finished, where messages are read as a stream."""
    value = _value(terms.value)
    if is_whole:
        value = F.round(F.try_multiply(value, F.lit(10**terms.digits))).try_cast(_WHOLE)
    rows = messages.select(
        _key(terms.keys).alias("key"), _time(terms.time).alias("at"), value.alias("value")
    )
    return (
        rows.withWatermark("at", terms.delay)
        .groupBy(F.window("at", terms.window).alias("window"), "key")
        .agg(
            F.count("*").alias("count"),
            F.count("value").alias("values"),
            F.try_sum("value").alias("sum"),
            F.min("value").alias("min"),
            F.max("value").alias("max"),
        )
        .select("key", "window.start", "window.end", "count", "values", "sum", "min", "max")
    )


def as_messages(found: DataFrame, terms: Terms) -> DataFrame:
    """One for each window: JSON."""
    fields = [F.col(name) for name in ("key", "start", "end", "count")]
    if terms.value:
        average = F.try_divide("sum", "values").try_cast(_NUMBER)
        numbers = {name: F.col(name) for name in ("sum", "min", "max")} | {"avg": average}
        fields += [F.col("values")]
        fields += [_plain(number).alias(name) for name, number in numbers.items()]
    subject = F.lit(terms.prefix)
    if terms.keys:
        subject = F.concat_ws(".", subject, "key")
    data = F.to_json(F.struct(*fields), _JSON)
    return found.select(subject.alias("subject"), data.alias("data"), _id(terms, F.lit("")))


def as_increments(found: DataFrame, terms: Terms) -> DataFrame:
    """What each window adds to the counters of its key: how many messages, and the sum."""
    added = {"count": F.col("count").cast(_WHOLE)}
    if terms.value:
        added["sum"] = F.col("sum")
    parts = [
        F.struct(F.lit(name).alias("name"), increment.alias("incr"))
        for name, increment in added.items()
    ]
    rows = found.select("key", "start", F.explode(F.array(*parts)).alias("part"))
    tokens = [F.lit(terms.prefix), *([F.col("key")] if terms.keys else []), F.col("part.name")]
    return rows.where(F.col("part.incr").isNotNull()).select(
        F.concat_ws(".", *tokens).alias("subject"), "part.incr", _id(terms, F.col("part.name"))
    )


def _key(keys: tuple[Key, ...]) -> Column:
    return F.concat_ws(".", *(_part(key) for key in keys)) if keys else F.lit("")


def _part(key: Key) -> Column:
    if key.kind == "subject":
        return F.col("subject")
    if key.kind == "part":
        found = F.get(F.split("subject", r"\."), F.lit(int(key.place) - 1))
    else:
        found = F.regexp_replace(_field(key.place), _NO_TOKEN, NOTHING)
    return F.when(F.length(found) > 0, found).otherwise(NOTHING)


def _time(path: str) -> Column:
    """Null, and the message is in no window, where there is none."""
    if not path:
        return F.col("timestamp")
    text = _field(path)
    milliseconds = F.when(text.rlike(r"^\d{1,14}$"), text.try_cast("bigint"))
    return F.coalesce(F.timestamp_millis(milliseconds), text.try_cast("timestamp"))


def _value(path: str) -> Column:
    return (_field(path) if path else F.lit(None)).try_cast(_NUMBER)


def _field(path: str) -> Column:
    return F.get_json_object(F.col("data").cast("string"), path)


def _plain(number: Column) -> Column:
    """Without zeros at its end."""
    return number.cast("variant")


def _id(terms: Terms, part: Column) -> Column:
    moment = F.unix_micros("start").cast("string")
    return F.concat_ws("/", F.lit(terms.name), "key", moment, part).alias("msg_id")
