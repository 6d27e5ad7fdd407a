"""Counters of the SDK: what ADR-49 asks of a client, against both servers."""

import asyncio

import pytest
from nats.js.api import StreamSource, SubjectTransform
from nats.js.errors import NotFoundError

from penstock.client import (
    CounterError,
    CounterNotFoundError,
    Counters,
    CountersNotEnabledError,
    JetStream,
)
from penstock.client.reads import SUBJECTS_MAX
from tests.client.conftest import Run


async def counters(js: JetStream, name: str, *, allow_direct: bool = True) -> Counters:
    await js.add_stream(
        name=name, subjects=[f"{name}.>"], allow_msg_counter=True, allow_direct=allow_direct
    )
    return await js.counters(name)


def test_adding_answers_with_the_sum(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        hits = await counters(js, name)
        assert await hits.add(f"{name}.home", 5) == 5
        assert await hits.add(f"{name}.home", -7) == -2
        assert await hits.add(f"{name}.home") == -1
        assert await hits.add(f"{name}.home", 0) == -1
        assert await hits.load(f"{name}.home") == -1
        assert hits.stream == name
        assert hits.connection is js.connection

    run(program)


def test_values_of_any_length(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        hits = await counters(js, name)
        for large in (10**30, 10**4299, -(10**5000) + 7, 10**20000):
            assert await hits.add(f"{name}.large", large) == large
            assert await hits.load(f"{name}.large") == large
            assert await hits.add(f"{name}.large", -large) == 0

    run(program)


def test_an_addition_with_an_id_counts_once(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        hits = await counters(js, name)
        assert await hits.add(f"{name}.once", 3, msg_id="first") == 3
        assert await hits.add(f"{name}.once", 4) == 7
        assert await hits.add(f"{name}.once", 3, msg_id="first") == 7

    run(program)


@pytest.mark.parametrize("allow_direct", [True, False], ids=["direct", "managed"])
def test_many_values_and_entries(run: Run, name: str, allow_direct: bool) -> None:
    async def program(js: JetStream) -> None:
        hits = await counters(js, name, allow_direct=allow_direct)
        for page in range(12):
            await hits.add(f"{name}.page.{page}", page)
        await hits.add(f"{name}.other", 100)
        wanted = {f"{name}.page.{page}": page for page in range(12)}
        assert dict([pair async for pair in hits.load_multiple([f"{name}.page.*"])]) == wanted
        both = [f"{name}.page.3", f"{name}.other", f"{name}.none"]
        found = dict([pair async for pair in hits.load_multiple(both)])
        assert found == {f"{name}.page.3": 3, f"{name}.other": 100}
        entries = {entry.subject: entry async for entry in hits.get_entries([f"{name}.>"])}
        assert {subject: entry.value for subject, entry in entries.items()} == {
            **wanted,
            f"{name}.other": 100,
        }
        assert entries[f"{name}.other"].sequence == 13
        assert [pair async for pair in hits.load_multiple([f"{name}.none.*"])] == []
        assert await hits.load(f"{name}.page.7") == 7
        assert (await hits.get_entry(f"{name}.page.7")).value == 7

    run(program)


def test_more_counters_than_one_request_may_answer(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        hits = await counters(js, name)
        many = SUBJECTS_MAX * 2 + 10
        for first in range(0, many, 256):
            numbers = range(first, min(first + 256, many))
            await asyncio.gather(*(hits.add(f"{name}.{number}", number) for number in numbers))
        found = dict([pair async for pair in hits.load_multiple([f"{name}.>"])])
        assert found == {f"{name}.{number}": number for number in range(many)}

    run(program)


def test_a_counter_that_is_not_there(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        hits = await counters(js, name)
        for read in (hits.load, hits.get_entry, hits.reset):
            with pytest.raises(CounterNotFoundError, match=f"no counter {name}.none in {name}"):
                await read(f"{name}.none")
        with pytest.raises(TypeError, match="subjects are a list"):
            await anext(hits.load_multiple(f"{name}.none"))

    run(program)


def test_streams_without_counters(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await js.add_stream(name=name, subjects=[f"{name}.>"])
        with pytest.raises(CountersNotEnabledError, match="needs allow_msg_counter"):
            await js.counters(name)
        with pytest.raises(CountersNotEnabledError) as refused:
            await Counters(js, name).add(f"{name}.home", 1)
        assert (refused.value.code, refused.value.err_code) == (400, 10168)
        with pytest.raises(NotFoundError):
            await js.counters("NOT-THERE")
        await js.publish(f"{name}.text", b"no number")
        with pytest.raises(CounterError, match="holds no counter"):
            await Counters(js, name).load(f"{name}.text")

    run(program)


def test_what_counters_refuse_is_typed(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await counters(js, name)
        with pytest.raises(CounterError) as refused:
            await js.publish(f"{name}.home", b"not a number")
        assert refused.value.err_code == 10169
        with pytest.raises(CounterError) as refused:
            await js.publish(f"{name}.home", b"body", increment=1)
        assert refused.value.err_code == 10170

    run(program)


def test_reset_leaves_zero_and_one_message(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        hits = await counters(js, name)
        for _ in range(4):
            await hits.add(f"{name}.home", 10)
        await hits.add(f"{name}.away", 1)
        assert await hits.reset(f"{name}.home") == 40
        entry = await hits.get_entry(f"{name}.home")
        assert (entry.value, entry.increment, entry.sequence) == (0, -40, 6)
        assert (await js.stream_info(name)).state.messages == 2
        assert await hits.load(f"{name}.away") == 1
        assert await hits.reset(f"{name}.home") == 0
        await hits.delete(f"{name}.home")
        with pytest.raises(CounterNotFoundError):
            await hits.load(f"{name}.home")

    run(program)


def test_entries_name_their_sources(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        for region, value in (("ES", 3), ("DE", 10**25)):
            origin = await counters(js, f"{name}{region}")
            await origin.add(f"{name}{region}.hits", value)
        await js.add_stream(
            name=name,
            allow_msg_counter=True,
            allow_direct=True,
            sources=[
                StreamSource(
                    name=f"{name}{region}",
                    subject_transforms=[
                        SubjectTransform(src=f"{name}{region}.>", dest=f"{name}.>")
                    ],
                )
                for region in ("ES", "DE")
            ],
        )
        total = await js.counters(name)
        wanted = {f"{name}ES": {f"{name}ES.hits": 3}, f"{name}DE": {f"{name}DE.hits": 10**25}}
        while True:  # sourcing takes its time; the test as a whole has a limit
            entries = [entry async for entry in total.get_entries([f"{name}.>"])]
            if entries and len(entries[0].sources) == 2:
                break
            await asyncio.sleep(0.02)
        assert entries[0].sources == wanted
        entry = await total.get_entry(f"{name}.hits")
        assert (entry.value, entry.sources) == (10**25 + 3, wanted)

    run(program)


@pytest.mark.parametrize("subject", ["c.*", "c.>", "c a", "", "c..a"])
def test_what_is_no_counter_is_told_before_anything_is_sent(
    run: Run, name: str, subject: str
) -> None:
    async def program(js: JetStream) -> None:
        hits = await counters(js, name)
        for action in (hits.add, hits.load, hits.get_entry, hits.reset, hits.delete):
            with pytest.raises(ValueError, match="is no counter"):
                await action(subject)
        assert [row async for row in hits.load_multiple([f"{name}.>"])] == []

    run(program)


@pytest.mark.parametrize("allow_direct", [True, False])
def test_of_no_subjects_there_is_nothing(run: Run, name: str, allow_direct: bool) -> None:
    async def program(js: JetStream) -> None:
        hits = await counters(js, name, allow_direct=allow_direct)
        assert [row async for row in hits.load_multiple([])] == []

    run(program)


def test_a_text_in_place_of_subjects_is_told_with_what_to_write(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        hits = await counters(js, name)
        with pytest.raises(TypeError, match=r"load_multiple\(\['c.>'\]\)"):
            [row async for row in hits.load_multiple("c.>")]
        with pytest.raises(TypeError, match=r"get_entries\(\['c.>'\]\)"):
            [row async for row in hits.get_entries("c.>")]

    run(program)


def test_a_counter_of_another_stream(run: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        hits = await counters(js, name)
        await counters(js, f"{name}other")
        with pytest.raises(CounterError, match="not of"):
            await hits.add(f"{name}other.a")

    run(program)
