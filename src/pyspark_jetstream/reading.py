"""Reads one partition, wherever it is: Arrow batches out of block files or from the server.

`auto` takes the files where this process can see them and asks the server otherwise; either way the
server is asked for what the files lack. A thread reads ahead, two batches and no more, so that the
server never waits for Spark with half an answer.
"""

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from pyspark_jetstream.arrow_batches import ArrowBatches, Columns, wanted_bits
from pyspark_jetstream.block_files import NoFilesError, StreamFolder, find_folder, scan
from pyspark_jetstream.connection import Connection
from pyspark_jetstream.data_loss import DataLossError, check_read
from pyspark_jetstream.direct_reader import DirectReader
from pyspark_jetstream.options import ReadOptions
from pyspark_jetstream.ranges import Range
from pyspark_jetstream.stream_facts import look

BATCHES_AHEAD = 2
_LOG = logging.getLogger(__name__)

_Queue = asyncio.Queue[Columns | Exception | None]


def read_range(
    options: ReadOptions, columns: tuple[str, ...], part: Range
) -> Iterator[pa.RecordBatch]:
    batches = ArrowBatches(part.stream, columns)
    for found, rows in _columns(options, wanted_bits(columns), part):
        yield batches.batch(found, rows)


def _columns(options: ReadOptions, wanted: int, part: Range) -> Iterator[Columns]:
    folder = _folder(options, part)
    if folder is not None:
        reached = [part.start]
        yield from scan(folder, part, wanted, reached)
        if reached[0] >= part.end:
            return
        if part.is_offline:
            missing = f"stream {part.stream}: sequence {reached[0]} is not in its files"
            raise DataLossError(f"{missing}: penstock doctor says what is wrong with them")
        part = replace(part, start=reached[0])
    yield from _from_server(options, wanted, part)


def _folder(options: ReadOptions, part: Range) -> StreamFolder | None:
    if options.mode == "protocol" or part.removed is None:
        return None
    try:
        return find_folder(options.store_dir, part.stream, part.created)
    except NoFilesError as problem:
        if options.mode == "blocks":
            raise
        _LOG.info("mode auto reads through the server: %s", problem)
        return None


def _from_server(options: ReadOptions, wanted: int, part: Range) -> Iterator[Columns]:
    with Connection(options.connection, patience=True) as connection:
        reader = DirectReader(connection, wanted, part.is_counter)
        ahead: _Queue = asyncio.Queue(BATCHES_AHEAD)
        reading = connection.start(_read(reader, part, ahead))
        try:
            while (found := connection.run(ahead.get())) is not None:
                if isinstance(found, Exception):
                    raise found
                yield found
        finally:
            reading.cancel()
        check_read(options, part, look(connection, part.stream), reader)


async def _read(reader: DirectReader, part: Range, ahead: _Queue) -> None:
    try:
        await reader.open()
        async for columns in reader.columns(part):
            await ahead.put(columns)
        await ahead.put(None)
    except Exception as error:  # belongs to whoever takes the batches
        await ahead.put(error)
