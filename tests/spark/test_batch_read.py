"""Batch reads through the protocol: the same rows from penstock and from the reference."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from tests.parity.servers import Server
from tests.spark.streams import (
    ANSWER_SECONDS_MAX,
    Published,
    api,
    connected,
    make,
    numbered,
    publish,
)

if TYPE_CHECKING:
    from nats.aio.client import Client
    from pyspark.sql import DataFrame, SparkSession

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def load(spark: "SparkSession", server: Server, **options: str) -> "DataFrame":
    reader = spark.read.format("jetstream").option("servers", server.url)
    return reader.options(**options).load()


def sequences(frame: "DataFrame") -> list[int]:
    return sorted(row.seq for row in frame.select("seq").collect())


def delete(server: Server, stream: str, *removed: int) -> None:
    for sequence in removed:
        api(server, f"STREAM.MSG.DELETE.{stream}", {"seq": sequence})


def test_every_column(spark: "SparkSession", streaming: Server, name: str) -> None:
    make(streaming, name, allow_msg_ttl=True)
    own = {"A": "b", "Nats-TTL": "1h", "Nats-Sequence": "99"}
    publish(streaming, [Published(f"{name}.a", b"\x00\xff", own), Published(f"{name}.b.c")])
    frame = load(spark, streaming, stream=name, includeHeaders="true")
    first, second = sorted(frame.collect(), key=lambda row: row.seq)
    assert (first.stream, first.subject, first.seq) == (name, f"{name}.a", 1)
    assert bytes(first.data) == b"\x00\xff"
    assert first.headers == {"A": ["b"], "Nats-TTL": ["1h"], "Nats-Sequence": ["99"]}
    assert (first.ttl, first.marker_reason, first.counter_value) == (3600, None, None)
    stored = frame.where(f"timestamp = timestamp'{moment_of(streaming, name, 1)}'")
    assert 1 in sequences(stored)  # it is cut to microseconds, as the other one may be
    assert (second.subject, bytes(second.data), second.headers) == (f"{name}.b.c", b"", {})
    assert second.ttl is None


def test_headers_are_there_when_they_are_asked_for(
    spark: "SparkSession", streaming: Server, name: str
) -> None:
    make(streaming, name)
    publish(streaming, [Published(f"{name}.a", b"x", {"A": "b"})])
    assert "headers" not in load(spark, streaming, stream=name).columns
    assert [row.data for row in load(spark, streaming, stream=name).collect()] == [b"x"]


def test_counters_have_values(spark: "SparkSession", streaming: Server, name: str) -> None:
    make(streaming, name, allow_msg_counter=True)
    publish(streaming, [Published(f"{name}.a", headers={"Nats-Incr": n}) for n in ("+5", "-7")])
    rows = load(spark, streaming, stream=name).orderBy("seq").collect()
    assert [row.counter_value for row in rows] == ["5", "-2"]


def test_many_messages_in_many_partitions(
    spark: "SparkSession", streaming: Server, name: str
) -> None:
    make(streaming, name)
    publish(streaming, numbered(name, 5000))
    delete(streaming, name, 2, 3, 2500, 5000)
    frame = load(spark, streaming, stream=name, minPartitions="3")
    assert frame.rdd.getNumPartitions() == 3
    rows = frame.selectExpr("seq", "cast(cast(data as string) as long) as number").collect()
    assert sorted(row.seq for row in rows) == [
        seq for seq in range(1, 5000) if seq not in (2, 3, 2500)
    ]
    assert all(row.seq == row.number for row in rows)


def test_subjects_are_filtered_and_none_comes_twice(
    spark: "SparkSession", streaming: Server, name: str
) -> None:
    make(streaming, name)
    publish(streaming, [Published(f"{name}.{one}") for one in ("a.x", "b.x", "a.y", "c.z", "b.y")])
    several = f"{name}.a.*, {name}.*.x, {name}.a.x"
    assert sequences(load(spark, streaming, stream=name, subjects=several)) == [1, 2, 3]
    assert sequences(load(spark, streaming, stream=name, subjects=f"{name}.b.>")) == [2, 5]
    assert sequences(load(spark, streaming, stream=name, subjects=f"{name}.none")) == []


def test_several_streams_and_an_empty_one(
    spark: "SparkSession", streaming: Server, name: str
) -> None:
    for suffix in "ABC":
        make(streaming, name + suffix)
    publish(streaming, numbered(f"{name}A", 3) + numbered(f"{name}B", 2))
    rows = load(spark, streaming, stream=f"{name}A,{name}B,{name}C").collect()
    assert sorted((row.stream[-1], row.seq) for row in rows) == [
        ("A", 1), ("A", 2), ("A", 3), ("B", 1), ("B", 2)
    ]  # fmt: skip
    assert load(spark, streaming, stream=f"{name}C").count() == 0


def test_from_and_to_sequences(spark: "SparkSession", streaming: Server, name: str) -> None:
    make(streaming, name)
    publish(streaming, numbered(name, 10))

    def read(**options: str) -> list[int]:
        return sequences(load(spark, streaming, stream=name, **options))

    assert read(startingOffsets=f'{{"{name}": 4}}', endingOffsets=f'{{"{name}": 7}}') == [4, 5, 6]
    assert read(startingOffsets=f'{{"{name}": -2}}', endingOffsets=f'{{"{name}": -1}}') == [
        *range(1, 11)
    ]
    assert read(startingOffsets=f'{{"{name}": 11}}') == []
    assert read(asOfSequence="3") == [1, 2, 3]


def test_from_and_to_times(spark: "SparkSession", streaming: Server, name: str) -> None:
    make(streaming, name)
    for count in (2, 1, 3):  # what comes together is stored at the same time
        publish(streaming, numbered(name, count))
    middle = moment_of(streaming, name, 3)

    def read(**options: str) -> list[int]:
        return sequences(load(spark, streaming, stream=name, **options))

    assert read(asOfTimestamp=middle)[-1] in (2, 3)  # it is cut to microseconds
    assert read(endingTimestamp=middle)[-1] == 2
    assert read(startingTimestamp=middle)[0] == 3
    assert read(startingTimestamp="2999-01-01T00:00:00Z") == []
    assert read(endingTimestamp="1999-01-01T00:00:00Z") == []
    assert read(asOfTimestamp="2999-01-01T00:00:00Z") == [1, 2, 3, 4, 5, 6]


def moment_of(server: Server, stream: str, sequence: int) -> str:
    told = api(server, f"STREAM.MSG.GET.{stream}", {"seq": sequence})
    whole, _, fraction = told["message"]["time"].removesuffix("Z").partition(".")
    return f"{whole}.{fraction.ljust(6, '0')[:6]}Z"


def test_filters_are_pushed_down(spark: "SparkSession", streaming: Server, name: str) -> None:
    make(streaming, name)
    publish(streaming, numbered(name, 9))
    publish(streaming, numbered(name, 11, 10))
    spark.conf.set(PUSHDOWN, "true")
    try:
        frame = load(spark, streaming, stream=name)
        assert sequences(frame.where("seq > 3 and seq <= 6")) == [4, 5, 6]
        assert sequences(frame.where(f"subject = '{name}.even' and seq < 7")) == [2, 4, 6]
        assert sequences(frame.where(f"subject like '{name}.od%' and seq < 7")) == [1, 3, 5]
        assert sequences(frame.where("seq in (2, 19)")) == [2, 19]
        assert sequences(frame.where("seq in (2, null, 19)")) == [2, 19]
        assert sequences(frame.where(f"subject in ('{name}.odd', null) and seq < 4")) == [1, 3]
        assert sequences(frame.where("stream = 'nothing'")) == []
        middle = moment_of(streaming, name, 10)
        assert sequences(frame.where(f"timestamp >= '{middle}'"))[0] <= 10
        assert sequences(frame.where(f"timestamp < '{middle}'"))[-1] <= 10
        for ever in ("timestamp > timestamp'0001-01-01'", "timestamp < timestamp'9999-12-31'"):
            assert len(sequences(frame.where(ever))) == 20
        assert sequences(frame.where("timestamp > timestamp'9999-12-31'")) == []
        assert sequences(frame.where("timestamp < timestamp'0001-01-02'")) == []
        plan = explained(frame.where("seq > 3"))
        assert "Filter " not in plan, plan  # Spark has nothing left to look at
    finally:
        spark.conf.unset(PUSHDOWN)
    assert sequences(load(spark, streaming, stream=name).where("seq > 18")) == [19, 20]


def explained(frame: "DataFrame") -> str:
    query: Any = frame._jdf.queryExecution()
    return str(query.executedPlan().toString())


def test_data_that_is_gone_is_a_failure(
    spark: "SparkSession", streaming: Server, name: str
) -> None:
    make(streaming, name)
    publish(streaming, numbered(name, 6))
    api(streaming, f"STREAM.PURGE.{name}", {"seq": 4})
    start = {"startingOffsets": f'{{"{name}": 2}}'}
    with pytest.raises(Exception, match=r"its first message is 4 now; failOnDataLoss=false"):
        load(spark, streaming, stream=name, **start).count()
    assert sequences(load(spark, streaming, stream=name, failOnDataLoss="false", **start)) == [
        4, 5, 6
    ]  # fmt: skip
    with pytest.raises(Exception, match=r"its last message is 6"):
        load(spark, streaming, stream=name, startingOffsets=f'{{"{name}": 9}}').count()


def test_what_is_wrong_is_told_before_a_job(
    spark: "SparkSession", streaming: Server, name: str, tmp_path: Path
) -> None:
    make(streaming, name, allow_direct=False)
    publish(streaming, numbered(name, 3))
    with pytest.raises(Exception, match=r"option mode: 'fast' cannot be; allowed: auto, protocol"):
        load(spark, streaming, stream=name, mode="fast")
    with pytest.raises(Exception, match=rf"stream {name} has no allow_direct"):
        load(spark, streaming, stream=name).count()
    # As well where files are read: the newest messages are in no file yet.
    told = rf"NotReadableError: stream {name} has no allow_direct.* --allow-direct"
    with pytest.raises(Exception, match=told):
        load(spark, streaming, stream=name, mode="blocks", storeDir=str(tmp_path)).count()
    with pytest.raises(Exception, match=rf"no stream '{name}x'; there are"):
        load(spark, streaming, stream=f"{name}x").count()
    nowhere = spark.read.format("jetstream").option("servers", "nats://127.0.0.1:1")
    with pytest.raises(Exception, match=r"no server answers at .*127.0.0.1:1"):
        nowhere.option("stream", name).load().count()
    make(streaming, f"{name}D")
    with pytest.raises(Exception, match=r"asOfSequence: '9' cannot be"):
        load(spark, streaming, stream=f"{name}D", asOfSequence="9").count()


def test_strong_ends_come_from_the_leader(
    spark: "SparkSession", penstock_streaming: Server, name: str
) -> None:
    make(penstock_streaming, name, read_consistency="strong", allow_direct=False)
    publish(penstock_streaming, numbered(name, 3))
    frame = load(spark, penstock_streaming, stream=name, readConsistency="strong")
    assert sequences(frame) == [1, 2, 3]
    delete(penstock_streaming, name, 3)
    assert sequences(frame) == [1, 2]
    behind = {"readConsistency": "strong", "startingOffsets": f'{{"{name}": 4}}'}
    assert sequences(load(spark, penstock_streaming, stream=name, **behind)) == []


def test_strong_ends_where_there_are_none(
    spark: "SparkSession", streaming: Server, name: str
) -> None:
    make(streaming, name)
    publish(streaming, numbered(name, 3))
    with pytest.raises(Exception, match=r"readConsistency: strong: stream .* read_consistency"):
        load(spark, streaming, stream=name, readConsistency="strong").count()


def test_markers_have_reasons(spark: "SparkSession", penstock_streaming: Server, name: str) -> None:
    make(penstock_streaming, name, subject_delete_marker_ttl=60_000_000_000)
    publish(penstock_streaming, numbered(name, 1))
    delete(penstock_streaming, name, 1)
    (row,) = load(spark, penstock_streaming, stream=name).collect()
    assert (row.seq, row.marker_reason, row.ttl) == (2, "Remove", 60)


def test_nothing_is_left_on_the_server(spark: "SparkSession", streaming: Server, name: str) -> None:
    make(streaming, name)
    publish(streaming, numbered(name, 50))
    assert load(spark, streaming, stream=name).limit(3).count() == 3

    async def consumers(client: "Client") -> int:
        js = client.jetstream(timeout=ANSWER_SECONDS_MAX)
        return (await js.stream_info(name)).state.consumer_count

    assert connected(streaming, consumers) == 0
