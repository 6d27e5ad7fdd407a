"""Runs the pipeline tables twice in one Spark, with create_auto_cdc_flow into tables in memory.

They are Spark's own, out of its tests: what AutoCDC is tested with. `test_tables_runs.py` starts
this with an address, a bucket, a folder and the jar, and says when to run again.
"""

import json
import sys
from pathlib import Path

from penstock.pipelines.catalog import find
from penstock.pipelines.running import run
from penstock.pipelines.session import session
from penstock.pipelines.tables.outcome import outcome

CATALOG = "org.apache.spark.sql.connector.catalog.SharedTablesInMemoryRowLevelOperationTableCatalog"


def main(url: str, bucket: str, folder: str, jar: str) -> None:
    pipeline = find("tables")
    assert pipeline is not None
    given = {"method": "cdc", "format": "memory", "catalog": "memory.kv"}
    values = pipeline.checked({"servers": url, "bucket": bucket} | given)
    settings = {
        "spark.jars": jar,
        "spark.sql.catalog.memory": CATALOG,
        "spark.sql.shuffle.partitions": "2",
    }
    spark = session("local[2]", Path(folder), settings)
    try:
        for _ in range(2):
            run(spark, pipeline, values, f"{Path(folder).as_uri()}/storage", lambda _event: None)
            sys.stdout.write(f"{json.dumps(outcome(spark, values).as_data())}\n")
            sys.stdout.flush()
            sys.stdin.readline()
    finally:
        spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
