"""Linearizable reads (ADR-56): which API is asked by which rule, and what comes of it."""

import asyncio
import io
import json
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import NoRespondersError, TimeoutError
from nats.js.errors import (
    APIError,
    KeyNotFoundError,
    NoKeysError,
    NotFoundError,
    ObjectNotFoundError,
)

from penstock.client import (
    JetStream,
    LinearizableKeyValue,
    LinearizableObjectStore,
    LinearizableReadsNotEnabledError,
    LinearizableReadUnavailableError,
)
from tests.client.conftest import Run


class Scripted:
    """A connection whose server has one stream S, and which notes where it is asked."""

    def __init__(self, config: dict[str, Any] | Exception, reads: Exception | None = None) -> None:
        self.config = config
        self.reads = reads
        self.asked: list[str] = []

    async def request(self, subject: str, payload: bytes = b"", **_options: object) -> Msg:
        self.asked.append(subject.removeprefix("$JS.API."))
        client = cast(Client, self)
        if ".STREAM.INFO." in subject:
            if isinstance(self.config, Exception):
                raise self.config
            return Msg(client, data=json.dumps({"config": self.config}).encode())
        if self.reads is not None:
            raise self.reads
        if ".MSG.GET." in subject:
            told = {"subject": "s", "seq": 1, "time": "2026-01-01T00:00:00Z"}
            return Msg(client, data=json.dumps({"message": told}).encode())
        place = {"Stream": "S", "Subject": "s", "Sequence": "1"}
        headers = {f"Nats-{name}": value for name, value in place.items()}
        return Msg(client, headers={**headers, "Nats-Time-Stamp": "2026-01-01T00:00:00.000000001Z"})


def asked(connection: Scripted, *, linearizable: bool, **options: Any) -> list[str]:
    """Where one read of a message is sent."""

    async def program() -> None:
        js = JetStream(cast(Client, connection))
        await js.get_msg("S", 1, linearizable=linearizable, **options)

    asyncio.run(program())
    return connection.asked


INFO = "STREAM.INFO.S"
PLAIN_RULES: list[tuple[dict[str, Any], str]] = [
    ({}, "STREAM.MSG.GET.S"),
    ({"allow_direct": False, "read_consistency": "default"}, "STREAM.MSG.GET.S"),
    ({"allow_direct": True}, "DIRECT.GET.S"),
    ({"allow_direct": True, "read_consistency": "weak"}, "DIRECT.GET.S"),
    ({"allow_direct": False, "read_consistency": "strong"}, "DIRECT.GET.S"),
]


@pytest.mark.parametrize(("config", "place"), PLAIN_RULES)
def test_where_a_plain_read_goes(config: dict[str, Any], place: str) -> None:
    assert asked(Scripted(config), linearizable=False) == [INFO, place]


@pytest.mark.parametrize("level", ["weak", "strong"])
def test_a_linearizable_read_goes_to_the_leader(level: str) -> None:
    connection = Scripted({"read_consistency": level})
    assert asked(connection, linearizable=True) == [INFO, "DIRECT_LEADER.GET.S"]
    connection = Scripted({"read_consistency": level})
    assert asked(connection, linearizable=True, direct=True)[-1] == "DIRECT_LEADER.GET.S"


@pytest.mark.parametrize("config", [{}, {"allow_direct": True}, {"read_consistency": "default"}])
def test_an_error_where_it_is_not_enabled(config: dict[str, Any]) -> None:
    connection = Scripted(config)
    with pytest.raises(LinearizableReadsNotEnabledError) as refused:
        asked(connection, linearizable=True)
    assert str(refused.value).startswith("linearizable reads are not enabled for this stream")
    assert refused.value.stream == "S"
    assert set(connection.asked) == {INFO}


@pytest.mark.parametrize("silence", [NoRespondersError(), TimeoutError()])
def test_the_leader_is_asked_where_nothing_is_known(silence: Exception) -> None:
    assert asked(Scripted(silence), linearizable=True) == [INFO, "DIRECT_LEADER.GET.S"]
    assert asked(Scripted(silence), linearizable=False) == [INFO, "STREAM.MSG.GET.S"]


@pytest.mark.parametrize("silence", [NoRespondersError(), TimeoutError()])
@pytest.mark.parametrize("config", [NoRespondersError(), {"read_consistency": "weak"}])
def test_nobody_answers(config: Any, silence: Exception) -> None:
    with pytest.raises(LinearizableReadUnavailableError, match="nobody answers") as refused:
        asked(Scripted(config, silence), linearizable=True)
    assert isinstance(refused.value, NoRespondersError)


def test_direct_does_not_look() -> None:
    assert asked(Scripted({}), linearizable=False, direct=True) == ["DIRECT.GET.S"]


def test_what_is_known_is_remembered_until_it_matters() -> None:
    async def program() -> None:
        connection = Scripted({})
        js = JetStream(cast(Client, connection))
        for _ in range(3):
            await js.get_last_msg("S", "s")
        assert connection.asked == [INFO, *["STREAM.MSG.GET.S"] * 3]
        connection.config = {"read_consistency": "strong"}
        await js.get_last_msg("S", "s", linearizable=True)
        await js.get_last_msg("S", "s")
        assert connection.asked[4:] == [INFO, "DIRECT_LEADER.GET.S.s", "DIRECT.GET.S.s"]

    asyncio.run(program())


def test_a_context_and_a_stream_have_a_default() -> None:
    async def program() -> None:
        connection = Scripted({"read_consistency": "strong"})
        js = JetStream(cast(Client, connection), linearizable_reads=True)
        await js.get_msg("S", 1)
        await js.get_msg("S", 1, linearizable=False)
        await js.stream("S").get_msg(1)
        await js.stream("S", linearizable_reads=False).get_msg(1)
        await js.stream("S", linearizable_reads=False).get_msg(1, linearizable=True)
        leader, direct = "DIRECT_LEADER.GET.S", "DIRECT.GET.S"
        assert connection.asked == [INFO, leader, direct, leader, direct, leader]

    asyncio.run(program())


@pytest.mark.parametrize("level", ["weak", "strong"])
def test_every_kind_of_read(run_penstock: Run, name: str, level: Any) -> None:
    async def program(js: JetStream) -> None:
        await js.add_stream(name=name, subjects=[f"{name}.>"], read_consistency=level)
        stream = js.stream(name, linearizable_reads=True)
        assert await stream.read_consistency() == level
        assert stream.linearizable_reads
        for number in range(1, 5):
            await js.publish(f"{name}.{number % 2}", b"%d" % number)
            assert (await stream.get_msg(number)).data == b"%d" % number
            assert (await stream.get_last_msg(f"{name}.{number % 2}")).seq == number
            rows = [message.seq async for message in stream.get_msgs()]
            assert rows == list(range(1, number + 1))
        assert (await stream.get_next_msg(f"{name}.*", 3)).seq == 3
        lasts = [message.seq async for message in stream.get_last_msgs([f"{name}.*"])]
        assert lasts == [3, 4]
        with pytest.raises(NotFoundError):
            await stream.get_msg(100)

    run_penstock(program)


def test_counters(run_penstock: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await js.add_stream(
            name=name, subjects=[f"{name}.>"], allow_msg_counter=True, read_consistency="strong"
        )
        hits = await js.counters(name, linearizable_reads=True)
        for number in range(1, 4):
            assert await hits.add(f"{name}.home") == number
            assert await hits.load(f"{name}.home") == number
            assert (await hits.get_entry(f"{name}.home")).value == number
            assert [v async for v in hits.load_multiple([">"])] == [(f"{name}.home", number)]
        await js.update_stream(
            name=name, subjects=[f"{name}.>"], allow_msg_counter=True, read_consistency="default"
        )
        with pytest.raises(LinearizableReadsNotEnabledError):
            await hits.load(f"{name}.home")

    run_penstock(program)


def test_turning_it_on_and_off(run_penstock: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        await js.add_stream(name=name, subjects=[f"{name}.>"])
        await js.publish(f"{name}.a", b"one")
        with pytest.raises(LinearizableReadsNotEnabledError):
            await js.get_msg(name, 1, linearizable=True)
        await js.update_stream(name=name, subjects=[f"{name}.>"], read_consistency="strong")
        assert (await js.get_msg(name, 1, linearizable=True)).data == b"one"
        await js.update_stream(name=name, subjects=[f"{name}.>", f"{name}2"])  # keeps it
        assert (await js.get_last_msg(name, f"{name}.a", linearizable=True)).data == b"one"
        other = JetStream(js.connection)  # one that does not tell us
        await other.update_stream(name=name, subjects=[f"{name}.>"], read_consistency="default")
        with pytest.raises(LinearizableReadUnavailableError):
            await js.get_msg(name, 1, linearizable=True)
        with pytest.raises(LinearizableReadsNotEnabledError):
            await js.get_msg(name, 1, linearizable=True)
        with pytest.raises(APIError) as refused:
            await js.add_stream(name=f"{name}B", read_consistency="strong", allow_direct=True)
        assert refused.value.err_code == 10052

    run_penstock(program)


def test_a_bucket(run_penstock: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        made = await js.create_key_value(bucket=name, history=3, linearizable_reads=True)
        assert isinstance(made, LinearizableKeyValue)
        assert await js.stream(f"KV_{name}").read_consistency() == "strong"
        opened = await js.key_value(name, linearizable_reads=True)
        for bucket in (made, opened):
            revision = await bucket.put("colour", b"green")
            assert (await bucket.get("colour")).value == b"green"
            assert (await bucket.get("colour", revision=revision)).value == b"green"
            assert await bucket.update("colour", b"blue", last=revision) == revision + 1
            past = [entry.value for entry in await bucket.history("colour")]
            assert past[-2:] == [b"green", b"blue"]
            await bucket.create("size", b"")
            assert sorted(await bucket.keys()) == ["colour", "size"]
            assert await bucket.keys(["col"]) == ["colour"]
            await bucket.delete("colour")
            assert await bucket.keys() == ["size"]
            last = (await bucket.history("colour"))[-1]
            assert (last.operation, last.delta, last.key) == ("DEL", 0, "colour")
            with pytest.raises(KeyNotFoundError):
                await bucket.get("colour")
            await bucket.purge("size")
            with pytest.raises(NoKeysError):
                await bucket.keys()
        with pytest.raises(NoKeysError):
            await made.history("never")
        plain = await js.key_value(name)
        assert not isinstance(plain, LinearizableKeyValue)
        await plain.put("colour", b"red")
        assert (await plain.get("colour")).value == b"red"

    run_penstock(program)


def test_a_bucket_is_asked_of_its_leader(run_penstock: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        heard: list[str] = []

        async def hear(message: Msg) -> None:
            heard.append(message.subject)

        await js.connection.subscribe("$JS.API.DIRECT.GET.>", cb=hear)
        await js.connection.subscribe("$JS.API.STREAM.MSG.GET.>", cb=hear)
        await js.connection.subscribe("$JS.API.CONSUMER.CREATE.>", cb=hear)
        bucket = await js.create_key_value(bucket=name, linearizable_reads=True)
        store = await js.create_object_store(name, linearizable_reads=True)
        await bucket.put("colour", b"green")
        await store.put("letter", b"Dear reader")
        reads: list[Callable[[], Awaitable[object]]] = [
            lambda: bucket.get("colour"),
            bucket.keys,
            lambda: bucket.history("colour"),
            lambda: store.get("letter"),
            store.list,
        ]
        for read in reads:
            await read()
        await js.connection.flush()
        assert heard == []

    run_penstock(program)


def test_an_object_store(run_penstock: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        made = await js.create_object_store(name, linearizable_reads=True)
        assert isinstance(made, LinearizableObjectStore)
        assert await js.stream(f"OBJ_{name}").read_consistency() == "strong"
        content = bytes(range(256)) * 2000
        with pytest.raises(NotFoundError):
            await made.list()
        await made.put("picture", content)
        await made.put("empty", b"")
        opened = await js.object_store(name, linearizable_reads=True)
        result = await opened.get("picture")
        assert (result.data, result.info.size) == (content, len(content))
        assert (await opened.get("empty")).data == b""
        file = io.BytesIO()
        await opened.get("picture", writeinto=file)
        assert file.getvalue() == content
        assert {info.name for info in await opened.list()} == {"picture", "empty"}
        await opened.delete("empty")
        assert [info.name for info in await opened.list(ignore_deletes=True)] == ["picture"]
        with pytest.raises(ObjectNotFoundError):
            await opened.get("empty")
        assert (await (await js.object_store(name)).get("picture")).data == content

    run_penstock(program)


def test_buckets_of_a_linearizable_context(run_penstock: Run, name: str) -> None:
    async def program(js: JetStream) -> None:
        strict = JetStream(js.connection, linearizable_reads=True)
        assert isinstance(await strict.create_key_value(bucket=name), LinearizableKeyValue)
        assert isinstance(await strict.create_object_store(name), LinearizableObjectStore)
        assert not isinstance(
            await strict.key_value(name, linearizable_reads=False), LinearizableKeyValue
        )

    run_penstock(program)


def test_a_server_that_does_not_know_them(run: Run, name: str) -> None:
    """On the reference it is an error with words; penstock knows them."""

    async def program(js: JetStream) -> None:
        await js.create_key_value(bucket=name)
        bucket = await js.key_value(name, linearizable_reads=True)
        await bucket.put("colour", b"green")
        with pytest.raises(LinearizableReadsNotEnabledError, match="not enabled for this stream"):
            await bucket.get("colour")
        if "penstock_version" in js.connection._server_info:
            return
        with pytest.raises(LinearizableReadsNotEnabledError, match="server does not know"):
            await js.create_key_value(bucket=f"{name}B", linearizable_reads=True)
        with pytest.raises(LinearizableReadsNotEnabledError, match="server does not know"):
            await js.create_object_store(f"{name}B", linearizable_reads=True)

    run(program)
