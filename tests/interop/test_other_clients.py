"""Clients in other languages against both servers: core, streams, consumers, key-value, objects.

The programs are in `go/` and `js/`; `make interop` gets what they need and builds them. Where that
has not been done they are skipped: nothing here asks the network.
"""

import filecmp
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.interop.nats_command import FETCHED
from tests.parity.servers import Server

HERE = Path(__file__).parent
PARTS = ["core", "streams", "consumers", "keyValue", "objects"]
PROGRAM_SECONDS_MAX = 100.0


def run(*command: str) -> list[str]:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PROGRAM_SECONDS_MAX, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_nats_go(streaming: Server) -> None:
    program = FETCHED / "smoke-go"
    if not program.exists():
        pytest.skip("the program with nats.go was not built: make interop (needs Go)")
    for name in ("main.go", "go.mod"):
        if not filecmp.cmp(HERE / "go" / name, FETCHED / "go" / f"{name}.built", shallow=False):
            pytest.skip(f"{name} has changed since the program was built: make interop")
    assert run(str(program), streaming.url) == PARTS


def test_nats_js(streaming: Server) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node was not found")
    folder = FETCHED / "js"
    if not (folder / "node_modules").exists():
        pytest.skip("nats.js was not fetched: make interop (needs npm)")
    program = shutil.copy(HERE / "js" / "smoke.js", folder)  # beside the packages it imports
    assert run(node, str(program), streaming.url) == PARTS
