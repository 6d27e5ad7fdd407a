"""The columns of a write: their names, the types they may have, and what they mean.

Checked on the driver before any job. Columns that a read of this source has and a write has no use
for (`seq`, `timestamp`, ...) may stay, so that a stream can be copied as it is; any other unknown
column is refused, since it is a wrong name more often than not.
"""

from collections.abc import Callable

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    ByteType,
    DataType,
    DecimalType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
)

from pyspark_jetstream.sink_errors import SinkError

SUBJECT = "subject"
DATA = "data"
HEADERS = "headers"
MSG_ID = "msg_id"
TTL = "ttl"
INCREMENT = "incr"
EXPECTED = "expected_last_subject_seq"

OF_READS = frozenset({"stream", "seq", "timestamp", "marker_reason", "counter_value"})

_INTEGERS = (ByteType, ShortType, IntegerType, LongType)


def _is_text(kind: DataType) -> bool:
    return isinstance(kind, StringType)


def _is_whole(kind: DataType) -> bool:
    return isinstance(kind, _INTEGERS)


def _is_headers(kind: DataType) -> bool:
    if not isinstance(kind, MapType) or not _is_text(kind.keyType):
        return False
    values = kind.valueType
    return _is_text(values) or (isinstance(values, ArrayType) and _is_text(values.elementType))


def _is_increment(kind: DataType) -> bool:
    if isinstance(kind, DecimalType):
        return bool(kind.scale == 0)
    return _is_whole(kind) or _is_text(kind)


_COLUMNS: dict[str, tuple[Callable[[DataType], bool], str]] = {
    SUBJECT: (_is_text, "string"),
    DATA: (lambda kind: isinstance(kind, BinaryType | StringType), "binary, string"),
    HEADERS: (_is_headers, "map<string,array<string>>, map<string,string>"),
    MSG_ID: (_is_text, "string"),
    TTL: (lambda kind: _is_whole(kind) or _is_text(kind), "a whole number of seconds, string"),
    INCREMENT: (_is_increment, "a whole number, decimal(n,0), string such as +1"),
    EXPECTED: (_is_whole, "a whole number"),
}


def columns_of(schema: StructType, *, has_subject: bool) -> tuple[str, ...]:
    """The columns that will be written; raises what is wrong with them."""
    names = [field.name for field in schema.fields]
    for field in schema.fields:
        if field.name in OF_READS:
            continue
        if field.name not in _COLUMNS:
            raise SinkError(
                f"column {field.name} is not one that can be written; there are "
                f"{', '.join(f'{name} ({allowed})' for name, (_, allowed) in _COLUMNS.items())}"
            )
        fits, allowed = _COLUMNS[field.name]
        if not fits(field.dataType):
            found = field.dataType.simpleString()
            raise SinkError(f"column {field.name} is {found}; allowed: {allowed}")
        if names.count(field.name) > 1:
            raise SinkError(f"column {field.name} is there twice; drop one of them")
    if SUBJECT not in names and not has_subject:
        raise SinkError("no column subject (string), and no option subject for all rows")
    if DATA not in names and INCREMENT not in names:
        raise SinkError("no column data (binary, string) and no column incr: nothing to write")
    return tuple(name for name in names if name in _COLUMNS)
