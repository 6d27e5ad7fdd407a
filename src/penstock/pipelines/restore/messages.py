"""Archived messages as they are published again: without what a server would act on.

Headers of others stay, `KV-Operation` among them: a key that was deleted is deleted again. The
reason of a marker (`Nats-Marker-Reason`) stays as well: clients take the message for what it is by
it.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it

# In lower case. An id would make the target drop what it has seen, an expectation refuse what is
# not where it was, a rollup remove what was just restored; increments and lifetimes have columns;
# where a message came from, and what a counter has seen of its sources, is not true any more.
CONTROL = (
    "nats-msg-id",
    "nats-ttl",
    "nats-rollup",
    "nats-incr",
    "nats-counter-sources",
    "nats-stream-source",
    "nats-stream-identity",
    "nats-required-api-level",
)
CONTROL_STEMS = ("nats-expected-", "nats-batch-", "nats-schedule")


def published(
    rows: DataFrame, *, is_counter: bool, has_ttl: bool, id_stem: str | None
) -> DataFrame:
    """The rows that the sink gets; with a stem, each has an id that is made of its sequence."""
    headers = F.map_filter("headers", lambda name, _: ~_is_control(name)).alias("headers")
    columns: list[Column] = [F.col("subject"), headers]
    columns += [F.col("incr")] if is_counter else [F.col("data")]
    if has_ttl:
        columns += [F.col("ttl")]
    if id_stem is not None:
        columns += [F.concat(F.lit(f"{id_stem}/"), F.col("seq").cast("string")).alias("msg_id")]
    return rows.select(*columns)


def _is_control(name: Column) -> Column:
    low = F.lower(name)
    found = low.isin(*CONTROL)
    for stem in CONTROL_STEMS:
        found = found | low.startswith(stem)
    return found
