"""Consumers as nats-py uses them, on both servers: pull, push, ordered, key-value, objects."""

import asyncio

import nats
import pytest
from nats.aio.client import Client
from nats.errors import TimeoutError as FetchTimeoutError
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, RetentionPolicy
from nats.js.errors import NotFoundError

from tests.parity.servers import IMPLEMENTATIONS, REFERENCE, Implementation, Server

ANSWER_SECONDS_MAX = 30.0  # for what must come: a loaded machine may be that late

both = pytest.mark.parametrize("kind", IMPLEMENTATIONS, ids=lambda kind: kind.name)


async def connected(server: Server) -> tuple[Client, JetStreamContext]:
    client = await nats.connect(f"nats://127.0.0.1:{server.port}")
    return client, client.jetstream(timeout=ANSWER_SECONDS_MAX)


async def filled(stream: JetStreamContext, count: int) -> None:
    await stream.add_stream(name="T", subjects=["t.>"])
    for number in range(1, count + 1):
        await stream.publish(f"t.{number % 3}", b"%d" % number)


@both
def test_pull(kind: Implementation, tmp_path: object) -> None:
    async def play(server: Server) -> None:
        client, stream = await connected(server)
        await filled(stream, 10)
        pulled = await stream.pull_subscribe("t.>", durable="C")
        first = await pulled.fetch(4, timeout=ANSWER_SECONDS_MAX)
        assert [int(message.data) for message in first] == [1, 2, 3, 4]
        assert [message.metadata.num_pending for message in first] == [9, 8, 7, 6]
        for message in first[:2]:
            await message.ack_sync(timeout=ANSWER_SECONDS_MAX)
        for message, verdict in ((first[2], b"-NAK"), (first[3], b"+TERM")):
            # With an answer, or it may come too late.
            await client.request(message.reply, verdict, timeout=ANSWER_SECONDS_MAX)
        again = await pulled.fetch(3, timeout=ANSWER_SECONDS_MAX)
        assert [int(message.data) for message in again] == [3, 5, 6]
        assert again[0].metadata.num_delivered == 2
        for message in again:
            await message.ack()
        rest = await pulled.fetch(100, timeout=ANSWER_SECONDS_MAX)
        assert [int(message.data) for message in rest] == [7, 8, 9, 10]
        for message in rest:
            await message.ack_sync(timeout=ANSWER_SECONDS_MAX)
        with pytest.raises(FetchTimeoutError):
            await pulled.fetch(1, timeout=0.2)
        info = await pulled.consumer_info()
        assert (info.num_pending, info.num_ack_pending) == (0, 0)
        assert info.ack_floor is not None
        assert info.ack_floor.stream_seq == 10
        assert await stream.delete_consumer("T", "C")
        with pytest.raises(NotFoundError):
            await stream.consumer_info("T", "C")
        await client.close()

    with Server(kind, ("-js", "-sd", str(tmp_path))) as server:
        asyncio.run(play(server))


@both
def test_push(kind: Implementation, tmp_path: object) -> None:
    async def play(server: Server) -> None:
        client, stream = await connected(server)
        await filled(stream, 5)
        pushed = await stream.subscribe("t.>", durable="P", manual_ack=True)
        for number in range(1, 6):
            message = await pushed.next_msg(timeout=ANSWER_SECONDS_MAX)
            assert int(message.data) == number
            await message.ack_sync(timeout=ANSWER_SECONDS_MAX)
        await stream.publish("t.9", b"6")
        assert int((await pushed.next_msg(timeout=ANSWER_SECONDS_MAX)).data) == 6
        members = [await stream.subscribe("t.>", queue="G", config=config("all")) for _ in range(2)]
        counts = [0, 0]
        for _ in range(6):
            done, waiting = await asyncio.wait(
                [
                    asyncio.ensure_future(member.next_msg(timeout=ANSWER_SECONDS_MAX))
                    for member in members
                ],
                return_when=asyncio.FIRST_COMPLETED,
            )
            for task in waiting:
                task.cancel()
            for task in done:
                counts[0] += int(task.result().data) > 0
        assert counts[0] == 6
        await client.close()

    def config(policy: str) -> ConsumerConfig:
        return ConsumerConfig(
            deliver_policy=DeliverPolicy(policy), ack_policy=AckPolicy.NONE, deliver_subject="D.g"
        )

    with Server(kind, ("-js", "-sd", str(tmp_path))) as server:
        asyncio.run(play(server))


@both
def test_ordered(kind: Implementation, tmp_path: object) -> None:
    """Flow control on the way: more bytes than its first window."""

    async def play(server: Server) -> None:
        client, stream = await connected(server)
        await stream.add_stream(name="T", subjects=["t.>"])
        for number in range(60):
            await stream.publish("t.x", b"%d:" % number + b"." * 100_000)
        ordered = await stream.subscribe("t.>", ordered_consumer=True, idle_heartbeat=10.0)
        for number in range(60):
            message = await ordered.next_msg(timeout=ANSWER_SECONDS_MAX)
            assert message.data.startswith(b"%d:" % number)
        await client.close()

    with Server(kind, ("-js", "-sd", str(tmp_path))) as server:
        asyncio.run(play(server))


@both
def test_work_queue(kind: Implementation, tmp_path: object) -> None:
    async def play(server: Server) -> None:
        client, stream = await connected(server)
        await stream.add_stream(name="W", subjects=["w"], retention=RetentionPolicy.WORK_QUEUE)
        for number in range(6):
            await stream.publish("w", b"%d" % number)
        workers = [await stream.pull_subscribe("w", durable="C") for _ in range(2)]
        taken = []
        for worker in (*workers, *workers, *workers):
            (message,) = await worker.fetch(1, timeout=ANSWER_SECONDS_MAX)
            taken.append(int(message.data))
            await message.ack_sync(timeout=ANSWER_SECONDS_MAX)
        assert taken == [*range(6)]
        assert (await stream.stream_info("W")).state.messages == 0
        await client.close()

    with Server(kind, ("-js", "-sd", str(tmp_path))) as server:
        asyncio.run(play(server))


@both
def test_key_value_and_objects(kind: Implementation, tmp_path: object) -> None:
    """Watching and listing keys, and reading objects, are consumers."""

    async def play(server: Server) -> None:
        client, stream = await connected(server)
        await stream.add_stream(
            name="KV_B",
            subjects=["$KV.B.>"],
            max_msgs_per_subject=3,
            allow_rollup_hdrs=True,
            deny_delete=True,
            allow_direct=True,
        )
        bucket = await stream.key_value("B")
        for number in range(5):
            await bucket.put(f"k{number % 2}", b"%d" % number)
        assert sorted(await bucket.keys()) == ["k0", "k1"]
        history = await bucket.history("k0")
        assert [entry.value for entry in history] == [b"0", b"2", b"4"]
        watcher = await bucket.watchall()
        seen = []
        while (entry := await watcher.updates(timeout=ANSWER_SECONDS_MAX)) is not None:
            seen.append((entry.key, entry.value))
        assert sorted(seen) == [("k0", b"4"), ("k1", b"3")]
        await bucket.put("k2", b"new")
        entry = await watcher.updates(timeout=ANSWER_SECONDS_MAX)
        assert entry is not None
        assert entry.key == "k2"
        await watcher.stop()
        objects = await stream.create_object_store(bucket="O")
        content = bytes(range(256)) * 2000
        await objects.put("thing", content)
        assert (await objects.get("thing")).data == content
        await client.close()

    with Server(kind, ("-js", "-sd", str(tmp_path))) as server:
        asyncio.run(play(server))


@both
def test_an_answered_ack_of_all_holds_whatever_was_purged(
    kind: Implementation, tmp_path: object
) -> None:
    """The reference counts a purged message as the last one acknowledged, and then takes the real
    acknowledgement for an old one: it answers and forgets it."""

    async def play(server: Server) -> None:
        client, stream = await connected(server)
        await stream.add_stream(name="T", subjects=["t.>"])
        for number in range(1, 11):
            await stream.publish(f"t.{number}", b"%d" % number)
        config = ConsumerConfig(ack_policy=AckPolicy.ALL, ack_wait=4)
        pulled = await stream.pull_subscribe("t.>", durable="C", config=config)
        messages = await pulled.fetch(10, timeout=ANSWER_SECONDS_MAX)
        await stream.purge_stream("T", subject="t.5")
        await messages[3].ack_sync(timeout=ANSWER_SECONDS_MAX)
        coming_again = 5 if kind.name == "penstock" else 9  # all but the purged one
        assert (await pulled.consumer_info()).num_ack_pending == coming_again
        again = await pulled.fetch(coming_again, timeout=ANSWER_SECONDS_MAX)
        expected = ["6", "7", "8", "9", "10"]
        if kind.name == "reference":
            expected = ["1", "2", "3", "4", *expected]
        assert [message.data.decode() for message in again] == expected
        await client.close()

    with Server(kind, ("-js", "-sd", str(tmp_path))) as server:
        asyncio.run(play(server))


@both
def test_an_answered_ack_of_all_holds_after_one_of_a_redelivery(
    kind: Implementation, tmp_path: object
) -> None:
    """For the reference, what was delivered before the redelivery is older than its floor."""

    async def play(server: Server) -> None:
        client, stream = await connected(server)
        await filled(stream, 5)
        config = ConsumerConfig(ack_policy=AckPolicy.ALL)
        pulled = await stream.pull_subscribe("t.>", durable="C", config=config)
        messages = await pulled.fetch(3, timeout=ANSWER_SECONDS_MAX)
        await client.request(messages[0].reply, b"-NAK", timeout=ANSWER_SECONDS_MAX)
        (again,) = await pulled.fetch(1, timeout=ANSWER_SECONDS_MAX)
        assert again.data == b"1"
        await again.ack_sync(timeout=ANSWER_SECONDS_MAX)
        await messages[2].ack_sync(timeout=ANSWER_SECONDS_MAX)
        left = 0 if kind.name == "penstock" else 2
        assert (await pulled.consumer_info()).num_ack_pending == left
        await client.close()

    with Server(kind, ("-js", "-sd", str(tmp_path))) as server:
        asyncio.run(play(server))


@both
def test_a_stream_that_turns_to_interest_keeps_what_somebody_wants(
    kind: Implementation, tmp_path: object
) -> None:
    """What no filter matches goes at once; the reference keeps it (docs/decisions/0004)."""

    async def play(server: Server) -> None:
        client, stream = await connected(server)
        await filled(stream, 6)
        config = ConsumerConfig(
            durable_name="C", ack_policy=AckPolicy.EXPLICIT, filter_subject="t.2"
        )
        await stream.add_consumer("T", config)
        await stream.update_stream(name="T", subjects=["t.>"], retention=RetentionPolicy.INTEREST)
        state = (await stream.stream_info("T")).state
        kept = 6 if kind is REFERENCE else 2
        assert (state.messages, state.last_seq) == (kept, 6)
        pulled = await stream.pull_subscribe_bind("C", "T")
        wanted = await pulled.fetch(2, timeout=ANSWER_SECONDS_MAX)
        assert [int(message.data) for message in wanted] == [2, 5]
        for message in wanted:
            await message.ack_sync(timeout=ANSWER_SECONDS_MAX)
        assert (await stream.stream_info("T")).state.messages == kept - 2
        await client.close()

    with Server(kind, ("-js", "-sd", str(tmp_path))) as server:
        asyncio.run(play(server))
