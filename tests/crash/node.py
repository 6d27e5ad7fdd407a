"""A server on a store directory that outlives it: started, killed, started again."""

import json
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.crash.tracing import require_strace
from tests.crash.waiting import SECONDS_MAX
from tests.server_process import BIN, ServerProcess

PENSTOCK = (str(BIN / "penstock"), "serve")
WAIT_SECONDS_MAX = SECONDS_MAX
# Whatever proxy the environment names: it would not find this machine.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Node(ServerProcess):
    """One start of a server; `jetstream` is more for that block of its configuration, `more` for
    the rest of it."""

    def __init__(
        self, store: Path, jetstream: str = "", wrapper: tuple[str, ...] = (), more: str = ""
    ) -> None:
        if wrapper:
            require_strace()
        config = f'jetstream {{ store_dir: "{store}", {jetstream} }}\n{more}\n'
        super().__init__(PENSTOCK, ("-m", "-1"), config, wrapper)

    def stop(self) -> int:
        """A clean stop; returns the exit status."""
        self.signal("SIGTERM")
        return self.wait_exit()

    def health(self) -> tuple[int, dict[str, Any]]:
        url = self.ports["monitoring"][0] + "/healthz"
        try:
            with _OPENER.open(url, timeout=SECONDS_MAX) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)


def wait_health(node: Node, status: int) -> str:
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while True:
        found, body = node.health()
        if found == status:
            return str(body.get("error", ""))
        assert time.monotonic() < deadline, f"{found} {body}\n{told(node)}"
        time.sleep(0.05)


def told(node: Node) -> str:
    """The log without what these tests themselves cause."""
    lines = node.log.splitlines()
    return "\n".join(line for line in lines if "Healthcheck failed" not in line)
