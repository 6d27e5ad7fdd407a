"""A checksum of rows: of everything that is stored of them, in their order.

It is what tells a retry's rows from those that an earlier attempt has stored, so every column that
becomes a part of a message belongs to it. Each column is summed up for itself, its nulls, lengths
and contents, so where Arrow batches begin and end makes no difference, and no row becomes a Python
object. The ledger has one text made of all of them.

Ledgers were written before with four sums: contents of subjects and of data, then their lengths.
Such a one is compared as it was made.
"""

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_jetstream.sink_schema import DATA, SUBJECT

VERSION = "2:"
_TEXT_CHARACTERS = 32
_DEFAULT_SUBJECT = "subject of the options"

Told = str | tuple[int, ...]
"""As a ledger has it: of this version, or of the first."""

_Sums = tuple[int, int, int]  # of what is null, of lengths, of contents
_NOTHING: _Sums = (0, 0, 0)


@dataclass(frozen=True)
class Digest:
    """Of the rows of a partition up to one of them."""

    sums: Mapping[str, _Sums] = field(default_factory=dict)

    def over(self, columns: Mapping[str, pa.Array], default_subject: str) -> "Digest":
        """Carried on over more rows, as they are stored."""
        sums = dict(self.sums)
        for name, array in columns.items():
            for part, leaf in _parts(name, array):
                sums[part] = _summed(sums.get(part, _NOTHING), leaf)
        subjects = columns.get(SUBJECT)
        if subjects is None or subjects.null_count:
            sums[_DEFAULT_SUBJECT] = (0, 0, zlib.crc32(default_subject.encode()))
        return Digest(sums)

    def told(self) -> str:
        text = json.dumps(sorted(self.sums.items()))
        return VERSION + hashlib.sha256(text.encode()).hexdigest()[:_TEXT_CHARACTERS]

    def is_told(self, told: Told) -> bool:
        """Whether a ledger tells of the same rows."""
        if isinstance(told, str):
            return told == self.told()
        (_, *subjects), (_, *data) = (self.sums.get(name, _NOTHING) for name in (SUBJECT, DATA))
        return told == (subjects[1], data[1], subjects[0], data[0])


def _parts(name: str, array: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """A column, and what its lists and maps are made of."""
    yield name, array
    if isinstance(array, pa.ListArray | pa.LargeListArray):  # a map is a list too
        array = array.drop_null()  # there may be anything below a null
        edges = array.offsets
        first, last = edges[0].as_py(), edges[-1].as_py()
        if isinstance(array, pa.MapArray):
            yield from _parts(f"{name} names", array.keys[first:last])
            yield from _parts(f"{name} values", array.items[first:last])
        else:
            yield from _parts(f"{name} each", array.values[first:last])


def _summed(before: _Sums, array: pa.Array) -> _Sums:
    nulls, lengths, contents = before
    nulls = _crc(pc.cast(array.is_null(), pa.uint8()), nulls)
    if isinstance(array, pa.ListArray | pa.LargeListArray):
        edges = array.drop_null().offsets
        return nulls, _crc(_whole(pc.subtract(edges[1:], edges[:-1])), lengths), contents
    texts = pc.cast(array, pa.binary())
    if texts.null_count:
        texts = pc.fill_null(texts, b"")
    _, edges, content = texts.buffers()
    if content is not None and len(texts):
        ends = pa.Array.from_buffers(pa.int32(), len(texts) + 1, [None, edges], offset=texts.offset)
        contents = zlib.crc32(memoryview(content)[ends[0].as_py() : ends[-1].as_py()], contents)
    return nulls, _crc(_whole(pc.binary_length(texts)), lengths), contents


def _whole(lengths: pa.Array) -> pa.Array:
    return pc.cast(lengths, pa.int32())


def _crc(numbers: pa.Array, before: int) -> int:
    """Of numbers as they lie in memory."""
    width = numbers.type.bit_width // 8
    begin = numbers.offset * width
    content = numbers.buffers()[1]
    if content is None:
        return before
    return zlib.crc32(memoryview(content)[begin : begin + len(numbers) * width], before)
