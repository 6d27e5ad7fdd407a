"""Requests with priorities that arrive together: the most urgent is served first.

The reference does so too, but now and then it is faster with the first than with reading on.
"""

import contextlib
import json
from pathlib import Path

from tests.crash.load import create
from tests.crash.wire import Wire, published
from tests.server.inside import ServerInside

PRIORITIES = {"low": 3, "high": 1, "middle": 2}


def test_the_most_urgent_of_one_write_is_served_first(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        inside = stack.enter_context(ServerInside(tmp_path))
        wire = stack.enter_context(contextlib.closing(Wire(inside.port)))
        create(wire, "A")
        for number in range(5):
            assert wire.request("A.x", b"%d" % number)["seq"] == number + 1
        groups = {"priority_groups": ["g"], "priority_policy": "prioritized"}
        config = {"durable_name": "C", "ack_policy": "explicit", **groups}
        body = json.dumps({"stream_name": "A", "config": config}).encode()
        assert "error" not in wire.request("$JS.API.CONSUMER.CREATE.A.C", body)
        workers = {}
        for name in PRIORITIES:
            workers[name] = stack.enter_context(contextlib.closing(Wire(inside.port)))
            workers[name].send(f"SUB taken.{name} 9\r\n".encode())
            assert "error" not in workers[name].request("$JS.API.INFO")  # it is subscribed
        asks = b""
        for name, priority in PRIORITIES.items():
            ask = json.dumps({"batch": 2, "group": "g", "priority": priority}).encode()
            asks += published("$JS.API.CONSUMER.MSG.NEXT.A.C", f"taken.{name}", ask)
        wire.send(asks)
        taken = {
            name: [worker.wait("A.x").payload for _ in range(1 if name == "low" else 2)]
            for name, worker in workers.items()
        }
        assert taken == {"high": [b"0", b"1"], "middle": [b"2", b"3"], "low": [b"4"]}
