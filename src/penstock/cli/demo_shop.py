"""The server's part of the tour: a shop that sells in three regions.

Each step does one thing with a server, through the SDK, and returns what it has seen in a line or
two. What it must see is checked: a step that sees something else ends the tour. Nothing is polled:
where a step waits, a message comes.

What is stored here is what the pipelines then work on.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from nats.aio.msg import Msg
from nats.errors import Error as ClientError
from nats.errors import TimeoutError as NothingCameError
from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig, StreamConfig, StreamSource, SubjectTransform
from nats.js.errors import APIError

from penstock.cli.exits import CommandError
from penstock.client import JetStream, connect

REGIONS = ("eu", "us", "asia")
ITEMS = {"tea": 3, "coffee": 4, "cocoa": 5}
ORDERS = 3_000
OPENING = datetime(2026, 1, 5, 9, tzinfo=UTC)  # orders are told to be two seconds apart
PATIENCE_SECONDS = 20.0  # a message that does not come until then does not come
TTL_SECONDS = 1  # the shortest there is; none is shorter than that of its marker
BATCH = 3
FETCH = 200

STEP_SECONDS_MAX = 60  # one takes a second or two

Step = Callable[[JetStream], Awaitable[list[str]]]
Say = Callable[[str, str], None]


class Order(NamedTuple):
    """What is sold, and where."""

    number: int
    region: str
    item: str
    price: int

    @property
    def subject(self) -> str:
        return f"orders.{self.region}.{self.item}"

    @property
    def payload(self) -> bytes:
        at = OPENING + timedelta(seconds=2 * self.number)
        told = {"order": self.number, "region": self.region, "item": self.item}
        return json.dumps(told | {"price": self.price, "time": at.isoformat()}).encode()


def all_orders() -> Iterator[Order]:
    """The same in every tour."""
    items = [*ITEMS.items()]
    for number in range(1, ORDERS + 1):
        item, price = items[number * number % 7 % len(items)]
        yield Order(number, REGIONS[number % len(REGIONS)], item, price * (1 + number % 4))


async def orders(js: JetStream) -> list[str]:
    await _add_orders(js)
    begun = time.perf_counter()
    acks = [await js.publish_async(one.subject, one.payload) for one in all_orders()]
    stored = {(await ack).seq for ack in acks}
    seconds = time.perf_counter() - begun
    _must(len(stored) == ORDERS, f"{len(stored)} of {ORDERS} orders were stored")
    regions = ", ".join(REGIONS)
    return [f"{ORDERS:,} orders from {regions}: all of them on the disk after {seconds:.1f} s"]


async def _add_orders(js: JetStream) -> None:
    """What Spark writes comes in batches; each ends with a line of its ledger, in the stream."""
    for name, subjects in (("ORDERS", "orders.>"), ("TRENDS", "trends.>")):
        await js.add_stream(
            name=name,
            subjects=[subjects, f"spark_ledger.{name}.>"],
            allow_direct=True,
            allow_atomic=True,
        )


async def counters(js: JetStream) -> list[str]:
    """A stream of counters in every region; the world has their sums."""
    await _add_counters(js)
    sold: Counter[str] = Counter()
    acks = []
    for one in all_orders():
        sold[f"sales.{one.item}"] += one.price
        subject = f"sales.{one.region}.{one.item}"
        acks.append(await js.publish_async(subject, increment=one.price))
    for ack in acks:
        await ack
    await _world_comes_to(js, sold)
    tea = await (await js.counters("WORLD")).get_entry("sales.tea")
    parts = {stream: sum(values.values()) for stream, values in tea.sources.items()}
    _must(sum(parts.values()) == tea.value, f"{parts} do not come to {tea.value}")
    shown = " + ".join(f"{stream} {value:,}" for stream, value in sorted(parts.items()))
    world = ", ".join(f"{subject} {value:,}" for subject, value in sorted(sold.items()))
    return [
        f"{ORDERS:,} additions in {len(REGIONS)} regions, sourced into WORLD: {world}",
        f"WORLD knows where it comes from: sales.tea {tea.value:,} = {shown}",
    ]


async def _add_counters(js: JetStream) -> None:
    sources = []
    for region in REGIONS:
        name, subjects = f"SALES-{region.upper()}", f"sales.{region}.>"
        await js.add_stream(_counting(name, subjects=[subjects]))
        transform = SubjectTransform(src=subjects, dest="sales.>")
        sources.append(StreamSource(name=name, subject_transforms=[transform]))
    await js.add_stream(_counting("WORLD", sources=sources))


def _counting(name: str, **more: Any) -> StreamConfig:
    return StreamConfig(name=name, allow_msg_counter=True, allow_direct=True, **more)


async def _world_comes_to(js: JetStream, sold: Counter[str]) -> None:
    """Every message of a counter has its value, so the world's are followed until they fit."""
    values: Counter[str] = Counter()
    following = await js.subscribe("sales.*", stream="WORLD", ordered_consumer=True)
    while values != sold:
        message = await _next(following, f"WORLD comes to {dict(values)}, not {dict(sold)}")
        values[message.subject] = int(json.loads(message.data)["val"])
    await following.unsubscribe()


async def consumer(js: JetStream) -> list[str]:
    """Billing takes what Europe has ordered. One message is handed back, and comes again."""
    metrics = "$JS.EVENT.METRIC.CONSUMER.ACK.>"  # how long each acknowledgement took
    await js.add_stream(name="ACKS", subjects=[metrics], allow_direct=True)
    config = ConsumerConfig(max_ack_pending=ORDERS, sample_freq="100%")
    billing = await js.pull_subscribe("orders.eu.*", durable="billing", config=config)
    (first,) = await billing.fetch(1, timeout=PATIENCE_SECONDS)
    await first.nak()
    wanted = sum(one.region == "eu" for one in all_orders())
    billed: set[int] = set()
    again = 0
    while len(billed) < wanted:
        for message in await billing.fetch(FETCH, timeout=PATIENCE_SECONDS):
            billed.add(message.metadata.sequence.stream)
            again += message.metadata.num_delivered > 1
            await message.ack()
    info = await billing.consumer_info()
    left = (info.num_pending, info.num_ack_pending)
    _must((left, again) == ((0, 0), 1), f"billing is left with {left}, {again} came again")
    await billing.unsubscribe()
    return [f"billing fetched and acknowledged {wanted:,} orders of eu; {again} came again"]


async def ttl(js: JetStream) -> list[str]:
    """A bucket of offers, one of which is over after a second."""
    await js.add_stream(
        name="KV_OFFERS",
        subjects=["$KV.OFFERS.>"],
        max_msgs_per_subject=5,
        allow_direct=True,
        allow_msg_ttl=True,
        allow_rollup_hdrs=True,
        subject_delete_marker_ttl=TTL_SECONDS,
    )
    offers = await js.key_value("OFFERS")
    for item, offer in (("coffee", b"5 % off"), ("coffee", b"10 % off"), ("cocoa", b"new")):
        await offers.put(item, offer)
    await offers.delete("cocoa")
    watching = await js.subscribe("$KV.OFFERS.tea", stream="KV_OFFERS", ordered_consumer=True)
    await js.publish("$KV.OFFERS.tea", b"today only", ttl=TTL_SECONDS)
    await _next(watching, "the offer was not stored")
    begun = time.perf_counter()
    marker = await _next(watching, f"an offer with a TTL of {TTL_SECONDS} s is still there")
    seconds = time.perf_counter() - begun
    reason = (marker.headers or {}).get("Nats-Marker-Reason")
    _must(reason == "MaxAge", f"what came is no marker of the server: {marker.headers}")
    await watching.unsubscribe()
    return [f"an offer with a TTL of {TTL_SECONDS} s was gone after {seconds:.1f} s ({reason})"]


async def batch(js: JetStream) -> list[str]:
    """Orders that belong together are stored together, or not at all."""
    before = await _stored(js)
    together = [Order(ORDERS + at, "eu", "tea", ITEMS["tea"]) for at in range(1, BATCH + 1)]
    async with js.batch() as open_batch:
        for one in together:
            await open_batch.publish(one.subject, one.payload)
        during = await _stored(js)
    after = await _stored(js)
    seen = (during - before, after - before)
    _must(seen == (0, BATCH), f"a batch of {BATCH} showed {seen} messages before and after")
    refusal = await _refusal(js, together)
    _must(await _stored(js) == after, "a part of a batch that was refused is stored")
    return [
        f"{BATCH} orders together: {seen[0]} to be seen before the commit, {seen[1]} after it",
        f"{BATCH} more with a wrong expectation: none is stored ({refusal})",
    ]


async def _refusal(js: JetStream, together: list[Order]) -> str:
    try:
        async with js.batch() as refused:
            for one in together:
                await refused.publish(one.subject, one.payload)
            await refused.publish("orders.eu.tea", expected_last_subject_sequence=1)
    except APIError as error:
        return error.description or str(error)
    raise CommandError("a batch with a wrong expectation was stored")


async def loss(js: JetStream) -> list[str]:
    """Somebody purges the wrong stream."""
    lost = await _stored(js)
    await js.purge_stream("ORDERS")
    left = await _stored(js)
    _must(left == 0, f"{left} messages are left of a stream that was purged")
    return [f"somebody has purged ORDERS: {lost:,} orders are gone"]


async def _stored(js: JetStream) -> int:
    return (await js.stream_info("ORDERS")).state.messages


async def _next(subscription: JetStreamContext.PushSubscription, otherwise: str) -> Msg:
    try:
        return await subscription.next_msg(timeout=PATIENCE_SECONDS)
    except NothingCameError:
        raise CommandError(f"{otherwise} after {PATIENCE_SECONDS:.0f} s") from None


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise CommandError(otherwise)


async def visit(url: str, steps: Mapping[str, Step], say: Say) -> None:
    """Takes these steps, one after the other, and says what each has seen."""
    async with connect(url, name="demo") as js:
        for name, step in steps.items():
            try:
                lines = await asyncio.wait_for(step(js), STEP_SECONDS_MAX)
            except (CommandError, ClientError, TimeoutError) as error:
                problem = str(error) or f"nothing came for {STEP_SECONDS_MAX} s"
                raise CommandError(f"{name}: {problem}") from error
            for text in lines:
                say(name, text)


STEPS: dict[str, Step] = {
    "orders": orders,
    "counters": counters,
    "consumer": consumer,
    "ttl": ttl,
    "batch": batch,
}
