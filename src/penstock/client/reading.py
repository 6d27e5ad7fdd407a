"""Streams as nats-py's context has them, with the reads of ADR-56: by the rules, and linearizable.

`get_msg` and `get_last_msg` are what nats-py's own buckets read with; a context whose reads are
linearizable makes theirs so.
"""

import json
from typing import Any, Literal

from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import DEFAULT_PREFIX, RawStreamMsg, StreamConfig, StreamInfo

from penstock.client.access import DEFAULT
from penstock.client.errors import LinearizableReadsNotEnabledError, api_error
from penstock.client.reads import Reads
from penstock.client.stream import Stream
from penstock.client.subjects import stream_name

ReadConsistency = Literal["default", "weak", "strong"]

_INVALID_JSON = 10025  # so a server refuses a field that it does not know


class ReadingContext(JetStreamContext):
    """nats-py's context with reads as ADR-56 has them; programs use `JetStream`, which is one."""

    def __init__(
        self,
        connection: Client,
        *,
        prefix: str = DEFAULT_PREFIX,
        domain: str | None = None,
        timeout: float = 5,
        linearizable_reads: bool = False,
        reads: Reads | None = None,
    ) -> None:
        super().__init__(connection, prefix=prefix, domain=domain, timeout=timeout)
        self.linearizable_reads = linearizable_reads
        self.reads = reads or Reads(connection, self._prefix, timeout)

    @property
    def connection(self) -> Client:
        """The nats-py connection behind it."""
        return self._nc

    @property
    def timeout(self) -> float:
        """Seconds to wait for an answer."""
        return self._timeout

    async def get_msg(
        self,
        stream_name: str,
        seq: int | None = None,
        subject: str | None = None,
        direct: bool | None = False,
        next: bool | None = False,
        *,
        linearizable: bool | None = None,
    ) -> RawStreamMsg:
        """A stored message: by its sequence, the last of a subject, or the next of one.

        Which of the server's APIs it asks is decided by the stream's configuration, as ADR-56 has
        it; `direct=True` does not look at that and asks for a direct read.

        ```python
        message = await js.get_msg("ORDERS", 1)
        print(message.subject, message.data)
        ```

        :param linearizable: whether the answer must reflect every write before it, wherever the
            client is connected; `LinearizableReadsNotEnabledError` if the stream does not allow it.
        """
        request: dict[str, Any] = {}
        if next:
            request = {"seq": seq or 1, "next_by_subj": subject}
        elif subject:
            request = {"last_by_subj": subject}
        elif seq:
            request = {"seq": seq}
        wanted = self.linearizable_reads if linearizable is None else linearizable
        return await self.reads.one(stream_name, request, linearizable=wanted, direct=bool(direct))

    async def get_last_msg(
        self,
        stream_name: str,
        subject: str,
        direct: bool | None = False,
        *,
        linearizable: bool | None = None,
    ) -> RawStreamMsg:
        """The last message of a subject; see `get_msg`.

        ```python
        message = await js.get_last_msg("ORDERS", "orders.eu")
        print(message.seq)
        ```
        """
        return await self.get_msg(
            stream_name, subject=subject, direct=direct, linearizable=linearizable
        )

    async def add_stream(
        self,
        config: StreamConfig | None = None,
        *,
        read_consistency: ReadConsistency | None = None,
        **params: Any,
    ) -> StreamInfo:
        """Creates a stream; what nats-py takes, and `read_consistency` (ADR-56).

        ```python
        await js.add_stream(name="LEDGER", subjects=["ledger.>"], read_consistency="strong")
        ```
        """
        return await self._configure("CREATE", config, read_consistency, params)

    async def update_stream(
        self,
        config: StreamConfig | None = None,
        *,
        read_consistency: ReadConsistency | None = None,
        **params: Any,
    ) -> StreamInfo:
        """Changes a stream; without `read_consistency` that stays as it is.

        ```python
        await js.add_stream(name="BOOK", subjects=["book.>"])
        await js.update_stream(name="BOOK", subjects=["book.>"], read_consistency="strong")
        ```
        """
        return await self._configure("UPDATE", config, read_consistency, params)

    def stream(self, name: str, *, linearizable_reads: bool | None = None) -> Stream:
        """A stream to read from.

        ```python
        await js.add_stream(name="LEDGER", subjects=["ledger.>"], read_consistency="strong")
        ledger = js.stream("LEDGER", linearizable_reads=True)
        await js.publish("ledger.eu", b"+100")
        print((await ledger.get_last_msg("ledger.eu")).data)
        ```

        :param linearizable_reads: whether its reads are linearizable unless they say otherwise.
        """
        wanted = self.linearizable_reads if linearizable_reads is None else linearizable_reads
        return Stream(self, name, linearizable_reads=wanted)

    async def _configure(
        self,
        verb: str,
        config: StreamConfig | None,
        read_consistency: ReadConsistency | None,
        params: dict[str, Any],
    ) -> StreamInfo:
        config = (config or StreamConfig()).evolve(**params)
        self.reads.access.forget(config.name or "")
        if read_consistency is None:
            plain = super().add_stream if verb == "CREATE" else super().update_stream
            return await plain(config)
        fields = {**config.as_dict(), "read_consistency": read_consistency}
        subject = f"{self._prefix}.STREAM.{verb}.{stream_name(config.name or '')}"
        payload = json.dumps(fields).encode()
        answer = await self._nc.request(subject, payload, timeout=self._timeout)
        told = json.loads(answer.data)
        error = told.get("error", {})
        if error and error.get("err_code") != _INVALID_JSON:
            raise api_error(error)
        if told.get("config", {}).get("read_consistency", DEFAULT) != read_consistency:
            why = f"the server does not know read_consistency {read_consistency!r}"
            if error:
                why = f"{why}: {error.get('description')}"
            raise LinearizableReadsNotEnabledError(config.name or "", why)
        info: StreamInfo = StreamInfo.from_response(told)
        return info
