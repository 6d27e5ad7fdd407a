"""`python -m benchmarks.client`: what the SDK adds to nats-py, and how long starts take.

The same work is done with nats-py alone and with the SDK, in rounds that take turns, against a
penstock in a process of its own. Both the time that passes and the time of this process's CPU are
shown as medians over the rounds; the ratio is the median of the rounds' ratios, so that a busy
moment of the machine counts for both.
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import nats
from nats.js.api import StorageType, StreamConfig
from tests.server_process import BIN, ServerProcess

from benchmarks import starts
from penstock.client import JetStream

ADDITIONS = 1000
BATCHES = 20
BATCH_MESSAGES = 100
ADDED_RATIO_MAX = 1.2

Work = Callable[[JetStream], Awaitable[None]]


async def raw_add(js: JetStream) -> None:
    client = js.connection
    for _ in range(ADDITIONS):
        answer = await client.request("hits.home", b"", timeout=5, headers={"Nats-Incr": "+1"})
        told = json.loads(answer.data)
        if "error" in told:
            raise RuntimeError(told)
        int(told["val"])


async def sdk_add(js: JetStream) -> None:
    hits = await js.counters("HITS")
    for _ in range(ADDITIONS):
        await hits.add("hits.home", 1)


async def raw_batches(js: JetStream) -> None:
    client = js.connection
    for _ in range(BATCHES):
        batch = client.new_inbox().rpartition(".")[2]
        for number in range(1, BATCH_MESSAGES):
            headers = {"Nats-Batch-Id": batch, "Nats-Batch-Sequence": str(number)}
            if number == 1:
                await client.request("orders.eu", b"order", timeout=5, headers=headers)
            else:
                await client.publish("orders.eu", b"order", headers=headers)
        headers = {
            "Nats-Batch-Id": batch,
            "Nats-Batch-Sequence": str(BATCH_MESSAGES),
            "Nats-Batch-Commit": "1",
        }
        answer = await client.request("orders.eu", b"order", timeout=5, headers=headers)
        if json.loads(answer.data).get("count") != BATCH_MESSAGES:
            raise RuntimeError(answer.data)


async def sdk_batches(js: JetStream) -> None:
    for _ in range(BATCHES):
        async with js.batch(ack_every=0) as batch:
            for _ in range(BATCH_MESSAGES - 1):
                await batch.publish("orders.eu", b"order")
            await batch.commit("orders.eu", b"order")


async def compare(js: JetStream, raw: Work, sdk: Work, rounds: int) -> list[tuple[float, ...]]:
    """Wall and CPU seconds of each round: raw, raw, SDK, SDK."""
    figures = []
    for number in range(rounds + 1):
        one: dict[Work, tuple[float, float]] = {}
        for work in (raw, sdk) if number % 2 else (sdk, raw):
            wall, cpu = time.perf_counter(), time.process_time()
            await work(js)
            one[work] = time.perf_counter() - wall, time.process_time() - cpu
        if number:  # the first is to warm up
            figures.append((*one[raw], *one[sdk]))
    return figures


def show(title: str, figures: list[tuple[float, ...]], count: int) -> None:
    for name, place in (("wall", 0), ("cpu", 1)):
        raw = statistics.median(row[place] for row in figures) / count * 1e6
        sdk = statistics.median(row[place + 2] for row in figures) / count * 1e6
        ratio = statistics.median(row[place + 2] / row[place] for row in figures)
        print(
            f"{title}, {name}: SDK {sdk:.1f} us, nats-py {raw:.1f} us, ratio {ratio:.2f}"
            f" (at most {ADDED_RATIO_MAX}: {starts.verdict(ratio <= ADDED_RATIO_MAX)})"
        )


async def against(url: str, rounds: int) -> None:
    connection = await nats.connect(url)
    js = JetStream(connection)
    memory = StreamConfig(storage=StorageType.MEMORY, max_msgs=1000)  # no disk between the two
    await js.add_stream(memory, name="HITS", subjects=["hits.>"], allow_msg_counter=True)
    await js.add_stream(memory, name="ORDERS", subjects=["orders.>"], allow_atomic=True)
    show("one addition", await compare(js, raw_add, sdk_add, rounds), ADDITIONS)
    batches = await compare(js, raw_batches, sdk_batches, rounds)
    show("one message of a batch", batches, BATCHES * BATCH_MESSAGES)
    await connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    starts.embedded()
    starts.imports(rounds)
    starts.help_text(rounds)
    with TemporaryDirectory() as store:
        flags = ("-js", "-sd", str(Path(store)))
        with ServerProcess((str(BIN / "penstock"), "serve"), flags) as server:
            asyncio.run(against(server.url, rounds))


if __name__ == "__main__":
    main()
