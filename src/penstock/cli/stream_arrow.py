"""A stream as a table of Arrow batches, read from the server while they are used.

A thread has the connection and reads ahead, a few batches and no more; whoever scans the table
takes them. Every scan reads the stream again, up to the message that was the last one at the
beginning: so a table may be used twice in one statement, and no message has to be kept. Memory is
what a few batches take, however long the stream is.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import Future
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.cli.access import Access
from penstock.cli.connecting import explained, run, stream_info

if TYPE_CHECKING:
    from nats.js.api import RawStreamMsg

    from penstock.client import JetStream

SCHEMA = pa.schema(
    [
        ("seq", pa.int64()),
        ("timestamp", pa.timestamp("us")),  # UTC
        ("subject", pa.string()),
        ("data", pa.string()),  # null if it is no text
        ("payload", pa.binary()),
        ("headers", pa.map_(pa.string(), pa.string())),
    ]
)
BATCH_ROWS = 8192
BATCH_BYTES = 4 << 20
_BATCHES_AHEAD = 3
_REQUEST_BYTES = 4 << 20  # of one answer of the server
_PLACE = {  # what a direct read adds to a message's own headers
    "Nats-Stream",
    "Nats-Subject",
    "Nats-Sequence",
    "Nats-Last-Sequence",
    "Nats-Num-Pending",
    "Nats-Time-Stamp",
    "Nats-UpTo-Sequence",
}


@dataclass(frozen=True)
class Part:
    """Which messages of a stream."""

    stream: str
    subject: str = ">"
    seq: int = 1
    start_time: str = ""  # instead of a sequence
    last_per_subject: bool = False


class StreamTable:
    """What DuckDB, and everything else that takes Arrow streams, can read from."""

    def __init__(self, access: Access, part: Part, advance: Callable[[int, int | None], None]):
        self._access = access
        self._part = part
        self._advance = advance
        self._rows = 0
        self._js: JetStream | None = None
        self._over: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connected: Future[None] = Future()
        self._thread = threading.Thread(target=self._serve, name="penstock-query", daemon=True)
        self.info: dict[str, Any] = {}
        self.failure: Exception | None = None  # of a scan, as it was before DuckDB retold it

    def __enter__(self) -> "StreamTable":
        self._thread.start()
        self._connected.result()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._loop is not None and self._over is not None:
            with suppress(RuntimeError):  # it has ended by itself
                self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    def __arrow_c_schema__(self) -> object:
        return SCHEMA.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        del requested_schema  # there is one
        reader = pa.RecordBatchReader.from_batches(SCHEMA, self._scan())
        return reader.__arrow_c_stream__()

    def _serve(self) -> None:
        """The thread of the connection."""

        async def connected(js: "JetStream") -> None:
            self.info = await stream_info(js, self._part.stream)
            self._js, self._over, self._loop = js, asyncio.Event(), asyncio.get_running_loop()
            self._connected.set_result(None)
            await self._over.wait()

        try:
            run(self._access, connected)
        except BaseException as error:  # for whoever waits
            self._connected.set_exception(error)

    def _scan(self) -> Iterator[pa.RecordBatch]:
        """One pass over the stream."""
        assert self._loop is not None, "not connected"
        ahead: asyncio.Queue[pa.RecordBatch | Exception | None] = asyncio.Queue(_BATCHES_AHEAD)
        reading = asyncio.run_coroutine_threadsafe(self._read(ahead), self._loop)
        try:
            while True:
                batch = asyncio.run_coroutine_threadsafe(ahead.get(), self._loop).result()
                if batch is None:
                    return
                if isinstance(batch, Exception):
                    self.failure = batch
                    raise batch
                self._rows += batch.num_rows
                self._advance(self._rows, self.info["state"]["messages"])
                yield batch
        finally:
            reading.cancel()

    async def _read(self, ahead: "asyncio.Queue[pa.RecordBatch | Exception | None]") -> None:
        try:
            async with aclosing(self._messages()) as messages:
                builder = _Builder()
                async for message in messages:
                    builder.add(message)
                    if builder.is_full:
                        await ahead.put(builder.batch())
                        builder = _Builder()
                if builder.rows:
                    await ahead.put(builder.batch())
            await ahead.put(None)
        except Exception as error:  # belongs to whoever scans
            assert self._js is not None, "not connected"
            await ahead.put(await explained(error, self._js))

    async def _messages(self) -> "AsyncGenerator[RawStreamMsg, None]":
        assert self._js is not None, "not connected"
        part, last = self._part, self.info["state"]["last_seq"]
        if part.last_per_subject:
            request = {"up_to_seq": last} if last and self._is_direct else {}
            rows = self._js.reads.last_of_each(part.stream, [part.subject], request)
        else:
            asked: dict[str, Any] = {"next_by_subj": part.subject, "max_bytes": _REQUEST_BYTES}
            asked |= {"start_time": part.start_time} if part.start_time else {"seq": part.seq}
            if not self._is_direct:
                del asked["max_bytes"]
            rows = self._js.reads.row(part.stream, asked)
        async with aclosing(rows) as messages:
            async for message in messages:
                if (message.seq or 0) > last:
                    return
                yield message

    @property
    def _is_direct(self) -> bool:
        config = self.info["config"]
        consistent = config.get("read_consistency", "default") != "default"
        return bool(config.get("allow_direct")) or consistent


class _Builder:
    """Messages on their way into one batch."""

    def __init__(self) -> None:
        self._columns: tuple[list[Any], ...] = tuple([] for _ in SCHEMA)
        self._bytes = 0

    @property
    def rows(self) -> int:
        return len(self._columns[0])

    @property
    def is_full(self) -> bool:
        return self.rows >= BATCH_ROWS or self._bytes >= BATCH_BYTES

    def add(self, message: "RawStreamMsg") -> None:
        payload = message.data or b""
        headers = message.headers or {}
        own = [(name, value) for name, value in headers.items() if name not in _PLACE]
        time = None if message.time is None else message.time.replace(tzinfo=None)
        row = (message.seq, time, message.subject, _text(payload), payload, own)
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)
        self._bytes += len(payload) + 100

    def batch(self) -> pa.RecordBatch:
        columns = zip(self._columns, SCHEMA.types, strict=True)
        arrays = [pa.array(column, kind) for column, kind in columns]
        return pa.record_batch(arrays, schema=SCHEMA)


def _text(payload: bytes) -> str | None:
    try:
        return payload.decode()
    except UnicodeDecodeError:
        return None
