"""A place to try the sink without Spark: a stream, tasks that write to it, what is stored then.

A task of the sink needs a plan, who it is, and Arrow batches; Spark only brings these. So most of
what the sink promises is tried here, in milliseconds, and tests with Spark show that it is wired
up.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import pyarrow as pa
import pytest
from nats.js.api import AckPolicy, ConsumerConfig
from pyspark.sql.pandas.types import from_arrow_schema

from penstock import client
from penstock.client import JetStream
from pyspark_jetstream.options import sink_options
from pyspark_jetstream.sink import Written, write_partition
from pyspark_jetstream.sink_ledger import HEADER
from pyspark_jetstream.sink_plan import Plan, plan_of
from pyspark_jetstream.sink_schema import columns_of
from pyspark_jetstream.sink_task import Task
from tests.parity.servers import Server
from tests.spark.streams import ANSWER_SECONDS_MAX

T = TypeVar("T")
TASK = Task("query", 0, 0)
PROGRAM_SECONDS_MAX = 300.0


@dataclass(frozen=True)
class Stored:
    """A message of the stream."""

    seq: int
    subject: str
    data: bytes
    headers: dict[str, str]


@pytest.fixture
def bench(streaming: Server, name: str) -> "Bench":
    """A stream that is not made yet, on either server."""
    return Bench(streaming.url, name)


class Bench:
    """One stream on a server, written to by name."""

    def __init__(self, url: str, name: str) -> None:
        self.url = url
        self.name = name

    def create(self, **config: Any) -> None:
        config.setdefault("subjects", [f"{self.name}.>", f"ledger.{self.name}.>"])

        async def program(js: JetStream) -> None:
            await js.add_stream(name=self.name, **config)

        self.run(program)

    def run(self, program: Callable[[JetStream], Awaitable[T]]) -> T:
        async def connected() -> T:
            async with patient(self.url) as js:
                return await program(js)

        return asyncio.run(asyncio.wait_for(connected(), PROGRAM_SECONDS_MAX))

    def plan(self, schema: pa.Schema, url: str = "", **options: str) -> Plan:
        given = {
            "servers": url or self.url,
            "stream": self.name,
            "ledgerSubject": f"ledger.{self.name}",
            **options,
        }
        parsed = sink_options({name: value for name, value in given.items() if value})
        spark_schema = from_arrow_schema(schema)
        return plan_of(parsed, columns_of(spark_schema, has_subject=bool(parsed.subject)))

    def write(
        self,
        batches: Iterable[pa.RecordBatch],
        *,
        task: Task = TASK,
        url: str = "",
        **options: str,
    ) -> Written:
        """One attempt of a task; the plan is made by way of the server itself."""
        held = list(batches)
        plan = self.plan(held[0].schema, **options)
        if url:
            connection = sink_options({"servers": url}).connection
            plan = Plan(**{**vars(plan), "connection": connection})
        return write_partition(plan, task, iter(held))

    def stored(self) -> list[Stored]:
        """Everything but the ledger, in the order of the stream."""
        return [one for one in self.everything() if HEADER not in one.headers]

    def everything(self) -> list[Stored]:
        async def program(js: JetStream) -> list[Stored]:
            info = await js.stream_info(self.name)
            count = info.state.messages
            if not count:
                return []
            reader = ConsumerConfig(ack_policy=AckPolicy.NONE)
            pull = await js.pull_subscribe("", stream=self.name, config=reader)
            found: list[Stored] = []
            while len(found) < count:
                for message in await pull.fetch(min(1000, count - len(found)), ANSWER_SECONDS_MAX):
                    seq = message.metadata.sequence.stream
                    headers = message.headers or {}
                    found.append(Stored(seq, message.subject, message.data, headers))
            return found

        return self.run(program)

    def ledger(self) -> list[dict[str, Any]]:
        return [
            json.loads(one.headers[HEADER]) for one in self.everything() if HEADER in one.headers
        ]


def patient(url: str) -> AbstractAsyncContextManager[JetStream]:
    """A client that waits for a loaded machine."""
    seconds = ANSWER_SECONDS_MAX
    return client.connect(url, timeout=seconds, connect_timeout=seconds)


def rows(bench: Bench, count: int, pieces: int = 3) -> list[pa.RecordBatch]:
    """In Arrow batches whose sizes do not fit the groups of the sink."""
    edges = [count * piece // pieces for piece in range(pieces + 1)]
    return [
        numbered(last - first, first=first, subject=bench.name) for first, last in pairwise(edges)
    ]


def in_order(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


def numbered(count: int, *, first: int = 0, subject: str = "") -> pa.RecordBatch:
    """Rows whose payload is their number."""
    numbers = range(first, first + count)
    columns: dict[str, list[Any]] = {"data": [b"%d" % number for number in numbers]}
    if subject:
        columns["subject"] = [f"{subject}.{number % 7}" for number in numbers]
    return pa.RecordBatch.from_pydict(columns)


def payloads(stored: list[Stored]) -> list[bytes]:
    return [one.data for one in stored]
