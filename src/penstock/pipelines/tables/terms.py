"""What becomes of a bucket: the parameters, read and checked, and the names of its tables.

Names of buckets have hyphens and both cases; those of tables, in the catalogs there are, have
neither. Where something is lost in between, or a name could be that of another bucket's history, a
digest of the bucket's name is added, so that two buckets never share a table.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.pipelines.catalog import ParameterError

SCAN, CDC = "scan", "cdc"
METHODS = (SCAN, CDC)
HISTORY = "_history"
NAME_MAX = 100  # of a table: catalogs have 128 and more, and Spark adds to it
WITHOUT_MERGE = ("parquet", "orc", "csv", "json", "text", "avro", "delta")  # decision 0015

_BUCKET = re.compile(r"[A-Za-z0-9_-]+")
_TABLE = re.compile(r"\w+", re.ASCII)
_PLACE = re.compile(r"\w+(\.\w+)*", re.ASCII)


@dataclass(frozen=True)
class Terms:
    """Of one bucket."""

    bucket: str
    current: str  # the table of what it holds
    history: str  # the table of what has happened
    method: str
    format: str

    @property
    def feed(self) -> str:
        """What is merged, for as long as the pipeline runs."""
        return f"{self.current.rpartition('.')[2]}_feed"


def terms_of(told: Mapping[str, str]) -> Terms:
    """Raises ParameterError."""
    bucket, table, place = told["bucket"], told["table"], told["catalog"]
    if not _BUCKET.fullmatch(bucket):
        allowed = "letters, digits, - and _, without the KV_ of its stream"
        raise ParameterError(f"bucket is {bucket!r}; allowed: {allowed}")
    if table and not _TABLE.fullmatch(table):
        raise ParameterError(f"table is {table!r}; allowed: letters, digits and _")
    if place and not _PLACE.fullmatch(place):
        raise ParameterError(f"catalog is {place!r}; allowed: names with dots, such as lake.kv")
    method, kind = told["method"], told["format"].lower()
    if method not in METHODS:
        raise ParameterError(f"method is {method!r}; allowed: {', '.join(METHODS)}")
    if method == CDC and kind in WITHOUT_MERGE:
        needed = "a format whose tables Spark can MERGE into (row-level operations), as iceberg's"
        raise ParameterError(f"format is {kind!r}, and method cdc needs {needed}; or method=scan")
    name = table or table_of(bucket)
    current = f"{place}.{name}" if place else name
    return Terms(bucket, current, f"{current}{HISTORY}", method, kind)


def table_of(bucket: str) -> str:
    """No two buckets have the same."""
    name = re.sub(r"\W", "_", bucket).lower()
    if name == bucket and len(name) <= NAME_MAX and not name.endswith(HISTORY):
        return f"kv_{name}"
    digest = hashlib.sha256(bucket.encode()).hexdigest()[:8]
    return f"kv_{name[:NAME_MAX]}_{digest}"
