"""The checksum of rows in the ledger: it covers all that is stored of them, and their order."""

import json
import struct
import zlib
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from penstock.client import JetStream
from pyspark_jetstream.sink_digest import Digest
from pyspark_jetstream.sink_errors import SinkError
from pyspark_jetstream.sink_ledger import HEADER
from pyspark_jetstream.sink_task import Task
from tests.spark.sink_bench import Bench, bench, in_order, numbered, payloads, rows

__all__ = ["bench"]  # a fixture

TASK = Task("query", 4, 2)
DIFFERENT = "content or order is different"

LISTS = pa.map_(pa.string(), pa.list_(pa.string()))
COLUMNS: dict[str, pa.Array] = {
    "subject": pa.array(["a", None, "b", "cc", "d", None], pa.string()),
    "data": pa.array([b"1", b"", None, b"4444", b"5", b"6"], pa.binary()),
    "ttl": pa.array([None, "1h", None, "never", "2", None], pa.string()),
    "headers": pa.array(
        [None, [], [("K", ["v", "w"])], [("K", None), ("L", [])], None, [("M", [None, "x"])]],
        LISTS,
    ),
    "plain": pa.array(
        [[("K", "v")], None, [("K", None)], [], [("A", "b"), ("C", "d")], None],
        pa.map_(pa.string(), pa.string()),
    ),
}


def summed(columns: dict[str, pa.Array], edges: tuple[int, ...], subject: str = "s") -> str:
    digest = Digest()
    for first, last in pairwise(edges):
        digest = digest.over({name: all_[first:last] for name, all_ in columns.items()}, subject)
    return digest.told()


def test_where_batches_begin_makes_no_difference() -> None:
    whole = summed(COLUMNS, (0, 6))
    for edges in [(0, 1, 2, 3, 4, 5, 6), (0, 3, 6), (0, 0, 5, 6), (0, 1, 4, 6)]:
        assert summed(COLUMNS, edges) == whole


def test_what_lies_below_a_null_makes_no_difference() -> None:
    shown = pa.array(["a", None, "c"], pa.string())
    bits, offsets, content = pa.array(["a", "b", "c"], pa.string()).buffers()
    assert bits is None
    hiding = pa.StringArray.from_buffers(3, offsets, content, shown.buffers()[0], 1)
    assert hiding.equals(shown)
    assert summed({"data": hiding}, (0, 3)) == summed({"data": shown}, (0, 3))


@pytest.mark.parametrize("name", COLUMNS)
def test_every_value_counts_and_so_does_its_row(name: str) -> None:
    def changed(places: list[int]) -> str:
        return summed({**COLUMNS, name: COLUMNS[name].take(pa.array(places))}, (0, 6))

    whole = summed(COLUMNS, (0, 6))
    assert changed([0, 1, 2, 3, 4, 5]) == whole
    for places in ([1, 0, 2, 3, 4, 5], [0, 1, 3, 2, 4, 5], [0, 1, 2, 3, 4, 4], [3, 1, 2, 0, 4, 5]):
        assert changed(places) != whole


def test_the_subject_of_the_options_counts_where_rows_have_none() -> None:
    assert summed(COLUMNS, (0, 6), "s") != summed(COLUMNS, (0, 6), "t")
    with_all = {**COLUMNS, "subject": pa.array(["a"] * 6)}
    assert summed(with_all, (0, 6), "s") == summed(with_all, (0, 6), "t")


def counters(bench: Bench, increments: list[str]) -> pa.RecordBatch:
    subjects = [f"{bench.name}.total"] * len(increments)
    return pa.record_batch({"subject": subjects, "incr": increments})


def test_increments_in_another_order_are_an_error_not_a_wrong_total(bench: Bench) -> None:
    """Of two groups one is stored: the rest of another order adds up to something else."""
    bench.create(allow_atomic=True, allow_msg_counter=True)
    first = [str(number) for number in range(1, 2001)]
    broken = [*first[:1499], "x", *first[1500:]]
    with pytest.raises(SinkError, match="refused by stream"):
        bench.write([counters(bench, broken)], task=TASK, sinkMode="batch")
    assert bench.ledger()[-1]["rows"] == 999
    with pytest.raises(SinkError, match=DIFFERENT):
        bench.write([counters(bench, first[::-1])], task=TASK, sinkMode="batch")
    assert len(bench.stored()) == 999
    bench.write([counters(bench, first)], task=TASK, sinkMode="batch")
    assert json.loads(bench.stored()[-1].data)["val"] == str(2000 * 2001 // 2)


def with_column(name: str, values: list[Any], kind: pa.DataType) -> Callable[[Bench], Any]:
    return lambda bench: numbered(2, subject=bench.name).append_column(name, pa.array(values, kind))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (with_column("ttl", [60, 90], pa.int64()), with_column("ttl", [90, 60], pa.int64())),
        (with_column("ttl", [60, None], pa.int64()), with_column("ttl", [None, 60], pa.int64())),
        (
            with_column("headers", [[("K", ["v"])], [("K", ["w"])]], LISTS),
            with_column("headers", [[("K", ["w"])], [("K", ["v"])]], LISTS),
        ),
        (
            with_column("headers", [[("K", ["v", "w"])], []], LISTS),
            with_column("headers", [[("K", ["v"]), ("K", ["w"])], []], LISTS),
        ),
        (
            with_column("expected_last_subject_seq", [0, None], pa.int64()),
            with_column("expected_last_subject_seq", [None, 0], pa.int64()),
        ),
    ],
    ids=["ttl", "a null ttl", "headers", "lists of headers", "expectations"],
)
def test_a_retry_with_other_columns_is_an_error(
    bench: Bench, before: Callable[[Bench], Any], after: Callable[[Bench], Any]
) -> None:
    bench.create(allow_atomic=True, allow_msg_ttl=True)
    bench.write([before(bench)], task=TASK, sinkMode="batch")
    with pytest.raises(SinkError, match=DIFFERENT):
        bench.write([after(bench)], task=TASK, sinkMode="batch")
    assert bench.write([before(bench)], task=TASK, sinkMode="batch").found == 2
    assert len(bench.stored()) == 2


def say(bench: Bench, digest: Any) -> None:
    """A ledger as another version has written it: 1000 rows of `numbered` are stored."""
    told = json.dumps({"batch": 4, "rows": 1000, "digest": digest, "last": True})

    async def program(js: JetStream) -> None:
        await js.publish(f"ledger.{bench.name}.query.2", b"", headers={HEADER: told})

    bench.run(program)


def test_a_ledger_of_the_first_version_is_compared_as_it_was_made(bench: Bench) -> None:
    bench.create(allow_atomic=True)
    batch = numbered(1000).append_column("subject", pa.array([f"{bench.name}.a"] * 1000))
    say(bench, first_version(batch))
    assert bench.write([batch], task=TASK, sinkMode="batch").found == 1000
    with pytest.raises(SinkError, match=DIFFERENT):
        bench.write([batch.take(pa.array(range(999, -1, -1)))], task=TASK, sinkMode="batch")
    assert payloads(bench.stored()) == in_order(0)


def first_version(batch: pa.RecordBatch) -> list[int]:
    """Contents of subjects and of data, then their lengths, as four bytes each."""
    texts = [
        [value if isinstance(value, bytes) else value.encode() for value in column]
        for column in (batch.column("subject").to_pylist(), batch.column("data").to_pylist())
    ]
    contents = [zlib.crc32(b"".join(column)) for column in texts]
    sizes = [
        zlib.crc32(b"".join(struct.pack("<i", len(value)) for value in column)) for column in texts
    ]
    return [*contents, *sizes]


def test_a_ledger_of_a_later_version_is_told(bench: Bench) -> None:
    bench.create(allow_atomic=True)
    say(bench, "3:what nobody knows")
    with pytest.raises(SinkError, match="a later version of this sink"):
        bench.write(rows(bench, 10), task=TASK, sinkMode="batch")
