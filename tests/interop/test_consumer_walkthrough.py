"""The model document's walk through consumers, with the `nats` command on both servers.

Where the document waits for minutes, this waits for a second or two: time itself is the point.
"""

import asyncio
import re
import time
from pathlib import Path

from nats import connect

from tests.interop.nats_command import NatsCommand, same_for_all
from tests.parity.servers import IMPLEMENTATIONS, Implementation, Server

STREAM = "stream add ORDERS --subjects ORDERS.* --defaults"
STEPS = """
consumer add ORDERS DISPATCH --pull --filter ORDERS.processed --ack explicit --deliver all \
 --replay instant --sample 100 --wait 1s --defaults
stream info ORDERS --state
consumer info ORDERS DISPATCH
consumer info ORDERS DISPATCH --json
pub ORDERS.processed "order 4"
stream info ORDERS --state
consumer next ORDERS DISPATCH
consumer info ORDERS DISPATCH
pub ORDERS.processed "order 5"
consumer next ORDERS DISPATCH --no-ack
consumer info ORDERS DISPATCH
consumer next ORDERS DISPATCH --no-ack
consumer info ORDERS DISPATCH
consumer next ORDERS DISPATCH
consumer info ORDERS DISPATCH
consumer ls ORDERS
consumer ls ORDERS --names
consumer ls ORDERS --json
consumer report ORDERS
consumer edit ORDERS DISPATCH --description words --force
consumer edit ORDERS DISPATCH --ack none --force
consumer pause ORDERS DISPATCH 1h --force
consumer resume ORDERS DISPATCH --force
consumer copy ORDERS DISPATCH ANOTHER --deliver new
consumer add ORDERS BAD --pull --filter NOT.ours --defaults
consumer add ORDERS DISPATCH --pull --ack none --defaults
consumer find ORDERS --pull
consumer rm ORDERS ANOTHER --force
consumer rm ORDERS ANOTHER --force
consumer info ORDERS ANOTHER
stream purge ORDERS --force
pub ORDERS.processed "order {{Count}}" --count 100
consumer add ORDERS ALL --pull --filter ORDERS.processed --ack none --replay instant \
 --deliver all --defaults
consumer next ORDERS ALL
consumer next ORDERS ALL --count 3
consumer add ORDERS LAST --pull --filter ORDERS.processed --ack none --replay instant \
 --deliver last --defaults
consumer next ORDERS LAST
consumer add ORDERS TEN --pull --filter ORDERS.processed --ack none --replay instant \
 --deliver 10 --defaults
consumer next ORDERS TEN
consumer add ORDERS NEW --pull --filter ORDERS.processed --ack none --replay instant \
 --deliver new --defaults
consumer info ORDERS NEW
consumer report ORDERS
"""


def walked(kind: Implementation, home: Path) -> list[str]:
    """What every command says."""
    home.mkdir()
    with Server(kind, ("-js", "-sd", str(home / "store"))) as server:
        nats = NatsCommand(server, home)
        said = [nats.run(STREAM)]
        said += [nats.run(line) for line in STEPS.strip().replace("\\\n", "").splitlines()]
        said += by_time(nats)
        said += ephemeral(nats)
        said += sampled(nats, server)
        said += original(nats)
        return said


def by_time(nats: NatsCommand) -> list[str]:
    said = [nats.run("stream purge ORDERS --force")]
    for number in (1, 2, 3):
        said.append(nats.run(f'pub ORDERS.processed "order {number}"'))
        if number == 1:
            time.sleep(6)  # older than what is asked for; the others have seconds left until then
    policies = "--pull --filter ORDERS.processed --ack none --replay instant --defaults"
    said.append(nats.run(f"consumer add ORDERS RECENT {policies} --deliver 5s"))
    said.append(nats.run("consumer next ORDERS RECENT"))
    return said


def ephemeral(nats: NatsCommand) -> list[str]:
    """It delivers to whoever listens, and goes some time after nobody does any more."""
    add = "consumer add ORDERS --filter '' --ack none --target my.monitor --deliver last "
    add += "--replay instant --ephemeral --inactive-threshold 2s --defaults"
    with nats.running("sub my.monitor --count 1") as listener:
        assert "[0]" in nats.run(add)
        output, _ = listener.communicate(timeout=30)
    assert listener.returncode == 0, output
    deadline = time.monotonic() + 30
    while "my.monitor" in (listed := nats.run("consumer ls ORDERS --json")):
        assert time.monotonic() < deadline, listed
    return [re.sub(r"ORDERS\.\w{8}\.", "ORDERS.<name>.", same_for_all(output))]


def sampled(nats: NatsCommand, server: Server) -> list[str]:
    said = [nats.run("consumer rm ORDERS DISPATCH --force")]
    add = "consumer add ORDERS SAMPLED --pull --ack explicit --deliver all --sample 100 --defaults"
    said.append(nats.run(add))

    async def heard() -> str:
        client = await connect(server.url)
        samples = await client.subscribe("$JS.EVENT.METRIC.CONSUMER.ACK.>")
        await client.flush()
        said.append(await asyncio.to_thread(nats.run, "consumer next ORDERS SAMPLED"))
        sample = await samples.next_msg(timeout=30)
        await client.close()
        return f"{sample.subject}: {sample.data.decode()}"

    said.append(same_for_all(asyncio.run(heard())))
    said.append(nats.run("consumer info ORDERS SAMPLED"))
    return said


def original(nats: NatsCommand) -> list[str]:
    """Messages come as far apart as they were published."""
    add = "consumer add ORDERS REPLAY --target out.original --filter ORDERS.processed --ack none "
    add += "--deliver all --sample 100 --replay original --heartbeat=1m --flow-control "
    add += "--no-headers-only --deliver-group '' --max-deliver=-1 --wait 0s --backoff none"
    said = [nats.run(add)]
    began = time.monotonic()
    with nats.running("sub out.original --count 3") as listener:
        output, _ = listener.communicate(timeout=60)
    assert time.monotonic() - began > 5, said[0] + output
    said.append(same_for_all(output))
    return said


def test_walkthrough(tmp_path: Path) -> None:
    theirs, ours = (walked(kind, tmp_path / kind.name) for kind in IMPLEMENTATIONS)
    for expected, found in zip(theirs, ours, strict=True):
        assert found == expected
