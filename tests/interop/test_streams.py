"""Streams as clients use them: the walkthrough of the `nats` command on both servers, and nats-py.

The walkthrough is the model document's. It needs the command itself (`make interop`, or NATS_CLI);
what it prints is compared after times, durations and names of the servers were taken out.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import nats
import pytest
from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StreamConfig
from nats.js.errors import APIError, KeyWrongLastSequenceError, NotFoundError

from tests.interop.nats_command import NatsCommand
from tests.parity.servers import IMPLEMENTATIONS, PENSTOCK, Implementation, Server

WALKTHROUGH = """
stream add ORDERS --subjects ORDERS.* --ack --max-msgs=-1 --max-bytes=-1 --max-age=1y \
 --storage file --retention limits --max-msg-size=-1 --discard=old --replicas 1 \
 --dupe-window 2m --no-allow-rollup --no-deny-delete --no-deny-purge \
 --max-msgs-per-subject=-1 --allow-direct
stream info ORDERS
stream info ORDERS --json
stream state ORDERS
stream ls
stream ls --names
stream ls --json
stream report
pub ORDERS.processed "order 4"
stream info ORDERS --state
req -H Nats-Msg-Id:1 ORDERS.new hello1
req -H Nats-Msg-Id:1 ORDERS.new hello2
req -H Nats-Msg-Id:1 ORDERS.new hello3
req -H Nats-Msg-Id:1 ORDERS.new hello4
stream info ORDERS --state
pub ORDERS.new "message {{.Count}}" --count 5
pub --jetstream ORDERS.new words
stream subjects ORDERS
stream subjects ORDERS --json
stream get ORDERS 1
stream get ORDERS --last-for ORDERS.new
stream get ORDERS 99
stream rmm ORDERS 2 --force
stream rmm ORDERS 2 --force
stream info ORDERS --state
stream edit ORDERS --max-msgs 4 --force
stream edit ORDERS --description words --max-age 2h --force
stream edit ORDERS --replicas 3 --force
stream info ORDERS
stream report
stream purge ORDERS --subject ORDERS.processed --force
stream purge ORDERS --keep 2 --force
stream purge ORDERS --force
stream info ORDERS --state
stream copy ORDERS COPY --subjects COPY.*
stream add MEM --subjects MEM.* --defaults --storage memory
stream ls --subject MEM.x
stream find --empty
stream seal MEM --force
pub --jetstream MEM.x words
stream add BAD --subjects ORDERS.new --defaults
account info
stream rm MEM --force
stream rm ORDERS --force
stream rm ORDERS --force
stream ls
kv add KV
kv put KV a 1
kv get KV a
kv update KV a 2 1
kv update KV a 3 1
kv create KV a 9
kv del KV a --force
kv ls
kv info KV
kv rm KV --force
object add OBJ
object info OBJ
object ls
"""


def test_walkthrough(tmp_path: Path) -> None:
    said = []
    for implementation in IMPLEMENTATIONS:
        home = tmp_path / implementation.name
        home.mkdir()
        with Server(implementation, ("-js", "-sd", str(home / "store"))) as server:
            command = NatsCommand(server, home)
            lines = WALKTHROUGH.strip().replace("\\\n", "").splitlines()
            said.append([command.run(line) for line in lines])
    for theirs, ours in zip(*said, strict=True):
        assert ours == theirs


@pytest.fixture(params=IMPLEMENTATIONS, ids=lambda implementation: implementation.name)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    implementation: Implementation = request.param
    with Server(implementation, ("-js", "-sd", str(tmp_path / "store"))) as running:
        yield running


def test_a_stream_with_nats_py(server: Server) -> None:
    async def go() -> None:
        client = await nats.connect(server.url)
        js = client.jetstream(timeout=30)
        await js.add_stream(name="T", subjects=["t.*"], storage=StorageType.FILE, max_msgs=5)
        for number in range(8):
            ack = await js.publish("t.a", b"%d" % number)
            assert (ack.stream, ack.seq) == ("T", number + 1)
        again = [await js.publish("t.b", b"x", headers={"Nats-Msg-Id": "1"}) for _ in range(2)]
        assert [ack.duplicate for ack in again] == [None, True]
        found = await js.stream_info("T")
        assert (found.state.messages, found.state.first_seq, found.state.last_seq) == (5, 5, 9)
        assert (await js.get_msg("T", 6)).data == b"5"
        assert (await js.get_last_msg("T", "t.a")).seq == 8
        assert await js.delete_msg("T", 6)
        with pytest.raises(NotFoundError):
            await js.get_msg("T", 6)
        await js.update_stream(StreamConfig(name="T", subjects=["t.*"], max_msgs=2))
        assert (await js.stream_info("T")).state.messages == 2
        assert await js.purge_stream("T", subject="t.b")
        assert [stream.config.name for stream in await js.streams_info()] == ["T"]
        assert await js.find_stream_name_by_subject("t.a") == "T"
        with pytest.raises(APIError) as refused:
            await js.publish("t.a", b"", headers={"Nats-Expected-Last-Sequence": "99"})
        assert refused.value.err_code == 10071
        assert await js.delete_stream("T")
        assert (await js.account_info()).streams == 0
        await client.close()

    asyncio.run(go())


def test_policies_with_nats_py(server: Server) -> None:
    async def go() -> None:
        client = await nats.connect(server.url)
        js = client.jetstream(timeout=30)
        await js.add_stream(name="N", subjects=["n"], discard=DiscardPolicy.NEW, max_msgs=1)
        await js.publish("n", b"1")
        with pytest.raises(APIError) as full:
            await js.publish("n", b"2")
        assert full.value.err_code == 10077
        await js.add_stream(name="I", subjects=["i"], retention=RetentionPolicy.INTEREST)
        assert (await js.publish("i", b"1")).seq == 1
        assert (await js.stream_info("I")).state.messages == 0
        await js.add_stream(name="W", subjects=["w"], retention=RetentionPolicy.WORK_QUEUE)
        await js.publish("w", b"1")
        assert (await js.stream_info("W")).state.messages == 1
        await client.close()

    asyncio.run(go())


def test_a_key_value_store_with_nats_py(server: Server) -> None:
    async def go() -> None:
        client = await nats.connect(server.url)
        js = client.jetstream(timeout=30)
        bucket = await js.create_key_value(bucket="B", history=3)
        first = await bucket.put("a", b"1")
        assert await bucket.update("a", b"2", last=first) == 2
        with pytest.raises(KeyWrongLastSequenceError):
            await bucket.update("a", b"3", last=first)
        assert (await bucket.get("a")).value == b"2"
        assert (await bucket.get("a", revision=1)).value == b"1"
        await bucket.delete("a")
        assert await bucket.create("a", b"4") == 4
        status = await bucket.status()
        assert (status.values, status.history) == (3, 3)
        await client.close()

    asyncio.run(go())


def test_advisories_are_heard(tmp_path: Path) -> None:
    async def go(server: Server) -> None:
        client = await nats.connect(server.url)
        heard = await client.subscribe("$JS.EVENT.ADVISORY.STREAM.>")
        js = client.jetstream(timeout=30)
        await js.add_stream(name="T", subjects=["t"])
        await js.delete_stream("T")
        subjects = [(await heard.next_msg(30)).subject.rsplit(".", 2)[1] for _ in range(2)]
        assert subjects == ["CREATED", "DELETED"]
        await client.close()

    with Server(PENSTOCK, ("-js", "-sd", str(tmp_path))) as server:
        asyncio.run(go(server))
