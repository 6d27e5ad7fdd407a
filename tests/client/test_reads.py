"""Reads of the SDK: single, in rows, of many subjects; against both servers."""

from collections.abc import Awaitable
from datetime import UTC, datetime

import pytest
from nats.js.errors import Error, NotFoundError

from penstock.client import JetStream
from penstock.client.reads import PAGE, SUBJECTS_MAX
from tests.client.conftest import Run

WAYS = pytest.mark.parametrize("allow_direct", [True, False], ids=["direct", "managed"])


async def orders(js: JetStream, name: str, *, allow_direct: bool, count: int = 6) -> None:
    await js.add_stream(name=name, subjects=[f"{name}.>"], allow_direct=allow_direct)
    for number in range(1, count + 1):
        region = ("eu", "us", "asia")[number % 3]
        await js.publish(f"{name}.{region}", b"%d" % number, headers={"Number": str(number)})


@WAYS
def test_one_message(run: Run, name: str, allow_direct: bool) -> None:
    async def program(js: JetStream) -> None:
        await orders(js, name, allow_direct=allow_direct)
        stream = js.stream(name)
        before = datetime.now(UTC)
        for message in (
            await stream.get_msg(4),
            await js.get_msg(name, 4),
            await stream.get_last_msg(f"{name}.us"),
            await js.get_last_msg(name, f"{name}.us"),
            await stream.get_next_msg(f"{name}.us", 2),
            await js.get_msg(name, 2, f"{name}.us", next=True),
        ):
            assert (message.seq, message.data) == (4, b"4")
            assert (message.subject, message.stream) == (f"{name}.us", name)
            assert message.headers is not None
            assert message.headers["Number"] == "4"
            assert message.time is not None
            assert message.time < before
        await js.publish(f"{name}.empty")
        empty = await stream.get_last_msg(f"{name}.empty")
        assert (empty.data, empty.seq) == (b"", 7)
        assert (stream.name, stream.connection) == (name, js.connection)
        assert (await stream.info()).state.messages == 7

    run(program)


@WAYS
def test_what_is_not_there(run: Run, name: str, allow_direct: bool) -> None:
    async def program(js: JetStream) -> None:
        await orders(js, name, allow_direct=allow_direct)
        stream = js.stream(name)
        with pytest.raises(NotFoundError):
            await stream.get_msg(100)
        with pytest.raises(NotFoundError):
            await stream.get_last_msg(f"{name}.mars")
        with pytest.raises(NotFoundError):
            await js.get_last_msg("NOT-THERE", f"{name}.eu")
        assert [message async for message in stream.get_msgs(f"{name}.mars")] == []
        assert [message async for message in stream.get_msgs(seq=7)] == []
        assert [message async for message in stream.get_last_msgs([f"{name}.mars"])] == []

    run(program)


@pytest.mark.parametrize("wrong", ["", "A.B", "A B", "A\r\nB", "*", ">", "A/B"])
def test_a_name_that_no_stream_can_have(run: Run, wrong: str) -> None:
    async def program(js: JetStream) -> None:
        requests: list[Awaitable[object]] = [
            js.get_msg(wrong, 1),
            js.get_msg(wrong, 1, direct=True),
            js.get_msg(wrong, 1, linearizable=True),
            js.get_last_msg(wrong, "x"),
            js.counters(wrong),
            js.stream_info(wrong),
            js.add_stream(name=wrong),
            js.add_stream(name=wrong, read_consistency="weak"),
            js.update_stream(name=wrong, read_consistency="weak"),
        ]
        for request in requests:
            with pytest.raises(ValueError, match="name"):
                await request
        with pytest.raises(ValueError, match="no name of a stream"):
            js.stream(wrong)

    run(program)


@WAYS
def test_rows(run: Run, name: str, allow_direct: bool) -> None:
    async def program(js: JetStream) -> None:
        await orders(js, name, allow_direct=allow_direct)
        stream = js.stream(name)

        async def sequences(*subject: str, **where: object) -> list[int | None]:
            rows = stream.get_msgs(*subject, **where)  # type: ignore[arg-type]
            return [message.seq async for message in rows]

        assert await sequences() == [1, 2, 3, 4, 5, 6]
        assert await sequences(f"{name}.us") == [1, 4]
        assert await sequences(f"{name}.*", seq=3, limit=2) == [3, 4]
        assert await sequences(limit=0) == []
        third = (await stream.get_msg(3)).time
        assert third is not None
        assert (await sequences(start_time=third))[-4:] == [3, 4, 5, 6]
        assert await sequences(start_time=datetime(2000, 1, 1)) == [1, 2, 3, 4, 5, 6]
        with pytest.raises(ValueError, match="give one of them"):
            await sequences(seq=1, start_time=third)
        async for message in stream.get_msgs():
            assert message.seq == 1
            break  # the rest is not wanted
        assert (await stream.get_msg(2)).seq == 2

    run(program)


def test_rows_go_on_page_by_page(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await js.add_stream(name=name, subjects=[f"{name}.>"], allow_direct=True)
        many = PAGE * 2 + 50
        for number in range(many):
            await js.publish_async(f"{name}.{number % 2}", b"%d" % number)
        await js.publish_async_completed()
        stream = js.stream(name)
        assert [message.seq async for message in stream.get_msgs()] == list(range(1, many + 1))
        odd = [message.data async for message in stream.get_msgs(f"{name}.1", limit=PAGE + 1)]
        assert odd == [b"%d" % number for number in range(1, 2 * PAGE + 2, 2)]

    run(program)


@WAYS
def test_the_last_of_many_subjects(run: Run, name: str, allow_direct: bool) -> None:
    async def program(js: JetStream) -> None:
        await orders(js, name, allow_direct=allow_direct)
        stream = js.stream(name)
        found = {message.subject: message.data async for message in stream.get_last_msgs([">"])}
        assert found == {f"{name}.us": b"4", f"{name}.asia": b"5", f"{name}.eu": b"6"}
        two = [f"{name}.us", f"{name}.eu", f"{name}.mars"]
        assert sorted([m.seq async for m in stream.get_last_msgs(two)]) == [4, 6]  # type: ignore[type-var]
        with pytest.raises(TypeError, match="are a list"):
            await anext(stream.get_last_msgs(">"))

    run(program)


def test_the_last_as_of_some_moment(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await orders(js, name, allow_direct=True)
        stream = js.stream(name)
        then = [message.seq async for message in stream.get_last_msgs([">"], up_to_seq=4)]
        assert then == [2, 3, 4]
        moment = (await stream.get_msg(3)).time
        assert moment is not None
        then = [message.seq async for message in stream.get_last_msgs([">"], up_to_time=moment)]
        assert max(then) in (2, 3)  # type: ignore[type-var]
        with pytest.raises(ValueError, match="give one of them"):
            await anext(stream.get_last_msgs([">"], up_to_seq=4, up_to_time=moment))
        await js.add_stream(name=f"{name}M", subjects=[f"{name}M.>"])
        with pytest.raises(Error, match="need allow_direct"):
            await anext(js.stream(f"{name}M").get_last_msgs([">"], up_to_seq=1))

    run(program)


def test_more_subjects_than_one_answer_may_have(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await js.add_stream(name=name, subjects=[f"{name}.>"], allow_direct=True)
        many = SUBJECTS_MAX * 2 + 7
        for number in range(many):
            await js.publish_async(f"{name}.{number}", b"%d" % number)
        await js.publish_async_completed()
        found = [message.data async for message in js.stream(name).get_last_msgs([f"{name}.*"])]
        assert sorted(found) == sorted(b"%d" % number for number in range(many))  # type: ignore[type-var]

    run(program)


def test_a_stream_that_changes_its_mind(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await orders(js, name, allow_direct=False)
        stream = js.stream(name)
        assert (await stream.get_msg(1)).seq == 1
        await js.update_stream(name=name, subjects=[f"{name}.>"], allow_direct=True)
        assert (await stream.get_msg(1)).seq == 1
        other = JetStream(js.connection)
        await other.update_stream(name=name, subjects=[f"{name}.>"], allow_direct=False)
        assert (await stream.get_msg(1)).seq == 1  # nobody answers there any more: asked again
        await other.update_stream(name=name, subjects=[f"{name}.>"], allow_direct=True)
        last = stream.get_last_msgs([f"{name}.us"], up_to_seq=3)
        assert [message.seq async for message in last] == [1]

    run(program)
