"""A server as a process: started with its own directory, ready when its ports file is complete.

That is how tools that use `--ports_file_dir` see it, so no port is guessed and nothing is polled
over the network. One that does not become ready fails with what it wrote.
"""

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

BIN = Path(sys.executable).parent
HOST = "127.0.0.1"
READY_SECONDS_MAX = 60.0  # a loaded machine with 2 cores, a store to recover; idle: less than 1 s
STOP_SECONDS_MAX = 60.0
POLL_SECONDS = 0.005


class ServerStartError(Exception):
    """The process ended, or never wrote its ports file; the text holds what it wrote."""


class ServerProcess:
    """A running server; `port` takes clients, `ports` is the whole file.

    `wrapper` is a command that runs it, such as strace.
    """

    def __init__(
        self,
        command: Sequence[str],
        flags: Sequence[str] = (),
        config: str = "",
        wrapper: Sequence[str] = (),
    ) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix=f"{Path(command[0]).name}-")
        self.directory = Path(self._temporary.name)
        self._log_path = self.directory / "stderr"
        self._is_wrapped = bool(wrapper)
        where = ["-a", HOST, "-p", "-1", "--ports_file_dir", str(self.directory)]
        if config:
            config_path = self.directory / "server.conf"
            config_path.write_text(config)
            where += ["-c", str(config_path)]
        with self._log_path.open("wb") as log:
            self.process = subprocess.Popen(
                [*wrapper, *command, *where, *flags], stdout=log, stderr=log
            )
        try:
            self.ports = self._wait_ports()
        except BaseException:  # also a test that takes too long
            self.close()
            raise
        self.port = int(self.ports["nats"][0].rsplit(":", 1)[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        return f"nats://{HOST}:{self.port}"

    @property
    def log(self) -> str:
        return self._log_path.read_text(errors="replace")

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def pid(self) -> int:
        """Of the server itself, also behind a wrapper."""
        if not self._is_wrapped:
            return self.process.pid
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return int(children.read_text().split()[0])

    def signal(self, name: str) -> None:
        subprocess.run(["kill", f"-{signal.Signals[name].value}", str(self.pid)], check=True)

    def wait_exit(self) -> int:
        return self.process.wait(STOP_SECONDS_MAX)

    def wait_log(self, text: str) -> None:
        """Until its log has a text."""
        deadline = time.monotonic() + READY_SECONDS_MAX
        while text not in self.log:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{text!r} is not in the log:\n{self.log}")
            time.sleep(POLL_SECONDS)

    def kill(self) -> None:
        """What it wrote stays readable."""
        if self.alive:
            self.signal("SIGKILL")
        self.wait_exit()

    def close(self) -> None:
        self.kill()
        self._temporary.cleanup()

    def _wait_ports(self) -> dict[str, list[str]]:
        deadline = time.monotonic() + READY_SECONDS_MAX
        while time.monotonic() < deadline:
            if not self.alive:
                status = self.process.returncode
                raise ServerStartError(f"{self.directory.name} ended with {status}:\n{self.log}")
            for path in self.directory.glob("*.ports"):
                try:
                    ports: dict[str, list[str]] = json.loads(path.read_text())
                except json.JSONDecodeError:
                    continue  # seen while it was being written
                return ports
            time.sleep(POLL_SECONDS)
        raise ServerStartError(
            f"{self.directory.name}: no ports file in {READY_SECONDS_MAX} s:\n{self.log}"
        )
