"""Atomic batches (ADR-50): messages that are stored all together, or not at all.

Every message carries the batch's id and its number in it. The first is a request, so that a server
or stream without batches says so at once; of the others every n-th is one, which keeps a fast
publisher behind its server and shows early that a batch is lost. The one that commits is answered
with the acknowledgement of the whole. After an error the server has dropped the batch, so nothing
more is sent.

A commit with a message of its own is one message less on the wire; without one, `eob` says that
there is none. Discarding leaves a gap in the numbers, which makes the server drop the batch at once
rather than after its ten seconds.
"""

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import NoRespondersError, TimeoutError
from nats.js.api import PubAck
from nats.js.errors import NoStreamResponseError

from penstock.client.errors import BatchClosedError, BatchesNotEnabledError
from penstock.client.publishing import Conditions, told, with_conditions

if TYPE_CHECKING:
    from penstock.client.jetstream import JetStream

ACK_EVERY = 100  # messages; a tenth of the largest batch
_ID = "Nats-Batch-Id"
_SEQUENCE = "Nats-Batch-Sequence"
_COMMIT = "Nats-Batch-Commit"
_WITH_MESSAGE = "1"
_WITHOUT_MESSAGE = "eob"
_LEVEL = "Nats-Required-Api-Level"
_LEVEL_OF_EOB = "3"
_GAP = 3  # after what is counted one more may be on its way; any number beyond it is a gap


class Batch:
    """One batch; `JetStream.batch` makes it.

    Leaving the `async with` block commits, an exception discards:

    ```python
    async with js.batch() as batch:
        await batch.publish("orders.eu", b"one")
        await batch.publish("orders.us", b"two")
    print(batch.ack.batch_size, batch.ack.seq)
    ```
    """

    def __init__(
        self,
        js: "JetStream",
        *,
        id: str | None = None,
        ack_every: int = ACK_EVERY,
        timeout: float | None = None,
    ) -> None:
        if ack_every < 0:
            raise ValueError(f"ack_every is {ack_every}: 0 asks for none, n for every n-th message")
        self._connection = js.connection
        self._id = id or self._connection.new_inbox().rpartition(".")[2]
        self._ack_every = ack_every
        self._timeout = js.timeout if timeout is None else timeout
        self._size = 0
        self._subject = ""  # of the last message
        self._ended = ""  # why it takes no more messages
        self._is_at_server = False  # which may hold messages of it
        self._ack: PubAck | None = None
        self._turn = asyncio.Lock()  # the numbers must arrive in order, whoever publishes

    @property
    def connection(self) -> Client:
        """The nats-py connection it is published on."""
        return self._connection

    @property
    def id(self) -> str:
        """What its messages have in common; the acknowledgement has it as `batch_id`."""
        return self._id

    @property
    def size(self) -> int:
        """How many messages it has so far."""
        return self._size

    @property
    def is_open(self) -> bool:
        """Whether it takes more messages."""
        return not self._ended

    @property
    def ack(self) -> PubAck:
        """The acknowledgement of the commit: `batch_size` messages, the last of them at `seq`."""
        if self._ack is None:
            raise BatchClosedError("the batch is not committed")
        return self._ack

    async def publish(
        self,
        subject: str,
        payload: bytes = b"",
        *,
        headers: dict[str, Any] | None = None,
        **conditions: Unpack[Conditions],
    ) -> None:
        """Puts a message into the batch; it is stored when the batch is committed.

        The keyword arguments are those of `Conditions`. Returns when it is sent; the first
        message, and every `ack_every`-th, when the server has taken it.

        ```python
        async with js.batch(ack_every=10) as batch:
            for number in range(25):
                await batch.publish("orders.eu", str(number).encode())
        ```
        """
        async with self._turn:
            sent = self._numbered(with_conditions(headers, conditions))
            number = self._size + 1
            if number == 1 or (self._ack_every and number % self._ack_every == 0):
                answer = await self._ask(subject, payload, sent)
                if answer.data:
                    self._refused(answer)
            else:
                await self._connection.publish(subject, payload, headers=sent)
            self._size = number
            self._subject = subject

    async def commit(
        self,
        subject: str | None = None,
        payload: bytes = b"",
        *,
        headers: dict[str, Any] | None = None,
        **conditions: Unpack[Conditions],
    ) -> PubAck:
        """Stores the batch: with this message as its last, or as it is if there is no subject.

        ```python
        batch = js.batch()
        await batch.publish("orders.eu", b"one")
        ack = await batch.commit("orders.us", b"two")
        print(ack.batch_size)
        ```
        """
        async with self._turn:
            sent = self._numbered(with_conditions(headers, conditions))
            size = self._size
            if subject is not None:
                sent[_COMMIT] = _WITH_MESSAGE
                size += 1
            elif size == 0:
                raise BatchClosedError("the batch is empty: there is nothing to commit")
            else:
                subject = self._subject
                sent[_COMMIT] = _WITHOUT_MESSAGE
                sent.setdefault(_LEVEL, _LEVEL_OF_EOB)
            answer = await self._ask(subject, payload, sent)
            self._ended, self._is_at_server = "it is committed or refused", False
            self._ack = PubAck.from_response(told(answer))
            self._size = size
            return self._ack

    async def discard(self) -> None:
        """Nothing of the batch is stored. Does nothing if it is committed or refused already.

        ```python
        batch = js.batch()
        await batch.publish("orders.eu", b"never mind")
        await batch.discard()
        ```
        """
        async with self._turn:
            self._ended = self._ended or "it was discarded"
            if self._is_at_server and not self._connection.is_closed:
                self._is_at_server = False
                gap = {_ID: self._id, _SEQUENCE: str(self._size + _GAP)}
                await self._connection.publish(self._subject, b"", headers=gap)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            await self.discard()
        elif self._size and not self._ended:
            await self.commit()

    def _numbered(self, headers: dict[str, Any] | None) -> dict[str, Any]:
        """Headers with the next number of the batch."""
        if self._ended:
            raise BatchClosedError(f"the batch takes no more messages: {self._ended}")
        sent = dict(headers) if headers else {}
        sent[_ID] = self._id
        sent[_SEQUENCE] = str(self._size + 1)
        return sent

    async def _ask(self, subject: str, payload: bytes, headers: dict[str, Any]) -> Msg:
        """Sends a message and waits for its answer; without one the batch is over."""
        try:
            answer = await self._connection.request(
                subject, payload, timeout=self._timeout, headers=headers
            )
        except (TimeoutError, asyncio.CancelledError):
            self._ended = "a message of it was not answered"
            self._subject, self._is_at_server = subject, True  # it may have come there
            raise
        except NoRespondersError:
            raise NoStreamResponseError from None
        self._subject, self._is_at_server = subject, True
        return answer

    def _refused(self, answer: Msg) -> None:
        self._ended, self._is_at_server = "the server has refused it", False
        ack = told(answer)
        raise BatchesNotEnabledError(
            description="the server does not know batches: it has stored the message by itself",
            stream=ack.get("stream"),
            seq=ack.get("seq"),
        )
