"""One stream, to read from: single messages, rows of them, the last of many subjects."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from nats.aio.client import Client
from nats.js.api import RawStreamMsg, StreamInfo

from penstock.client.subjects import stream_name

if TYPE_CHECKING:
    from penstock.client.reading import ReadingContext


class Stream:
    """A stream to read from; `JetStream.stream` makes it.

    ```python
    orders = js.stream("ORDERS")
    print((await orders.get_last_msg("orders.eu")).data)
    ```
    """

    def __init__(self, js: "ReadingContext", name: str, *, linearizable_reads: bool) -> None:
        self._js = js
        self._name = stream_name(name)
        self._linearizable_reads = linearizable_reads

    @property
    def connection(self) -> Client:
        """The nats-py connection behind it."""
        return self._js.connection

    @property
    def name(self) -> str:
        """The name of the stream."""
        return self._name

    @property
    def linearizable_reads(self) -> bool:
        """Whether its reads are linearizable unless they say otherwise."""
        return self._linearizable_reads

    async def info(self) -> StreamInfo:
        """Its configuration and state, as nats-py shows them.

        ```python
        print((await js.stream("ORDERS").info()).state.messages)
        ```
        """
        return await self._js.stream_info(self._name)

    async def read_consistency(self) -> str | None:
        """`default`, `weak` or `strong` (ADR-56); None if the server does not tell.

        ```python
        print(await js.stream("ORDERS").read_consistency())
        ```
        """
        return (await self._js.reads.access.look(self._name)).read_consistency

    async def get_msg(self, seq: int, *, linearizable: bool | None = None) -> RawStreamMsg:
        """The message with this sequence; `NotFoundError` of nats-py if there is none.

        ```python
        message = await js.stream("ORDERS").get_msg(1)
        print(message.subject, message.data, message.time)
        ```
        """
        return await self._one({"seq": seq}, linearizable)

    async def get_last_msg(self, subject: str, *, linearizable: bool | None = None) -> RawStreamMsg:
        """The last message of a subject.

        ```python
        message = await js.stream("ORDERS").get_last_msg("orders.eu")
        print(message.seq)
        ```
        """
        return await self._one({"last_by_subj": subject}, linearizable)

    async def get_next_msg(
        self, subject: str, seq: int = 1, *, linearizable: bool | None = None
    ) -> RawStreamMsg:
        """The first message of a subject, wildcards included, from a sequence on.

        ```python
        message = await js.stream("ORDERS").get_next_msg("orders.*", seq=1)
        print(message.subject)
        ```
        """
        return await self._one({"seq": seq, "next_by_subj": subject}, linearizable)

    async def get_msgs(
        self,
        subject: str = ">",
        *,
        seq: int | None = None,
        start_time: datetime | None = None,
        limit: int | None = None,
        linearizable: bool | None = None,
    ) -> AsyncIterator[RawStreamMsg]:
        """Messages in the order of their sequences, until there are no more.

        They come a thousand at a time, without a consumer.

        ```python
        async for message in js.stream("ORDERS").get_msgs("orders.>", limit=10):
            print(message.seq, message.subject, message.data)
        ```

        :param subject: which ones; wildcards are allowed.
        :param seq: the first sequence to look at.
        :param start_time: the first time to look at, instead of a sequence.
        :param limit: how many at most.
        """
        if seq is not None and start_time is not None:
            raise ValueError("seq and start_time both say where to begin: give one of them")
        request: dict[str, Any] = {"next_by_subj": subject}
        if start_time is not None:
            request["start_time"] = _rfc3339(start_time)
        else:
            request["seq"] = seq or 1
        wanted = self._wanted(linearizable)
        rows = self._js.reads.row(self._name, request, limit=limit, linearizable=wanted)
        async for message in rows:
            yield message

    async def get_last_msgs(
        self,
        subjects: Sequence[str],
        *,
        up_to_seq: int | None = None,
        up_to_time: datetime | None = None,
        linearizable: bool | None = None,
    ) -> AsyncIterator[RawStreamMsg]:
        """The last message of every subject that one of these matches; wildcards are allowed.

        ```python
        async for message in js.stream("ORDERS").get_last_msgs(["orders.>"]):
            print(message.subject, message.data)
        ```

        :param up_to_seq: as of this sequence.
        :param up_to_time: as of this time.
        """
        if isinstance(subjects, str):
            raise TypeError("subjects are a list: get_last_msgs([subject])")
        if up_to_seq is not None and up_to_time is not None:
            raise ValueError("up_to_seq and up_to_time both say when: give one of them")
        request: dict[str, Any] = {}
        if up_to_seq is not None:
            request["up_to_seq"] = up_to_seq
        if up_to_time is not None:
            request["up_to_time"] = _rfc3339(up_to_time)
        wanted = self._wanted(linearizable)
        rows = self._js.reads.last_of_each(self._name, subjects, request, linearizable=wanted)
        async for message in rows:
            yield message

    async def _one(self, request: dict[str, Any], linearizable: bool | None) -> RawStreamMsg:
        wanted = self._wanted(linearizable)
        return await self._js.reads.one(self._name, request, linearizable=wanted)

    def _wanted(self, linearizable: bool | None) -> bool:
        return self._linearizable_reads if linearizable is None else linearizable


def _rfc3339(moment: datetime) -> str:
    """Times without a zone are UTC, as nats-py takes them."""
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat().replace("+00:00", "Z")
