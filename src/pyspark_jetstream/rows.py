"""What a row is: the columns of a stored message, as Spark and as Arrow name their types.

`headers` is there when it is asked for, as with Spark's Kafka source. What does not apply to a
message is null: a lifetime it has not, a reason of markers, the total of a counter. Spark does not
tell a Python source which columns a query needs, so who wants few of many rows says so with a
schema of their own.
"""

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

HEADERS = "headers"
NEVER = -1  # the ttl of a message that is to stay, however old the others may become

_HEADERS_TYPE = MapType(StringType(), ArrayType(StringType()))
_COLUMNS = (
    ("stream", StringType(), pa.string()),
    ("subject", StringType(), pa.string()),
    ("seq", LongType(), pa.int64()),
    ("timestamp", TimestampType(), pa.timestamp("us", "UTC")),
    ("data", BinaryType(), pa.binary()),
    (HEADERS, _HEADERS_TYPE, pa.map_(pa.string(), pa.list_(pa.field("element", pa.string())))),
    ("ttl", LongType(), pa.int64()),  # seconds
    ("marker_reason", StringType(), pa.string()),
    ("counter_value", StringType(), pa.string()),  # it has no bounds; cast it to what fits
)


def row_type(with_headers: bool) -> StructType:
    """What a read has if nobody chooses."""
    fields = [StructField(name, kind) for name, kind, _ in _COLUMNS]
    return StructType([field for field in fields if with_headers or field.name != HEADERS])


def arrow_schema(columns: tuple[str, ...]) -> pa.Schema:
    kinds = {name: kind for name, _, kind in _COLUMNS}
    return pa.schema([(name, kinds[name]) for name in columns])


def chosen_columns(schema: StructType) -> tuple[str, ...]:
    """The columns of a read: all, or those that `.schema(...)` names."""
    kinds = {name: kind for name, kind, _ in _COLUMNS}
    for field in schema:
        if kinds.get(field.name) != field.dataType:
            there = ", ".join(f"{name} {kind.simpleString()}" for name, kind in kinds.items())
            given = f"{field.name} {field.dataType.simpleString()}"
            raise ValueError(f"schema: there is no column {given}; there are {there}")
    return tuple(field.name for field in schema)
