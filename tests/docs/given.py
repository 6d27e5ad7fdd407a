"""What examples in docstrings take for granted: a server of their own, with a few streams on it.

A document begins with nothing and shows everything; a docstring shows one call, and what that is
called on is given.
"""

from typing import Any

import nats

import penstock
from penstock import client
from penstock.client import JetStream


async def given() -> dict[str, Any]:
    """Names by themselves; whoever plays the example stops the server and the connection."""
    server = await penstock.Server().start()
    connection = await nats.connect(server.url)
    js = JetStream(connection)
    await _fill(js)
    return {
        "nats": nats,
        "penstock": penstock,
        "client": client,
        "server": server,
        "url": server.url,
        "js": js,
        "hits": await js.counters("HITS"),
        "work": await js.pull_subscribe("orders.>", durable="work", stream="ORDERS"),
    }


async def _fill(js: JetStream) -> None:
    await js.add_stream(name="ORDERS", subjects=["orders.>"], allow_atomic=True, allow_msg_ttl=True)
    await js.add_stream(name="DONE", subjects=["done.>"])
    await js.add_stream(name="HITS", subjects=["hits.>"], allow_msg_counter=True, allow_direct=True)
    for number in range(3):
        await js.publish("orders.eu", f"order {number}".encode())
    await js.publish("hits.home", increment=1)
