"""Counters (ADR-49): a stream in which every subject is a number that is added to.

The server does the arithmetic and answers with the sum; adding commutes, so nobody has to read
before writing. Values are Python integers of any size, text on the wire. A value alone is read
without the message's headers, which grow with a counter's sources; many values come in one request,
where the headers are needed to tell them apart.
"""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from nats.aio.client import Client
from nats.js.api import RawStreamMsg
from nats.js.errors import NotFoundError

from penstock.client.errors import CounterError, CounterNotFoundError
from penstock.client.numbers import number, signed
from penstock.client.publishing import store
from penstock.client.subjects import counter_name

if TYPE_CHECKING:
    from penstock.client.jetstream import JetStream

Sources = dict[str, dict[str, int]]

_SOURCES = "Nats-Counter-Sources"
_INCREMENT = "Nats-Incr"
_STREAM_NOT_FOUND = 10059


@dataclass(frozen=True)
class Entry:
    """A counter, and where its value comes from.

    ```python
    entry = await hits.get_entry("hits.home")
    print(entry.value, entry.sources)
    ```
    """

    subject: str
    value: int
    sources: Sources = field(default_factory=dict)
    """What each origin has contributed: `{stream: {subject: value}}`."""
    increment: int | None = None
    """What the last message has added; None if it does not say."""
    sequence: int = 0
    """Of the last message, in its stream."""
    time: datetime | None = None
    """When the last message was stored."""


class Counters:
    """The counters of one stream; `JetStream.counters` makes it.

    ```python
    hits = await js.counters("HITS")
    print(await hits.add("hits.home", 5))
    print(await hits.load("hits.home"))
    ```
    """

    def __init__(self, js: "JetStream", stream: str, *, linearizable_reads: bool = False) -> None:
        self._js = js
        self._stream = stream
        self._linearizable_reads = linearizable_reads

    @property
    def connection(self) -> Client:
        """The nats-py connection behind it."""
        return self._js.connection

    @property
    def stream(self) -> str:
        """The name of the stream."""
        return self._stream

    async def add(self, subject: str, value: int = 1, *, msg_id: str | None = None) -> int:
        """Adds to a counter, or takes from it, and returns what it comes to.

        With a `msg_id` the same addition, sent again within the stream's duplicate window, is
        not counted twice.

        ```python
        print(await hits.add("hits.home", 5))
        print(await hits.add("hits.home", -2))
        ```
        """
        ack = await self._publish(counter_name(subject), value, msg_id)
        if ack["stream"] != self._stream:
            elsewhere = f"{subject} is a counter of {ack['stream']}, not of {self._stream}"
            raise CounterError(code=400, description=f"{elsewhere}; it was added to there")
        if "val" in ack:
            return number(ack["val"])
        if ack.get("duplicate"):
            return await self.load(subject)  # of one that is not counted there is no sum
        stored = f"{ack['stream']} has stored {subject} without counting it"
        raise CounterError(code=400, description=stored)

    async def load(self, subject: str) -> int:
        """The value of one counter; `CounterNotFoundError` if there is none.

        ```python
        print(await hits.load("hits.home"))
        ```
        """
        try:
            payload = await self._js.reads.last_payload(
                self._stream, counter_name(subject), linearizable=self._linearizable_reads
            )
        except NotFoundError as error:
            raise self._missing(subject, error) from None
        return _value(subject, payload)

    async def load_multiple(self, subjects: Sequence[str]) -> AsyncIterator[tuple[str, int]]:
        """The values of many counters, as pairs of subject and value; wildcards are allowed.

        A subject that has no counter is left out. Each value is right by itself; they need not be
        of one moment.

        ```python
        async for subject, value in hits.load_multiple(["hits.>"]):
            print(subject, value)
        ```
        """
        async for message in self._last_of_each(subjects, "load_multiple"):
            yield message.subject or "", _value(message.subject or "", message.data or b"")

    async def get_entry(self, subject: str) -> Entry:
        """One counter with its sources; `CounterNotFoundError` if there is none.

        ```python
        entry = await hits.get_entry("hits.home")
        print(entry.value, entry.sources)
        ```
        """
        try:
            message = await self._js.reads.one(
                self._stream,
                {"last_by_subj": counter_name(subject)},
                linearizable=self._linearizable_reads,
            )
        except NotFoundError as error:
            raise self._missing(subject, error) from None
        return _entry(message)

    async def get_entries(self, subjects: Sequence[str]) -> AsyncIterator[Entry]:
        """Many counters with their sources; wildcards are allowed.

        ```python
        async for entry in hits.get_entries(["hits.>"]):
            print(entry.subject, entry.value, entry.sources)
        ```
        """
        async for message in self._last_of_each(subjects, "get_entries"):
            yield _entry(message)

    async def reset(self, subject: str) -> int:
        """Brings a counter to zero, and returns what it was.

        What it has is taken from it, then everything before that is purged: so streams that source
        this one follow. An addition that comes in between is kept.

        ```python
        print(await hits.reset("hits.home"))
        ```
        """
        value = await self.load(subject)
        ack = await self._publish(subject, -value, None)
        await self._js.purge_stream(self._stream, seq=ack["seq"], subject=subject)
        return value

    async def delete(self, subject: str) -> None:
        """Removes a counter with all of its history; streams that source this one keep theirs.

        ```python
        await hits.delete("hits.home")
        ```
        """
        await self._js.purge_stream(self._stream, subject=counter_name(subject))

    async def _publish(self, subject: str, value: int, msg_id: str | None) -> dict[str, Any]:
        headers = {_INCREMENT: signed(value)}
        if msg_id is not None:
            headers["Nats-Msg-Id"] = msg_id
        return await store(self._js.connection, subject, b"", headers, self._js.timeout)

    def _last_of_each(self, subjects: Sequence[str], asked: str) -> AsyncIterator[RawStreamMsg]:
        if isinstance(subjects, str):
            raise TypeError(f"subjects are a list: {asked}([{subjects!r}])")
        linearizable = self._linearizable_reads
        return self._js.reads.last_of_each(self._stream, subjects, {}, linearizable=linearizable)

    def _missing(self, subject: str, error: NotFoundError) -> NotFoundError:
        if error.err_code == _STREAM_NOT_FOUND:
            return error
        return CounterNotFoundError(
            code=404, description=f"there is no counter {subject} in {self._stream}"
        )


def _value(subject: str, payload: bytes) -> int:
    try:
        return number(json.loads(payload)["val"])
    except (ValueError, KeyError, TypeError):
        raise CounterError(description=f"{subject} holds no counter: {payload[:100]!r}") from None


def _entry(message: RawStreamMsg) -> Entry:
    headers: dict[str, Any] = message.headers or {}
    subject = message.subject or ""
    told = json.loads(headers.get(_SOURCES) or "{}")
    increment = headers.get(_INCREMENT)
    return Entry(
        subject=subject,
        value=_value(subject, message.data or b""),
        sources={
            stream: {origin: number(value) for origin, value in values.items()}
            for stream, values in told.items()
        },
        increment=None if increment is None else number(increment),
        sequence=message.seq or 0,
        time=message.time,
    )
