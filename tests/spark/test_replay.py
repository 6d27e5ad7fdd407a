"""A batch that is run again is cut as it was, whatever the stream has become meanwhile."""

import pytest

pytest.importorskip("pyspark")

from pyspark_jetstream import ranges
from pyspark_jetstream.options import stream_read_options
from pyspark_jetstream.rows import row_type
from pyspark_jetstream.stream_reader import StreamReader
from tests.parity.servers import Server
from tests.spark.streams import Published, make, publish


def cuts(server: Server, name: str, end: int) -> list[tuple[int, int]]:
    """By a reader of its own, as after a restart."""
    options = {"servers": server.url, "stream": name, "startingOffsets": "earliest"}
    reader = StreamReader(stream_read_options(options), row_type(with_headers=False))
    try:
        start = reader.initialOffset()
        there = {name: {"seq": end, "created": start[name]["created"]}}
        return [(part.start, part.end) for part in reader.partitions(start, there)]
    finally:
        reader.stop()


def test_larger_messages_do_not_cut_what_was_read_before_into_more(
    streaming: Server, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "PARTITION_BYTES", 400_000)
    make(streaming, name)
    publish(streaming, [Published(f"{name}.a", b"small")] * 90)
    before = cuts(streaming, name, 91)
    publish(streaming, [Published(f"{name}.a", bytes(400_000))] * 20)
    assert cuts(streaming, name, 91) == before == [(1, 91)]
