"""Acknowledgements that are acknowledged, against both servers."""

import asyncio

import pytest
from nats.aio.msg import Msg
from nats.errors import MsgAlreadyAckdError, NotJSMessageError
from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig

from penstock import client
from penstock.client import JetStream
from tests.client.conftest import ANSWER_SECONDS_MAX, Run


async def work(
    js: JetStream, name: str, count: int, ack_wait: float = 30
) -> JetStreamContext.PullSubscription:
    await js.add_stream(name=name, subjects=[f"{name}.>"])
    for number in range(count):
        await js.publish(f"{name}.job", b"%d" % number)
    config = ConsumerConfig(ack_wait=ack_wait)
    return await js.pull_subscribe(f"{name}.job", durable="work", stream=name, config=config)


async def left(js: JetStream, name: str) -> tuple[int, int]:
    """How many were delivered and not settled, and up to where all are."""
    info = await js.consumer_info(name, "work")
    assert info.num_ack_pending is not None
    assert info.ack_floor is not None
    return info.num_ack_pending, info.ack_floor.stream_seq


def test_after_the_answer_it_is_settled(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        jobs = await work(js, name, 5)
        first, *others = await jobs.fetch(5, timeout=ANSWER_SECONDS_MAX)
        await client.ack_sync(first, timeout=ANSWER_SECONDS_MAX)
        assert await left(js, name) == (4, 1)
        await client.ack_all_sync(others, timeout=ANSWER_SECONDS_MAX)
        assert await left(js, name) == (0, 5)
        with pytest.raises(MsgAlreadyAckdError):
            await client.ack_all_sync([first], timeout=ANSWER_SECONDS_MAX)

    run(program)


def test_given_back_and_ended(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        jobs = await work(js, name, 3)
        first, second, third = await jobs.fetch(3, timeout=ANSWER_SECONDS_MAX)
        await client.nak_sync(first, timeout=ANSWER_SECONDS_MAX)
        [again] = await jobs.fetch(1, timeout=ANSWER_SECONDS_MAX)
        assert (again.data, again.metadata.num_delivered) == (b"0", 2)
        await client.term_sync(again, reason="never", timeout=ANSWER_SECONDS_MAX)
        assert await left(js, name) == (2, 1)
        await client.nak_sync(second, delay=0.05, timeout=ANSWER_SECONDS_MAX)
        [again] = await jobs.fetch(1, timeout=ANSWER_SECONDS_MAX)
        assert again.data == b"1"
        await client.term_sync(again, timeout=ANSWER_SECONDS_MAX)
        await client.ack_sync(third, timeout=ANSWER_SECONDS_MAX)
        assert await left(js, name) == (0, 3)
        with pytest.raises(MsgAlreadyAckdError):
            await client.nak_sync(second, timeout=ANSWER_SECONDS_MAX)
        with pytest.raises(NotJSMessageError):
            await client.term_sync(Msg(js.connection, subject="plain"))

    run(program)


def test_a_block_acknowledges_or_gives_back(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        jobs = await work(js, name, 2)
        first, second = await jobs.fetch(2, timeout=ANSWER_SECONDS_MAX)
        async with client.processing(first) as job:
            assert job is first
        assert await left(js, name) == (1, 1)
        with pytest.raises(LookupError):
            async with client.processing(second):
                raise LookupError
        [again] = await jobs.fetch(1, timeout=ANSWER_SECONDS_MAX)
        assert (again.data, again.metadata.num_delivered) == (b"1", 2)
        async with client.processing(again):
            # What the block has settled stays so.
            await client.term_sync(again, timeout=ANSWER_SECONDS_MAX)
        assert await left(js, name) == (0, 2)

    run(program)


def test_a_long_block_keeps_its_message(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        jobs = await work(js, name, 1, ack_wait=4)
        [job] = await jobs.fetch(1, timeout=ANSWER_SECONDS_MAX)
        async with client.processing(job, progress_every=0.1):
            await asyncio.sleep(8.5)  # more than twice what the consumer waits
        info = await js.consumer_info(name, "work")
        assert info.num_redelivered == 0
        assert await left(js, name) == (0, 1)

    run(program)


def test_a_step_from_stream_to_stream_happens_once(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        jobs = await work(js, name, 3)
        await js.add_stream(name=f"{name}D", subjects=[f"{name}D.>"])
        for attempt in range(2):  # the second time as after a crash before the acknowledgement
            for job in await jobs.fetch(3, timeout=ANSWER_SECONDS_MAX):
                number = job.metadata.sequence.stream
                await js.publish(f"{name}D.done", job.data, msg_id=f"done-{number}")
                if attempt:
                    await client.ack_sync(job, timeout=ANSWER_SECONDS_MAX)
                else:
                    await client.nak_sync(job, timeout=ANSWER_SECONDS_MAX)
        assert (await js.stream_info(f"{name}D")).state.messages == 3
        assert await left(js, name) == (0, 3)

    run(program)


def test_an_error_of_the_work_is_told_though_the_connection_is_gone(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        [job] = await (await work(js, name, 1)).fetch(1, timeout=ANSWER_SECONDS_MAX)
        with pytest.raises(KeyError, match="mine"):
            async with client.processing(job, progress_every=0.01):
                await js.connection.close()
                await asyncio.sleep(0.05)
                raise KeyError("mine")

    run(program)
