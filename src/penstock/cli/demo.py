"""`penstock demo`: a server and a few real clients in one process, and what passes between them.

Every line printed was observed, nothing is told in advance; the exit status is 1 if something
that must arrive did not.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import NoRespondersError

from penstock.cli.serve import new_event_loop
from penstock.config.options import Options
from penstock.model import version
from penstock.server.app import Server
from penstock.server.log import ServerLog

_BURST = 50_000
_WORKERS = 4


def demo(_arguments: Sequence[str]) -> int:
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_tour())


async def _tour() -> int:
    log = ServerLog(file=None, debug=False, trace=False, with_time=True)
    server = Server(Options(host="127.0.0.1", port=-1, server_name="demo"), log)
    await server.start()
    url = server.urls()["nats"][0]
    _say("server", f"penstock {version.PENSTOCK_VERSION} listens on {url}")
    client = await nats.connect(url, name="demo client")
    try:
        for step in (_wildcards, _requests, _no_responders, _queue_group, _burst):
            await asyncio.wait_for(step(client), timeout=30)
        _show_counters(server)
    except TimeoutError:
        _say("failed", "a message that was expected did not arrive")
        return 1
    finally:
        await client.close()
        await server.stop()
    _say("server", "stopped; the port is free again")
    return 0


async def _wildcards(client: Client) -> None:
    subscription = await client.subscribe("orders.*.created")
    await client.publish("orders.eu.created", b"order 1", headers={"Region": "eu"})
    await client.publish("orders.eu.cancelled", b"not for us")
    await client.publish("orders.us.created", b"order 2")
    for _ in range(2):
        message = await subscription.next_msg()
        headers = f", headers {message.headers}" if message.headers else ""
        _say("orders.*.created", f"got {message.data!r} on {message.subject}{headers}")
    await subscription.unsubscribe()


async def _requests(client: Client) -> None:
    async def answer(message: Msg) -> None:
        await message.respond(b"Hello, " + message.data + b"!")

    service = await client.subscribe("greet", cb=answer)
    started = time.perf_counter()
    reply = await client.request("greet", b"world")
    micros = (time.perf_counter() - started) * 1e6
    _say("request", f"greet 'world' answered {reply.data!r} after {micros:.0f} us")
    await service.unsubscribe()


async def _no_responders(client: Client) -> None:
    try:
        await client.request("nobody.home", b"?")
    except NoRespondersError:
        _say("request", "nobody.home: told at once that nobody listens, no timeout needed")


async def _queue_group(client: Client) -> None:
    taken: Counter[int] = Counter()
    done = asyncio.Event()
    total = 1000

    def worker(number: int) -> Callable[[Msg], Awaitable[None]]:
        async def take(_message: Msg) -> None:
            taken[number] += 1
            if taken.total() == total:
                done.set()

        return take

    workers = [
        await client.subscribe("jobs", queue="workers", cb=worker(number))
        for number in range(_WORKERS)
    ]
    for _ in range(total):
        await client.publish("jobs", b"job")
    await done.wait()
    shares = ", ".join(str(taken[number]) for number in range(_WORKERS))
    _say("queue group", f"{total} jobs to {_WORKERS} workers, each job once: {shares}")
    for subscription in workers:
        await subscription.unsubscribe()


async def _burst(client: Client) -> None:
    received = 0
    done = asyncio.Event()

    async def count(_message: Msg) -> None:
        nonlocal received
        received += 1
        if received == _BURST:
            done.set()

    subscription = await client.subscribe(
        "burst", cb=count, pending_msgs_limit=-1, pending_bytes_limit=-1
    )
    started = time.perf_counter()
    for number in range(_BURST):
        await client.publish("burst", b"x" * 128)
        if number % 1000 == 0:
            await asyncio.sleep(0)
    await done.wait()
    rate = _BURST / (time.perf_counter() - started)
    _say("burst", f"{_BURST:,} messages there and back at {rate:,.0f}/s (nats-py is the limit)")
    await subscription.unsubscribe()


def _show_counters(server: Server) -> None:
    for connection in server.clients:
        traffic = server.hub.traffic(connection.id)
        assert traffic is not None
        _say("monitoring", f"cid {connection.cid}: {traffic[0]:,} messages in, {traffic[2]:,} out")


def _say(who: str, what: str) -> None:
    print(f"  {who:<17} {what}", flush=True)
