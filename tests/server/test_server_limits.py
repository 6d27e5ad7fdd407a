"""What the server may hold bounds what streams without a limit of their own can take."""

import contextlib
import json
from pathlib import Path

import pytest

from penstock.config.options import JetStreamSettings
from tests.crash.load import create
from tests.crash.wire import Wire
from tests.server.inside import ServerInside

LIMIT = 1 << 20
PAYLOAD = bytes(50_000)
TAKEN = 21  # the one that passes the limit is taken, as the reference does
NO_RESOURCES = {"code": 503, "err_code": 10023, "description": "insufficient resources"}


@pytest.mark.parametrize("storage", ["file", "memory"])
def test_publishes_stop_at_the_servers_limit(tmp_path: Path, storage: str) -> None:
    settings = JetStreamSettings(max_file=LIMIT, max_memory=LIMIT)
    with ServerInside(tmp_path, settings) as inside, contextlib.closing(Wire(inside.port)) as wire:
        create(wire, "S", storage=storage)
        replies = [wire.ask("S.x", PAYLOAD) for _ in range(40)]  # many in one turn
        answers = [json.loads(wire.wait(reply).payload) for reply in replies]
        assert [answer.get("seq") for answer in answers[:TAKEN]] == [*range(1, TAKEN + 1)]
        assert all(answer["error"] == NO_RESOURCES for answer in answers[TAKEN:])
        assert wire.request("$JS.API.STREAM.PURGE.S")["purged"] == TAKEN
        assert wire.request("S.x", PAYLOAD)["seq"] == TAKEN + 1
