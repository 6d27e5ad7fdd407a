"""The tables of a bucket. Spark loads this file; `changes.py` has the meaning."""

from collections.abc import Callable
from typing import cast

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

from penstock.pipelines.catalog import find
from penstock.pipelines.settings import Settings
from penstock.pipelines.tables.bucket import bucket_of
from penstock.pipelines.tables.changes import CURRENT, IS_GONE, SEQUENCE, held
from penstock.pipelines.tables.feed import current_changes, new_changes
from penstock.pipelines.tables.terms import CDC, terms_of

Decorated = Callable[..., Callable[[Callable[[], DataFrame]], None]]

spark = SparkSession.active()
pipeline = find("tables")
assert pipeline is not None
settings = Settings(spark, pipeline)
terms = terms_of({one.name: settings[one.name] for one in pipeline.parameters})
bucket = bucket_of(settings.connection, terms.bucket)
options = settings.connection | {
    name: settings[name] for name in ("maxOffsetsPerTrigger", "failOnDataLoss")
}

dp.create_streaming_table(terms.history, format=terms.format)


@dp.append_flow(target=terms.history, name=terms.history)
def history() -> DataFrame:
    return new_changes(spark, bucket, options)


if terms.method == CDC:

    @dp.temporary_view(name=terms.feed)
    def feed() -> DataFrame:
        return new_changes(spark, bucket, options)

    dp.create_streaming_table(terms.current, format=terms.format)
    dp.create_auto_cdc_flow(
        terms.current,
        terms.feed,
        keys=["key"],
        sequence_by=SEQUENCE,
        apply_as_deletes=IS_GONE,
        column_list=[*CURRENT],
    )
else:
    # Defined out here: Spark looks at the columns of what is mapped, and may not do so inside.
    found = held(current_changes(spark, bucket, settings.connection))
    view = cast(Decorated, dp.materialized_view)  # its types leave out the format

    @view(name=terms.current, format=terms.format)
    def current() -> DataFrame:
        return found
