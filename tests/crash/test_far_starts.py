"""Consumers and sources that begin where no stream will ever be: kills and stops come and go."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.crash.load import create
from tests.crash.node import Node
from tests.crash.wire import Wire

FAR = (2**61, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
LAZY = 'sync_interval: "2m"'


def ask(wire: Wire, subject: str, body: dict[str, Any]) -> Any:
    answer = wire.request(f"$JS.API.{subject}", json.dumps(body).encode())
    assert "error" not in answer, answer
    return answer


def leave(node: Node, end: str) -> None:
    if end == "killed":
        node.kill()
        node.wait_exit()
    else:
        assert node.stop() == 0


def begin(wire: Wire) -> None:
    for number, start in enumerate(FAR):
        later = {"deliver_policy": "by_start_sequence", "opt_start_seq": start}
        for name, start_at in ((f"far{number}", later), (f"reset{number}", {})):
            config = {"durable_name": name, "ack_policy": "explicit", **start_at}
            ask(wire, f"CONSUMER.CREATE.JOBS.{name}", {"stream_name": "JOBS", "config": config})
        ask(wire, f"CONSUMER.RESET.JOBS.reset{number}", {"seq": start})
        source = {"name": "JOBS", "opt_start_seq": start}
        ask(wire, f"STREAM.CREATE.S{number}", {"name": f"S{number}", "sources": [source]})


@pytest.mark.parametrize("jetstream", ["", LAZY], ids=["durable", "lazy"])
@pytest.mark.parametrize("end", ["killed", "stopped"])
def test_a_start_that_is_yet_to_come_stays_where_it_is(
    tmp_path: Path, jetstream: str, end: str
) -> None:
    with Node(tmp_path, jetstream) as node:
        with contextlib.closing(Wire(node.port)) as wire:
            create(wire, "JOBS", subjects=["jobs.>"])
            config = {"durable_name": "C", "ack_policy": "none"}
            config |= {"deliver_policy": "by_start_sequence", "opt_start_seq": 4}
            ask(wire, "CONSUMER.CREATE.JOBS.C", {"stream_name": "JOBS", "config": config})
            assert wire.request("jobs.a", b"1")["seq"] == 1
        leave(node, end)
    with Node(tmp_path, jetstream) as node, contextlib.closing(Wire(node.port)) as wire:
        for number in (2, 3, 4, 5):
            assert wire.request("jobs.a", b"%d" % number)["seq"] == number
        wire.ask("$JS.API.CONSUMER.MSG.NEXT.JOBS.C", b'{"batch":9,"no_wait":true}')
        assert [wire.wait_any("jobs.").payload for _ in range(2)] == [b"4", b"5"]


@pytest.mark.parametrize("jetstream", ["", LAZY], ids=["durable", "lazy"])
@pytest.mark.parametrize("end", ["killed", "stopped"])
def test_they_are_there_again(tmp_path: Path, jetstream: str, end: str) -> None:
    with Node(tmp_path, jetstream) as node:
        with contextlib.closing(Wire(node.port)) as wire:
            create(wire, "JOBS", subjects=["jobs.>"])
            begin(wire)
            assert wire.request("jobs.a", b"1")["seq"] == 1
        leave(node, end)
    with Node(tmp_path, jetstream) as node, contextlib.closing(Wire(node.port)) as wire:
        names = wire.request("$JS.API.CONSUMER.NAMES.JOBS")["consumers"]
        assert len(names) == 2 * len(FAR)
        for name in names:
            info = wire.request(f"$JS.API.CONSUMER.INFO.JOBS.{name}")
            assert info["num_pending"] == 0, info
        assert wire.request("jobs.a", b"2")["seq"] == 2
        for number in range(len(FAR)):
            assert wire.request(f"$JS.API.STREAM.INFO.S{number}")["state"]["messages"] == 0
