"""nats-py, unchanged, against penstock and against the reference: the same program, the same
result."""

import asyncio
from collections import Counter

import nats
import pytest
from nats.aio.msg import Msg
from nats.errors import NoRespondersError, TimeoutError

from tests.parity.servers import Server

ANSWER_SECONDS_MAX = 30.0  # a loaded machine may be that late


def test_publish_subscribe_with_headers(both: Server) -> None:
    async def program() -> None:
        client = await nats.connect(both.url)
        subscription = await client.subscribe("interop.>")
        await client.publish("interop.a.b", b"payload", headers={"Odd-Name": "value: with colon"})
        message = await subscription.next_msg(timeout=ANSWER_SECONDS_MAX)
        assert (message.subject, message.data) == ("interop.a.b", b"payload")
        assert message.headers == {"Odd-Name": "value: with colon"}
        await client.drain()

    asyncio.run(program())


def test_request_reply_and_no_responders(both: Server) -> None:
    async def program() -> None:
        client = await nats.connect(both.url)

        async def answer(message: Msg) -> None:
            await message.respond(message.data[::-1])

        await client.subscribe("interop.reverse", cb=answer)
        replies = await asyncio.gather(
            *(
                client.request("interop.reverse", b"%d" % n, timeout=ANSWER_SECONDS_MAX)
                for n in range(200)
            )
        )
        assert [reply.data for reply in replies] == [str(n)[::-1].encode() for n in range(200)]
        with pytest.raises(NoRespondersError):
            await client.request("interop.nobody", b"", timeout=ANSWER_SECONDS_MAX)
        old_style = await client.request(
            "interop.reverse", b"ab", timeout=ANSWER_SECONDS_MAX, old_style=True
        )
        assert old_style.data == b"ba"
        await client.close()

    asyncio.run(program())


def test_queue_groups_share_and_auto_unsubscribe_ends(both: Server) -> None:
    async def program() -> None:
        client = await nats.connect(both.url)
        taken: Counter[int] = Counter()
        for member in range(3):

            async def take(_message: Msg, member: int = member) -> None:
                taken[member] += 1

            await client.subscribe("interop.jobs", queue="workers", cb=take)
        limited = await client.subscribe("interop.jobs")
        await limited.unsubscribe(limit=5)
        for _ in range(300):
            await client.publish("interop.jobs", b"")
        await client.flush()
        for _ in range(5):
            await limited.next_msg(timeout=ANSWER_SECONDS_MAX)
        with pytest.raises((TimeoutError, nats.errors.Error)):
            await limited.next_msg(timeout=0.01)
        await client.drain()
        assert taken.total() == 300
        assert min(taken.values()) > 50

    asyncio.run(program())


def test_a_large_payload_arrives_whole(both: Server) -> None:
    async def program() -> None:
        client = await nats.connect(both.url)
        subscription = await client.subscribe("interop.large")
        payload = bytes(range(256)) * 4096
        assert len(payload) == client.max_payload
        await client.publish("interop.large", payload)
        message = await subscription.next_msg(timeout=ANSWER_SECONDS_MAX)
        assert message.data == payload
        await client.close()

    asyncio.run(program())
