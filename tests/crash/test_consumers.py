"""kill -9 while consumers work: what was acknowledged stays done, what was not comes again."""

import contextlib
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from tests.crash.client import wait_load
from tests.crash.history import History
from tests.crash.length import KILLS, SEED
from tests.crash.load import Ballast, Publisher, create
from tests.crash.node import Node
from tests.crash.wire import Wire
from tests.crash.worker import Work, Worker, work_off

SECOND = 1_000_000_000
MODES = {"default": "", "lazy": 'sync_interval: "2m"'}
LOAD = 200  # messages that are worked off before each kill


def consume(wire: Wire, stream: str, name: str, **config: Any) -> None:
    fields = {"durable_name": name, "ack_policy": "explicit", **config}
    body = json.dumps({"stream_name": stream, "config": fields}).encode()
    answer = wire.request(f"$JS.API.CONSUMER.CREATE.{stream}.{name}", body)
    assert "error" not in answer, answer


def info(wire: Wire, work: Work) -> Any:
    return wire.request(work.info_subject)


@pytest.mark.timeout(240 + 60 * KILLS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("retention", ["limits", "workqueue", "interest"])
def test_work_goes_on_after_kills(tmp_path: Path, retention: str, mode: str) -> None:
    dice = random.Random(SEED)
    history, work = History("JOBS"), Work("JOBS", "W")
    for round_number in range(KILLS):
        with Node(tmp_path, MODES[mode]) as node:
            with contextlib.closing(Wire(node.port)) as wire:
                if round_number == 0:
                    create(wire, "JOBS", retention=retention)
                    create(wire, Ballast.NAME, max_msgs=50)
                    consume(wire, "JOBS", "W", ack_wait=SECOND, max_ack_pending=2000)
                figures = info(wire, work)
                assert figures["delivered"]["stream_seq"] >= max(work.promised, default=0)
            load_and_kill(node, history, work, dice)
    with Node(tmp_path, MODES[mode]) as node, contextlib.closing(Wire(node.port)) as wire:
        stored = {*history.acked.values()}
        left = work_off(wire, work)
        lost = stored - left - work.perhaps_done
        assert not lost, f"never delivered again: {sorted(lost)[:20]}"
        assert len(work.promised) >= LOAD * KILLS, "that was no load"
        figures = info(wire, work)
        assert figures["num_ack_pending"] == 0
        assert figures["num_pending"] == 0
        state = wire.request("$JS.API.STREAM.INFO.JOBS")["state"]
        if retention != "limits":
            assert state["messages"] == 0, "what is done is gone"


def load_and_kill(node: Node, history: History, work: Work, dice: random.Random) -> None:
    publisher = Publisher(node.port, history, window=200, burst=50)
    ballast = Ballast(node.port)
    workers = [Worker(node.port, work, dice.randrange(1 << 30)) for _ in range(2)]
    for thread in (publisher, ballast, *workers):
        thread.start()
    wait_load(workers, lambda: len(work.promised), LOAD)
    time.sleep(dice.uniform(0.0, 0.6))  # at any moment of it
    node.kill()
    publisher.finish()
    ballast.finish()
    for worker in workers:
        worker.finish()
