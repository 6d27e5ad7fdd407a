"""What a task of the sink stores, in both modes, on both servers, without Spark."""

import pyarrow as pa
import pytest

from pyspark_jetstream.sink_errors import SinkError
from pyspark_jetstream.sink_task import Task
from tests.parity.servers import Server
from tests.spark.cut import Cut
from tests.spark.sink_bench import Bench, bench, in_order, payloads, rows

__all__ = ["bench"]  # a fixture

MODES = ("msgid", "batch")


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_rows_are_stored_in_their_order(bench: Bench, mode: str) -> None:
    bench.create(allow_atomic=True)
    written = bench.write(rows(bench, 2500), sinkMode=mode)
    stored = bench.stored()
    assert payloads(stored) == in_order(2500)
    assert [one.subject for one in stored[:3]] == [f"{bench.name}.{n}" for n in range(3)]
    assert (written.mode, written.rows, written.found) == (mode, 2500, 0)


def test_a_task_that_is_run_again_adds_nothing(bench: Bench, mode: str) -> None:
    bench.create(allow_atomic=True)
    bench.write(rows(bench, 2500), sinkMode=mode)
    again = bench.write(rows(bench, 2500, pieces=5), sinkMode=mode)
    assert payloads(bench.stored()) == in_order(2500)
    assert again.found == 2500


def test_other_partitions_and_batches_are_other_rows(bench: Bench, mode: str) -> None:
    bench.create(allow_atomic=True)
    tasks = [Task("query", 0, 0), Task("query", 0, 1), Task("query", 1, 0), Task("other", 0, 0)]
    for task in tasks:
        bench.write(rows(bench, 10), task=task, sinkMode=mode)
    assert payloads(bench.stored()) == in_order(10) * 4


@pytest.mark.parametrize(
    "cuts", [[("up", 60_000)], [("down", 200)], [("up", 300_000), ("down", 90)]]
)
def test_a_broken_connection_costs_nothing_and_doubles_nothing(
    bench: Bench, streaming: Server, mode: str, cuts: list[tuple[str, int]]
) -> None:
    bench.create(allow_atomic=True)
    with Cut(streaming.port, list(cuts)) as cut:
        bench.write(rows(bench, 6000), sinkMode=mode, url=cut.url)
        assert cut.broken == len(cuts)
    assert payloads(bench.stored()) == in_order(6000)


def test_few_outstanding_acks_are_enough(bench: Bench, mode: str) -> None:
    bench.create(allow_atomic=True)
    bench.write(rows(bench, 50), sinkMode=mode, maxOutstandingAcks="3")
    assert payloads(bench.stored()) == in_order(50)


def test_the_subject_of_the_option_is_for_rows_without_one(bench: Bench, mode: str) -> None:
    bench.create(allow_atomic=True)
    subjects = [f"{bench.name}.own", None]
    batch = pa.RecordBatch.from_pydict({"subject": subjects, "data": ["a", "b"]})
    bench.write([batch], sinkMode=mode, subject=f"{bench.name}.rest")
    assert [(one.subject, one.data) for one in bench.stored()] == [
        (f"{bench.name}.own", b"a"),
        (f"{bench.name}.rest", b"b"),
    ]


def test_headers_and_lifetimes_travel(bench: Bench, mode: str) -> None:
    bench.create(allow_atomic=True, allow_msg_ttl=True)
    headers = pa.array(
        [[("Kind", ["new"]), ("Tag", ["a b"])], None], pa.map_(pa.string(), pa.list_(pa.string()))
    )
    batch = pa.record_batch(
        {"data": [b"1", b"2"], "headers": headers, "ttl": pa.array([600, -1], pa.int64())}
    )
    bench.write([batch], sinkMode=mode, subject=f"{bench.name}.a")
    first, second = bench.stored()
    assert (first.headers["Kind"], first.headers["Tag"]) == ("new", "a b")
    assert first.headers["Nats-TTL"] == "600"
    assert "Kind" not in second.headers and second.headers["Nats-TTL"] == "never"


def test_headers_may_be_single_values(bench: Bench, mode: str) -> None:
    bench.create(allow_atomic=True)
    headers = pa.array([[("Kind", "new")]], pa.map_(pa.string(), pa.string()))
    batch = pa.record_batch({"data": ["1"], "headers": headers})
    bench.write([batch], sinkMode=mode, subject=f"{bench.name}.a")
    assert bench.stored()[0].headers["Kind"] == "new"


def test_counters_are_added_to_once(bench: Bench, mode: str) -> None:
    bench.create(allow_atomic=True, allow_msg_counter=True)
    batch = pa.record_batch(
        {"subject": [f"{bench.name}.a", f"{bench.name}.a"], "incr": pa.array([5, -2], pa.int32())}
    )
    for _ in range(2):
        bench.write([batch], sinkMode=mode)
    stored = bench.stored()
    assert [one.headers["Nats-Incr"] for one in stored] == ["+5", "-2"]
    assert stored[-1].data == b'{"val":"3"}'


def test_an_expectation_that_holds_lets_a_row_in(bench: Bench, mode: str) -> None:
    bench.create(allow_atomic=True)
    batch = pa.record_batch(
        {"data": ["first"], "expected_last_subject_seq": pa.array([0], pa.int64())}
    )
    for _ in range(2):  # the second finds it there
        bench.write([batch], sinkMode=mode, subject=f"{bench.name}.a")
    assert payloads(bench.stored()) == [b"first"]


def test_an_expectation_that_held_is_not_confused_with_another_row(bench: Bench) -> None:
    bench.create()
    batch = pa.record_batch(
        {"data": ["first"], "expected_last_subject_seq": pa.array([0], pa.int64())}
    )
    bench.write([batch], subject=f"{bench.name}.a")
    with pytest.raises(SinkError, match="wrong last sequence"):
        bench.write([batch], subject=f"{bench.name}.a", task=Task("another", 0, 0))


def test_an_expectation_that_fails_is_told(bench: Bench, mode: str) -> None:
    bench.create(allow_atomic=True)
    batch = pa.record_batch(
        {"data": ["first"], "expected_last_subject_seq": pa.array([7], pa.int64())}
    )
    with pytest.raises(SinkError, match=r"partition 0 of batch 0 .* wrong last sequence"):
        bench.write([batch], sinkMode=mode, subject=f"{bench.name}.a")
    assert bench.stored() == []


def test_ids_of_rows_are_kept_over_tasks(bench: Bench) -> None:
    bench.create()
    batch = pa.record_batch({"data": ["one", "two"], "msg_id": ["order-1", None]})
    bench.write([batch], subject=f"{bench.name}.a")
    written = bench.write([batch], subject=f"{bench.name}.a", task=Task("another", 0, 0))
    assert written.found == 1
    assert payloads(bench.stored()) == [b"one", b"two", b"two"]


@pytest.mark.parametrize("empty", ["", "  "])
def test_an_id_without_a_text_is_none(bench: Bench, empty: str) -> None:
    bench.create()
    batch = pa.record_batch({"data": ["one", "two"], "msg_id": [None, empty]})
    with pytest.raises(SinkError, match=r"row 1 of .*: its msg_id is empty"):
        bench.write([batch], subject=f"{bench.name}.x")
    assert not bench.stored()


FAULTS = {
    "not a subject": ({"subject": ["a b"]}, "'a b' cannot be published to"),
    "a wildcard": ({"subject": ["{name}.*"]}, "cannot be published to"),
    "another stream's": ({"subject": ["elsewhere"]}, "'elsewhere' is none of"),
    "none": ({"subject": [None]}, "it has no subject"),
    "a line break in a header": (
        {"subject": ["{name}.a"], "headers": [[("A", "b\r\nNats-Msg-Id: 7")]]},
        "a header has a line break",
    ),
    "a header of the server's": (
        {"subject": ["{name}.a"], "headers": [[("Nats-Msg-Id", "7")]]},
        "Nats-Msg-Id, which a server acts on",
    ),
    "too large": ({"subject": ["{name}.a"], "data": [b"x" * 2_000_000]}, "more than 1048576 bytes"),
    "a ttl": ({"subject": ["{name}.a"], "ttl": [5]}, "lacks allow_msg_ttl"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_row_that_cannot_be_published_is_named(bench: Bench, mode: str, fault: str) -> None:
    bench.create(allow_atomic=True)
    given, expected = FAULTS[fault]
    columns: dict[str, pa.Array] = {"data": pa.array([b"x"])}
    for name, values in given.items():
        kind = pa.map_(pa.string(), pa.string()) if name == "headers" else None
        filled = [v.replace("{name}", bench.name) if isinstance(v, str) else v for v in values]
        columns[name] = pa.array(filled, kind or (pa.string() if name == "subject" else None))
    with pytest.raises(SinkError, match=expected):
        bench.write([pa.record_batch(columns)], sinkMode=mode)
    assert bench.stored() == []
