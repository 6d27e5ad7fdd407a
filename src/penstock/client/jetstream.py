"""`JetStream`: nats-py's context for JetStream, and what it lacks.

It is one of nats-py's contexts, so everything written for `client.jetstream()` works with it;
publishing takes expectations by name, reads go where ADR-56 sends them, and there are counters and
batches.
"""

import asyncio
from typing import Any, Unpack

from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import KeyValueConfig, ObjectStoreConfig, PubAck, StreamConfig, StreamInfo
from nats.js.client import NO_RESPONDERS_STATUS
from nats.js.errors import Error, NoStreamResponseError
from nats.js.kv import KeyValue
from nats.js.object_store import ObjectStore

from penstock.client.batches import ACK_EVERY, Batch
from penstock.client.counters import Counters
from penstock.client.errors import CountersNotEnabledError
from penstock.client.key_value import LinearizableKeyValue
from penstock.client.object_store import LinearizableObjectStore
from penstock.client.publishing import Conditions, store, told, with_conditions
from penstock.client.reading import ReadConsistency, ReadingContext


class JetStream(ReadingContext):
    """Everything that `client.jetstream()` of nats-py has, and more.

    ```python
    connection = await nats.connect(url)
    js = client.JetStream(connection)
    await js.publish("orders.eu", b"paid", msg_id="order-7-paid", expected_stream="ORDERS")
    await connection.close()
    ```

    :param connection: a connection of nats-py; it stays yours to close.
    :param domain: the JetStream domain to speak to, if it is not the server's own.
    :param timeout: seconds to wait for an answer.
    :param linearizable_reads: whether all reads are linearizable unless they say otherwise.
    """

    async def publish(
        self,
        subject: str,
        payload: bytes = b"",
        timeout: float | None = None,
        stream: str | None = None,
        headers: dict[str, Any] | None = None,
        msg_ttl: float | None = None,
        **conditions: Unpack[Conditions],
    ) -> PubAck:
        """Stores a message and returns the stream's acknowledgement.

        `stream` and `msg_ttl` are nats-py's names for `expected_stream` and `ttl`; the other
        keyword arguments are those of `Conditions`.

        ```python
        ack = await js.publish("orders.eu", b"paid", ttl=3600, msg_id="order-7-paid")
        print(ack.stream, ack.seq, ack.duplicate)
        ```
        """
        if stream is not None:
            conditions["expected_stream"] = stream
        if msg_ttl is not None:
            conditions["ttl"] = msg_ttl
        if timeout is None:
            timeout = self._timeout
        sent = with_conditions(headers, conditions)
        return PubAck.from_response(await store(self._nc, subject, payload, sent, timeout))

    async def publish_async(
        self,
        subject: str,
        payload: bytes = b"",
        wait_stall: float | None = None,
        stream: str | None = None,
        headers: dict[str, Any] | None = None,
        msg_ttl: float | None = None,
        **conditions: Unpack[Conditions],
    ) -> asyncio.Future[PubAck]:
        """Sends a message and returns at once, with a future for the acknowledgement.

        The keyword arguments are those of `publish`.

        ```python
        waiting = [await js.publish_async("orders.eu", ttl=60) for _ in range(100)]
        print([(await ack).seq for ack in waiting][-1])
        ```
        """
        sent = with_conditions(headers, conditions)
        return await super().publish_async(
            subject, payload, wait_stall, stream, dict(sent) if sent else None, msg_ttl
        )

    async def counters(self, stream: str, *, linearizable_reads: bool | None = None) -> Counters:
        """The counters of a stream; `CountersNotEnabledError` if it has none.

        ```python
        await js.add_stream(
            name="CLICKS", subjects=["clicks.>"], allow_msg_counter=True, allow_direct=True
        )
        clicks = await js.counters("CLICKS")
        print(await clicks.add("clicks.buy", 1))
        ```

        :param linearizable_reads: whether what is loaded reflects every addition before.
        """
        info = await self.stream_info(stream)
        if not info.config.allow_msg_counter:
            raise CountersNotEnabledError(
                description=f"stream {stream} has no counters: it needs allow_msg_counter"
            )
        wanted = self._wanted(linearizable_reads)
        return Counters(self, stream, linearizable_reads=wanted)

    def batch(
        self,
        *,
        id: str | None = None,
        ack_every: int = ACK_EVERY,
        timeout: float | None = None,
    ) -> Batch:
        """A batch of messages for one stream, stored all together or not at all.

        The stream needs `allow_atomic`.

        ```python
        async with js.batch() as batch:
            await batch.publish("orders.eu", b"one")
            await batch.publish("orders.us", b"two")
        print(batch.ack.batch_size)
        ```

        :param id: at most 64 characters; a new one unless it is given.
        :param ack_every: how many messages are sent before an acknowledgement is waited for; 0
            waits only for that of the first and of the commit.
        :param timeout: seconds to wait for each of them.
        """
        return Batch(self, id=id, ack_every=ack_every, timeout=timeout)

    async def key_value(self, bucket: str, *, linearizable_reads: bool | None = None) -> KeyValue:
        """A key-value bucket that exists, as nats-py has them.

        ```python
        await js.create_key_value(bucket="COLOURS", linearizable_reads=True)
        colours = await js.key_value("COLOURS", linearizable_reads=True)
        await colours.put("sky", b"blue")
        print((await colours.get("sky")).value)
        ```

        :param linearizable_reads: whether what it reads reflects every write before.
        """
        if not self._wanted(linearizable_reads):
            return await super().key_value(bucket)
        strong = self._strong()
        return strong.linearizable_bucket(await JetStreamContext.key_value(strong, bucket))

    async def create_key_value(
        self,
        config: KeyValueConfig | None = None,
        *,
        linearizable_reads: bool | None = None,
        **params: Any,
    ) -> KeyValue:
        """Creates a key-value bucket, as nats-py does.

        ```python
        colours = await js.create_key_value(bucket="COLOURS", linearizable_reads=True)
        await colours.put("sky", b"blue")
        ```

        :param linearizable_reads: creates it with `read_consistency` `strong` and reads it so.
        """
        if not self._wanted(linearizable_reads):
            return await super().create_key_value(config, **params)
        strong = self._strong()
        bucket = await JetStreamContext.create_key_value(strong, config, **params)
        return strong.linearizable_bucket(bucket)

    async def object_store(
        self, bucket: str, *, linearizable_reads: bool | None = None
    ) -> ObjectStore:
        """An object store that exists, as nats-py has them; see `key_value`.

        ```python
        await js.create_object_store("FILES", linearizable_reads=True)
        files = await js.object_store("FILES", linearizable_reads=True)
        await files.put("readme", b"Welcome")
        print((await files.get("readme")).data)
        ```
        """
        if not self._wanted(linearizable_reads):
            return await super().object_store(bucket)
        strong = self._strong()
        return strong.linearizable_store(await JetStreamContext.object_store(strong, bucket))

    async def create_object_store(
        self,
        bucket: str | None = None,
        config: ObjectStoreConfig | None = None,
        *,
        linearizable_reads: bool | None = None,
        **params: Any,
    ) -> ObjectStore:
        """Creates an object store, as nats-py does; see `create_key_value`.

        ```python
        files = await js.create_object_store("FILES", linearizable_reads=True)
        await files.put("readme", b"Welcome")
        ```
        """
        if not self._wanted(linearizable_reads):
            return await super().create_object_store(bucket or "", config, **params)
        strong = self._strong()
        store = await JetStreamContext.create_object_store(strong, bucket or "", config, **params)
        return strong.linearizable_store(store)

    async def _handle_async_reply(self, msg: Msg) -> None:
        """In nats-py 2.16 the future of a message that is refused is never done."""
        future = self._publish_async_futures.get(msg.subject.rpartition(".")[2])
        if future is None or future.done():
            return
        if (msg.headers or {}).get("Status") == NO_RESPONDERS_STATUS:
            future.set_exception(NoStreamResponseError())
            return
        try:
            future.set_result(PubAck.from_response(told(msg)))
        except Error as error:
            future.set_exception(error)

    def _wanted(self, linearizable_reads: bool | None) -> bool:
        return self.linearizable_reads if linearizable_reads is None else linearizable_reads

    def _strong(self) -> "_StrongBuckets":
        return _StrongBuckets(
            self._nc,
            prefix=self._prefix,
            timeout=self._timeout,
            linearizable_reads=True,
            reads=self.reads,
        )


class _StrongBuckets(JetStream):
    """The context behind buckets with linearizable reads: what it creates is strong."""

    async def add_stream(
        self,
        config: StreamConfig | None = None,
        *,
        read_consistency: ReadConsistency | None = None,
        **params: Any,
    ) -> StreamInfo:
        # nats-py asks for direct reads, which `strong` decides by itself.
        config = (config or StreamConfig()).evolve(**params, allow_direct=None)
        return await super().add_stream(config, read_consistency=read_consistency or "strong")

    def linearizable_bucket(self, bucket: KeyValue) -> KeyValue:
        return LinearizableKeyValue(bucket, self.stream(bucket._stream))

    def linearizable_store(self, store: ObjectStore) -> ObjectStore:
        return LinearizableObjectStore(store, self.stream(store._stream))
