"""Columns of the kernel as Arrow batches: buffers are wrapped, nothing is made for a row."""

import pyarrow as pa

from penstock.kernel.columns import Buffers, Memory
from pyspark_jetstream.rows import HEADERS, arrow_schema

# As the kernel has them (rows.rs); behind them, if they are wanted, four of headers.
_ORDER = ("subject", "seq", "timestamp", "data", "ttl", "marker_reason", "counter_value")


_Found = list[tuple[int, Memory, list[Memory]]]
Columns = tuple[_Found, int]  # of the kernel, and how many rows


def wanted_bits(columns: tuple[str, ...]) -> int:
    """The columns that the kernel is to fill, a bit for each."""
    return sum(1 << bit for bit, name in enumerate((*_ORDER, HEADERS)) if name in columns)


class ArrowBatches:
    """Makes batches of some columns for one stream."""

    def __init__(self, stream: str, columns: tuple[str, ...]) -> None:
        self._stream = stream
        self._schema = arrow_schema(columns)

    def batch(self, columns: _Found, rows: int) -> pa.RecordBatch:
        found = [Buffers(*column) for column in columns]
        arrays = {
            name: _array(self._schema.field(name).type, rows, column)
            for name, column in zip(_ORDER, found, strict=False)
            if name in self._schema.names
        }
        if "stream" in self._schema.names:
            arrays["stream"] = pa.repeat(pa.scalar(self._stream, pa.string()), rows)
        if HEADERS in self._schema.names:
            arrays[HEADERS] = _headers(self._schema.field(HEADERS).type, rows, found[len(_ORDER) :])
        return pa.RecordBatch.from_arrays(
            [arrays[name] for name in self._schema.names], schema=self._schema
        )


def _array(kind: pa.DataType, rows: int, column: Buffers) -> pa.Array:
    validity = pa.py_buffer(column.validity) if column.nulls else None
    buffers = [validity, *map(pa.py_buffer, column.parts)]
    return pa.Array.from_buffers(kind, rows, buffers, column.nulls)


def _headers(kind: pa.MapType, rows: int, columns: list[Buffers]) -> pa.Array:
    """Maps of names to lists of values, from the inside out."""
    maps, names, lists, values = columns
    counts = [len(column.parts[0]) // 4 - 1 for column in columns]
    texts = _array(pa.string(), counts[3], values)
    offsets = [None, pa.py_buffer(lists.parts[0])]
    items = pa.Array.from_buffers(kind.item_type, counts[2], offsets, 0, children=[texts])
    keys = _array(pa.string(), counts[1], names)
    pairs = pa.StructArray.from_arrays([keys, items], fields=[kind.key_field, kind.item_field])
    offsets = [None, pa.py_buffer(maps.parts[0])]
    return pa.Array.from_buffers(kind, rows, offsets, 0, children=[pairs])
