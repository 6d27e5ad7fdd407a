"""The ledger of sinkMode batch: where a retry goes on, and what it refuses to go on with."""

from collections.abc import Iterator

import pyarrow as pa
import pytest

from pyspark_jetstream.sink_errors import SinkError
from pyspark_jetstream.sink_task import Task
from tests.parity.servers import Server
from tests.spark.cut import Cut
from tests.spark.sink_bench import Bench, bench, in_order, numbered, payloads, rows

__all__ = ["bench"]  # a fixture


class KilledError(Exception):
    """Stands for the end of a task in the middle."""


def killed_after(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches
    raise KilledError


def attempt(bench: Bench, batches: Iterator[pa.RecordBatch], task: Task) -> None:
    """A task that ends in the middle, with what it had sent."""
    from pyspark_jetstream.sink import write_partition

    plan = bench.plan(numbered(1, subject=bench.name).schema, sinkMode="batch")
    with pytest.raises(KilledError):
        write_partition(plan, task, batches)


TASK = Task("query", 4, 2)


def test_a_retry_goes_on_behind_what_is_stored(bench: Bench) -> None:
    bench.create(allow_atomic=True)
    all_rows = rows(bench, 5000, pieces=10)
    attempt(bench, killed_after(all_rows[:6]), TASK)
    before = bench.ledger()
    assert 0 < before[-1]["rows"] < 3000 and not before[-1]["last"]
    written = bench.write(all_rows, task=TASK, sinkMode="batch")
    assert before[-1]["rows"] <= written.found < 3000  # a commit may have been on its way
    assert payloads(bench.stored()) == in_order(5000)
    assert bench.ledger()[-1]["rows"] == 5000 and bench.ledger()[-1]["last"]


def test_every_batch_is_as_large_as_servers_take(bench: Bench) -> None:
    bench.create(allow_atomic=True)
    bench.write(rows(bench, 2500), task=TASK, sinkMode="batch")
    assert [one["rows"] for one in bench.ledger()] == [999, 1998, 2500]


def test_large_rows_make_smaller_batches(bench: Bench) -> None:
    bench.create(allow_atomic=True)
    batch = pa.record_batch({"data": [bytes(500_000)] * 40})
    bench.write([batch], task=TASK, sinkMode="batch", subject=f"{bench.name}.a")
    assert [one["rows"] for one in bench.ledger()] == [17, 34, 40]
    assert len(bench.stored()) == 40


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda batches: batches[::-1], "content or order is different"),
        (lambda batches: [*batches, batches[0]], "there are more rows now"),
        (lambda batches: batches[:1], "there are 500 rows now"),
    ],
    ids=["another order", "more", "fewer"],
)
def test_other_rows_in_a_retry_are_an_error_not_a_loss(bench: Bench, change, told: str) -> None:  # type: ignore[no-untyped-def]
    bench.create(allow_atomic=True)
    batches = rows(bench, 1000, pieces=2)
    bench.write(batches, task=TASK, sinkMode="batch")
    with pytest.raises(SinkError, match=told):
        bench.write(change(batches), task=TASK, sinkMode="batch")
    assert payloads(bench.stored()) == in_order(1000)


def test_the_next_batch_begins_anew(bench: Bench) -> None:
    bench.create(allow_atomic=True)
    bench.write(rows(bench, 10), task=Task("query", 4, 2), sinkMode="batch")
    bench.write(rows(bench, 10), task=Task("query", 5, 2), sinkMode="batch")
    assert payloads(bench.stored()) == in_order(10) * 2


def test_a_task_of_an_older_batch_is_turned_away(bench: Bench) -> None:
    bench.create(allow_atomic=True)
    bench.write(rows(bench, 10), task=Task("query", 5, 2), sinkMode="batch")
    with pytest.raises(SinkError, match=r"is old: the ledger .* is at batch 5"):
        bench.write(rows(bench, 10), task=Task("query", 4, 2), sinkMode="batch")
    assert payloads(bench.stored()) == in_order(10)


@pytest.mark.parametrize("is_counter", [False, True], ids=["rows", "counters"])
def test_of_two_attempts_at_once_one_gets_through(bench: Bench, is_counter: bool) -> None:
    """One has read the ledger and rests; the other writes everything; then the first goes on."""
    bench.create(allow_atomic=True, allow_msg_counter=is_counter)
    batches = rows(bench, 1000, pieces=2)
    if is_counter:
        ones = pa.array([1] * 500, pa.int64())
        batches = [
            pa.record_batch({"subject": batch.column("subject"), "incr": ones}) for batch in batches
        ]

    def resting() -> Iterator[pa.RecordBatch]:
        yield batches[0]
        bench.write(batches, task=TASK, sinkMode="batch")
        yield batches[1]

    from pyspark_jetstream.sink import write_partition

    plan = bench.plan(batches[0].schema, sinkMode="batch")
    written = write_partition(plan, TASK, resting())
    assert written.rows == 1000
    assert len(bench.stored()) == 1000


def test_a_ledger_outlives_the_age_of_its_stream(bench: Bench) -> None:
    bench.create(allow_atomic=True, allow_msg_ttl=True, max_age=3600)
    bench.write(rows(bench, 10), sinkMode="batch")
    assert bench.everything()[-1].headers["Nats-TTL"] == "never"


def test_rows_do_not_get_into_the_ledger(bench: Bench) -> None:
    bench.create(allow_atomic=True)
    batch = pa.record_batch({"data": ["x"], "subject": [f"ledger.{bench.name}.query.0"]})
    with pytest.raises(SinkError, match="is one of the ledger's"):
        bench.write([batch], sinkMode="batch")


def test_a_stranger_in_the_ledger_is_told(bench: Bench) -> None:
    bench.create(allow_atomic=True)

    async def intrude(js):  # type: ignore[no-untyped-def]
        await js.publish(f"ledger.{bench.name}.query.2", b"hello")

    bench.run(intrude)
    with pytest.raises(SinkError, match="is none of its messages"):
        bench.write(rows(bench, 10), task=TASK, sinkMode="batch")


def test_a_commit_whose_answer_is_lost_is_not_repeated(bench: Bench, streaming: Server) -> None:
    bench.create(allow_atomic=True)
    with Cut(streaming.port, [("down", 10)]) as cut:
        bench.write(rows(bench, 2500), task=TASK, sinkMode="batch", url=cut.url)
        assert cut.broken == 1
    assert [one["rows"] for one in bench.ledger()] == [999, 1998, 2500]
    assert payloads(bench.stored()) == in_order(2500)
