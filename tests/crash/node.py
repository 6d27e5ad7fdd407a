"""A server process on a store directory that outlives it: started, killed, started again."""

import json
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.parity.servers import BIN, HOST, ServerStartError

READY_SECONDS_MAX = 30.0
STOP_SECONDS_MAX = 20.0


class Node:
    """One start of a server. `wrapper` is a command that runs it, such as strace."""

    def __init__(self, store: Path, jetstream: str = "", wrapper: tuple[str, ...] = ()) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="crash-")
        self._home = Path(self._temporary.name)
        self._log_path = self._home / "stderr"
        config = self._home / "server.conf"
        config.write_text(f'jetstream {{ store_dir: "{store}", {jetstream} }}\n')
        command = [*wrapper, str(BIN / "penstock"), "serve", "-a", HOST, "-p", "-1", "-m", "-1"]
        command += ["--ports_file_dir", str(self._home), "-c", str(config)]
        with self._log_path.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        self._wrapped = bool(wrapper)
        self.port = 0
        self._http = ""
        self._wait_ports()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        self._temporary.cleanup()

    @property
    def log(self) -> str:
        return self._log_path.read_text(errors="replace")

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def pid(self) -> int:
        """Of the server itself, also behind a wrapper."""
        if not self._wrapped:
            return self._process.pid
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return int(children.read_text().split()[0])

    def signal(self, number: signal.Signals) -> None:
        subprocess.run(["kill", f"-{number.value}", str(self.pid())], check=True)

    def kill(self) -> None:
        if self.alive:
            self.signal(signal.SIGKILL)
        self._process.wait(STOP_SECONDS_MAX)

    def stop(self) -> int:
        """A clean stop; returns the exit status."""
        self.signal(signal.SIGTERM)
        return self._process.wait(STOP_SECONDS_MAX)

    def health(self) -> tuple[int, dict[str, Any]]:
        try:
            with urllib.request.urlopen(self._http + "/healthz", timeout=5) as answer:  # noqa: S310 -- http
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def wait_log(self, text: str, seconds_max: float = 10.0) -> None:
        deadline = time.monotonic() + seconds_max
        while text not in self.log:
            assert time.monotonic() < deadline, f"{text!r} is not in the log:\n{self.log}"
            time.sleep(0.02)

    def _wait_ports(self) -> None:
        deadline = time.monotonic() + READY_SECONDS_MAX
        while time.monotonic() < deadline:
            if not self.alive:
                text = self.log
                self._temporary.cleanup()
                raise ServerStartError(text)
            for path in self._home.glob("*.ports"):
                try:
                    ports = json.loads(path.read_text())
                except json.JSONDecodeError:
                    continue  # seen while it was being written
                self.port = int(ports["nats"][0].rsplit(":", 1)[1])
                self._http = ports["monitoring"][0]
                return
            time.sleep(0.01)
        raise ServerStartError(f"not ready after {READY_SECONDS_MAX} s:\n{self.log}")
