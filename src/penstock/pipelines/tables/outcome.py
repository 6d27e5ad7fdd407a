"""What a bucket holds now and what has happened to it, in a few figures."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it

from penstock.pipelines.catalog import CONNECTION
from penstock.pipelines.outcome import Outcome
from penstock.pipelines.tables.bucket import bucket_of
from penstock.pipelines.tables.changes import DELETE, EXPIRED, PURGE, PUT
from penstock.pipelines.tables.feed import current_changes
from penstock.pipelines.tables.terms import CDC, Terms, terms_of

ROWS_SHOWN_MAX = 10
VALUE_SHOWN_MAX = 60

_COLUMNS = ("key", "revision", "created", "value")
_TIME = "%Y-%m-%d %H:%M:%S"
_WORDS = {PUT: "puts", DELETE: "deletes", PURGE: "purges", EXPIRED: "expired"}


def outcome(spark: SparkSession, values: Mapping[str, str]) -> Outcome:
    """The keys that were changed last, and how many there are of everything."""
    terms = terms_of(values)
    connection = {one.name: values[one.name] for one in CONNECTION if values[one.name]}
    bucket = bucket_of(connection, terms.bucket)
    current = spark.read.table(terms.current)
    shown = current.orderBy(F.desc("revision")).limit(ROWS_SHOWN_MAX).collect()
    facts: dict[str, object] = {"bucket": terms.bucket, "keys": current.count()}
    facts |= _happened(spark.read.table(terms.history))
    facts |= {"table": terms.current, "history": terms.history}
    problems = []
    if terms.method == CDC:
        gone = stale(current, current_changes(spark, bucket, connection)).count()
        problems = [_of(gone, terms)] if gone else []
    return Outcome(
        _COLUMNS,
        [(row.key, row.revision, f"{row.created:{_TIME}}", _text(row.value)) for row in shown],
        is_right=not problems,
        problems=problems,
        facts=facts,
    )


def stale(current: DataFrame, last: DataFrame) -> DataFrame:
    """Rows that no later run would take away: their revision has gone without a word."""
    revisions = last.select("key", F.col("revision").alias("there"))
    is_gone = F.col("there").isNull() | (F.col("there") < F.col("revision"))
    return current.join(revisions, "key", "left").where(is_gone).select("key", "revision")


def _happened(history: DataFrame) -> dict[str, object]:
    """Changes by operation, and how many revisions were gone before they were seen."""
    counts = {
        word: F.count_if(F.col("operation") == operation) for operation, word in _WORDS.items()
    }
    seen = history.groupBy("bucket_created").agg(
        *(count.alias(word) for word, count in counts.items()),
        F.count("*").alias("seen"),
        F.max("revision").alias("newest"),
    )
    rows = seen.orderBy("bucket_created").collect()
    facts: dict[str, object] = {word: sum(row[word] for row in rows) for word in counts}
    newest, seen_last = (rows[-1].newest, rows[-1].seen) if rows else (0, 0)
    return facts | {"newest revision": newest, "unseen revisions": newest - seen_last}


def _of(gone: int, terms: Terms) -> str:
    return (
        f"{gone} keys of {terms.current} are not in the bucket as they are here: their revisions "
        "have gone without a marker (age, purge, deletion), which no feed of changes tells. "
        f"spark-pipelines run --full-refresh {terms.current} makes the table anew, as does "
        "method=scan each time"
    )


def _text(value: bytes) -> str:
    """A value as people read it."""
    try:
        text = bytes(value).decode()
    except UnicodeDecodeError:
        return f"{len(value)} bytes"
    text = "".join(one if one.isprintable() else " " for one in text)
    return text if len(text) <= VALUE_SHOWN_MAX else f"{text[:VALUE_SHOWN_MAX]}..."
