"""What a publisher can ask for by name, against both servers; and numbers as text."""

import asyncio
from datetime import timedelta
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.msg import Msg
from nats.js.api import StorageType
from nats.js.errors import BadRequestError, Error, NoStreamResponseError

from penstock.client import (
    JetStream,
    TtlError,
    WrongLastMsgIdError,
    WrongLastSequenceError,
    WrongStreamError,
    connect,
)
from penstock.client.numbers import number, signed
from penstock.client.publishing import with_conditions
from tests.client.conftest import Run
from tests.parity.servers import Server


def test_expectations_by_name(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await js.add_stream(name=name, subjects=[f"{name}.>"])
        subject = f"{name}.a"
        await js.publish(subject, expected_last_sequence=0, expected_last_subject_sequence=0)
        await js.publish(subject, expected_stream=name, msg_id="second")
        await js.publish(subject, expected_last_msg_id="second", expected_last_sequence=2)
        await js.publish(f"{name}.b", expected_last_subject_sequence=0)
        with pytest.raises(WrongLastSequenceError):
            await js.publish(subject, expected_last_sequence=1)
        with pytest.raises(WrongLastSequenceError) as refused:
            await js.publish(subject, expected_last_subject_sequence=0)
        assert refused.value.code == 400
        assert isinstance(refused.value, BadRequestError)
        with pytest.raises(WrongLastSequenceError):
            await js.publish(
                f"{name}.c", expected_last_subject_sequence=2, expected_last_subject=f"{name}.*"
            )
        await js.publish(
            f"{name}.c", expected_last_subject_sequence=4, expected_last_subject=f"{name}.*"
        )
        with pytest.raises(WrongStreamError):
            await js.publish(subject, expected_stream="OTHER")
        with pytest.raises(WrongStreamError):
            await js.publish(subject, stream="OTHER")
        with pytest.raises(WrongLastMsgIdError):
            await js.publish(subject, expected_last_msg_id="first")
        with pytest.raises(NoStreamResponseError):
            await js.publish(f"no.stream.{name}")
        assert (await js.stream_info(name)).state.messages == 5

    run(program)


def test_duplicates_and_rollups(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await js.add_stream(name=name, subjects=[f"{name}.>"], allow_rollup_hdrs=True)
        assert not (await js.publish(f"{name}.a", b"1", msg_id="one")).duplicate
        assert (await js.publish(f"{name}.a", b"1", msg_id="one")).duplicate
        await js.publish(f"{name}.b", b"2")
        await js.publish(f"{name}.a", b"3", rollup="sub")
        assert (await js.stream_info(name)).state.messages == 2
        await js.publish(f"{name}.c", b"4", rollup="all")
        assert (await js.stream_info(name)).state.messages == 1

    run(program)


def test_without_waiting(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await js.add_stream(name=name, subjects=[f"{name}.>"])
        waiting = [
            await js.publish_async(f"{name}.a", b"1", msg_id=f"id-{number % 5}")
            for number in range(10)
        ]
        acks = [await ack for ack in waiting]
        assert [bool(ack.duplicate) for ack in acks] == [False] * 5 + [True] * 5
        refused = await js.publish_async(f"{name}.a", expected_last_sequence=1, stream=name)
        with pytest.raises(WrongLastSequenceError):
            await refused
        with pytest.raises(NoStreamResponseError):
            await (await js.publish_async(f"no.stream.{name}"))
        await js.publish_async_completed()

    run(program)


@pytest.mark.parametrize("answer", [b"hello", b"[1]", b"{}"])
def test_an_answer_of_somebody_else(run: Run, name: str, answer: bytes) -> None:
    async def program(js: JetStream) -> None:
        async def say(message: Msg) -> None:
            await message.respond(answer)

        await js.connection.subscribe(name, cb=say)
        with pytest.raises(Error, match="no stream"):
            await js.publish(name, b"1")
        with pytest.raises(Error, match="no stream"):
            await (await js.publish_async(name, b"1"))
        with pytest.raises(Error, match="no stream"):
            await js.batch().publish(name, b"1")

    run(program)


@pytest.mark.parametrize("ttl", [30, 30.5, timedelta(hours=1), "1h", "never"])
def test_lifetimes(run: Run, name: str, ttl: Any) -> None:
    async def program(js: JetStream) -> None:
        await js.add_stream(
            name=name, subjects=[f"{name}.>"], allow_msg_ttl=True, storage=StorageType.MEMORY
        )
        ack = await js.publish(f"{name}.a", b"1", ttl=ttl)
        headers = (await js.get_msg(name, ack.seq)).headers
        written = {30: "30", 30.5: "30500ms", timedelta(hours=1): "3600"}
        assert headers is not None
        assert headers["Nats-TTL"] == written.get(ttl, ttl)

    run(program)


def test_lifetimes_that_cannot_be(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await js.add_stream(name=name, subjects=[f"{name}.>"], allow_msg_ttl=True)
        await js.add_stream(name=f"{name}N", subjects=[f"{name}N.>"])
        with pytest.raises(TtlError) as refused:
            await js.publish(f"{name}.a", ttl="soon")
        for nearly_none in (0.0001, -0.0001, timedelta(microseconds=5)):
            with pytest.raises(TtlError):
                await js.publish(f"{name}.a", ttl=nearly_none)
        assert refused.value.err_code == 10165
        with pytest.raises(TtlError) as refused:
            await js.publish(f"{name}N.a", ttl=10)
        assert refused.value.err_code == 10166

    run(program)


def test_a_callers_headers_stay_as_they_are() -> None:
    mine = {"Kind": "order"}
    sent = with_conditions(mine, {"msg_id": "one", "expected_last_sequence": 0})
    assert sent == {"Kind": "order", "Nats-Msg-Id": "one", "Nats-Expected-Last-Sequence": "0"}
    assert mine == {"Kind": "order"}
    assert with_conditions(None, {}) is None
    assert with_conditions(mine, {}) is mine
    with pytest.raises(TypeError, match="unexpected keyword argument 'mgs_id'"):
        with_conditions(None, cast(Any, {"mgs_id": "one"}))


def test_connect_passes_on_what_nats_py_takes(streaming: Server) -> None:
    async def program() -> None:
        async with connect(streaming.url, name="orders", timeout=3) as js:
            assert js.timeout == 3
            assert js.connection.options["name"] == "orders"
            connection = js.connection
        assert connection.is_closed

    asyncio.run(program())


@given(
    st.integers()
    | st.builds(
        lambda digits, sign: sign * 10**digits + sign,
        st.integers(3990, 20000),
        st.sampled_from([1, -1]),
    )
)
def test_numbers_come_back(value: int) -> None:
    text = signed(value)
    assert text[0] in "+-"
    assert number(text) == value
    assert number(text.removeprefix("+")) == value


@pytest.mark.parametrize("text", ["", "+", "x", "1_0" * 2000, "1" * 5000 + "x", "٣" * 5000])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(ValueError, match=r"whole number|invalid literal"):
        number(text)
