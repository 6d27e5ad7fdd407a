"""Atomic batches of the SDK (ADR-50), against both servers."""

import asyncio
import json

import pytest
from nats.errors import MaxPayloadError, TimeoutError
from nats.js.api import PubAck
from nats.js.errors import BadRequestError, NoStreamResponseError

from penstock.client import (
    BatchClosedError,
    BatchError,
    BatchesExceededError,
    BatchesNotEnabledError,
    BatchIdInvalidError,
    BatchIncompleteError,
    BatchTooLargeError,
    JetStream,
    WrongLastSequenceError,
)
from tests.client.conftest import Run


async def ledger(js: JetStream, name: str, **config: object) -> None:
    await js.add_stream(name=name, subjects=[f"{name}.>"], allow_atomic=True, **config)


async def stored(js: JetStream, name: str) -> int:
    return (await js.stream_info(name)).state.messages


def test_leaving_the_block_commits(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await ledger(js, name)
        async with js.batch() as batch:
            await batch.publish(f"{name}.a", b"one", headers={"Kind": "first"})
            await batch.publish(f"{name}.b", b"two")
            assert await stored(js, name) == 0
            assert batch.size == 2
        assert not batch.is_open
        assert batch.ack == PubAck(stream=name, seq=2, batch_id=batch.id, batch_size=2)
        first = await js.get_msg(name, 1)
        assert (first.subject, first.data) == (f"{name}.a", b"one")
        assert first.headers is not None
        assert first.headers["Kind"] == "first"
        assert batch.connection is js.connection

    run(program)


def test_commit_with_the_last_message(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await ledger(js, name)
        async with js.batch() as batch:
            await batch.publish(f"{name}.a", b"one")
            ack = await batch.commit(f"{name}.b", b"two", headers={"Kind": "last"})
        assert (ack.seq, ack.batch_size, batch.ack) == (2, 2, ack)
        assert await stored(js, name) == 2
        alone = js.batch()
        assert (await alone.commit(f"{name}.c", b"three")).batch_size == 1

    run(program)


@pytest.mark.parametrize("ack_every", [0, 1, 7])
def test_flow_control_loses_nothing(run: Run, name: str, ack_every: int) -> None:
    async def program(js: JetStream) -> None:
        await ledger(js, name)
        async with js.batch(ack_every=ack_every) as batch:
            for number in range(500):
                await batch.publish(f"{name}.{number}", b"%d" % number)
        assert batch.ack.batch_size == 500
        assert (await js.get_msg(name, 77)).data == b"76"

    run(program)


def test_an_exception_discards_at_once(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await ledger(js, name)
        told = await js.connection.subscribe(f"$JS.EVENT.ADVISORY.STREAM.BATCH_ABANDONED.{name}")
        with pytest.raises(LookupError):
            async with js.batch() as batch:
                await batch.publish(f"{name}.a", b"one")
                raise LookupError
        advisory = json.loads((await told.next_msg(timeout=30)).data)
        assert (advisory["batch"], advisory["reason"]) == (batch.id, "incomplete")
        assert await stored(js, name) == 0
        with pytest.raises(BatchClosedError, match="it was discarded"):
            await batch.publish(f"{name}.a", b"two")
        with pytest.raises(BatchClosedError, match="not committed"):
            _ = batch.ack
        await batch.discard()

    run(program)


def test_a_batch_with_nothing_in_it(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await ledger(js, name)
        async with js.batch() as batch:
            pass
        assert batch.is_open
        with pytest.raises(BatchClosedError, match="nothing to commit"):
            await batch.commit()
        await batch.discard()
        assert await stored(js, name) == 0

    run(program)


def test_an_expectation_that_fails_keeps_everything_out(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await ledger(js, name)
        await js.publish(f"{name}.a", b"before")
        with pytest.raises(WrongLastSequenceError) as refused:
            async with js.batch() as batch:
                await batch.publish(f"{name}.b", b"one")
                await batch.publish(f"{name}.a", b"two", expected_last_subject_sequence=0)
        assert refused.value.err_code in (10071, 10164)
        assert await stored(js, name) == 1
        async with js.batch() as batch:
            await batch.publish(f"{name}.b", b"one", expected_last_sequence=1)
            await batch.publish(f"{name}.a", b"two", expected_last_subject_sequence=1)
        assert await stored(js, name) == 3

    run(program)


def test_refusals_are_typed(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await js.add_stream(name=name, subjects=[f"{name}.>"])
        with pytest.raises(BatchesNotEnabledError) as refused:
            await js.batch().publish(f"{name}.a", b"one")
        assert isinstance(refused.value, BatchError)
        assert isinstance(refused.value, BadRequestError)
        assert (refused.value.code, refused.value.err_code) == (400, 10174)
        with pytest.raises(NoStreamResponseError):
            await js.batch().publish(f"no.stream.{name}", b"one")

        await ledger(js, f"{name}A")
        with pytest.raises(BatchIdInvalidError):
            await js.batch(id="x" * 65).publish(f"{name}A.a", b"one")
        with pytest.raises(BatchTooLargeError):
            async with js.batch(ack_every=0) as batch:
                for _ in range(1001):
                    await batch.publish(f"{name}A.a", b"one")
        with pytest.raises(ValueError, match="ack_every"):
            js.batch(ack_every=-1)
        assert await stored(js, f"{name}A") == 0

    run(program)


def test_too_many_open_batches(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await ledger(js, name)
        opened = [js.batch() for _ in range(50)]
        for batch in opened:
            await batch.publish(f"{name}.a", b"one")
        with pytest.raises(BatchesExceededError):
            await js.batch().publish(f"{name}.a", b"one")
        for batch in opened:
            await batch.discard()
        async with js.batch() as batch:
            await batch.publish(f"{name}.a", b"one")
        assert await stored(js, name) == 1

    run(program)


def test_a_batch_that_the_server_gave_up(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await ledger(js, name)
        batch = js.batch()
        await batch.publish(f"{name}.a", b"one")
        await js.update_stream(name=name, subjects=[f"{name}.>"], allow_atomic=False)
        await js.update_stream(name=name, subjects=[f"{name}.>"], allow_atomic=True)
        with pytest.raises(BatchIncompleteError):
            await batch.commit()
        with pytest.raises(BatchClosedError):
            await batch.commit()
        assert await stored(js, name) == 0

    run(program)


def test_what_the_client_refuses_leaves_the_batch_as_it_was(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await ledger(js, name)
        too_much = bytes(js.connection.max_payload + 1)
        async with js.batch() as batch:
            with pytest.raises(MaxPayloadError):
                await batch.publish(f"{name}.a", too_much)
            await batch.publish(f"{name}.a", b"one")
            with pytest.raises(MaxPayloadError):
                await batch.publish(f"{name}.a", too_much)
            with pytest.raises(MaxPayloadError):
                await batch.commit(f"{name}.a", too_much)
            with pytest.raises(TypeError, match="no_such_thing"):
                await batch.publish(f"{name}.a", no_such_thing=1)  # type: ignore[call-arg]
            await batch.publish(f"{name}.a", b"two")
        assert batch.ack.batch_size == 2

    run(program)


def test_counters_in_a_batch(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await ledger(js, name, allow_msg_counter=True, allow_direct=True)
        async with js.batch() as batch:
            for _ in range(3):
                await batch.publish(f"{name}.home", increment=5)
        assert await (await js.counters(name)).load(f"{name}.home") == 15

    run(program)


def test_many_tasks_in_one_batch(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await ledger(js, name)
        async with js.batch(ack_every=9) as batch:
            await asyncio.gather(*(batch.publish(f"{name}.a", b"%d" % n) for n in range(100)))
        assert batch.ack.batch_size == 100
        messages = [message.data async for message in js.stream(name).get_msgs()]
        assert sorted(messages) == sorted(b"%d" % n for n in range(100))  # type: ignore[type-var]

    run(program)


def test_a_server_that_does_not_answer(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await js.connection.subscribe(f"{name}.deaf")
        with pytest.raises(TimeoutError):
            async with js.batch(timeout=0.05) as batch:
                await batch.publish(f"{name}.deaf", b"one")
        with pytest.raises(BatchClosedError, match="not answered"):
            await batch.publish(f"{name}.deaf", b"two")

    run(program)


def test_batches_beside_each_other(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await ledger(js, name)

        async def one(number: int) -> int:
            async with js.batch() as batch:
                for _ in range(20):
                    await batch.publish(f"{name}.{number}", b"%d" % number)
            return batch.ack.seq

        last = await asyncio.gather(*(one(number) for number in range(10)))
        assert sorted(last) == list(range(20, 201, 20))
        for sequence in last:
            rows = [(await js.get_msg(name, sequence - back)).data for back in range(20)]
            assert len(set(rows)) == 1

    run(program)
