"""Both servers as real processes: the reference and penstock, started with the same flags.

A server counts as ready when its ports file is complete, as tools that use `--ports_file_dir`
see it. One that does not become ready fails with what it wrote to stderr. `Pool` keeps the
running servers of a test session by their set-up, so that cases with equal flags share one;
it holds few at a time because cases with equal flags stand side by side.
"""

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

BIN = Path(sys.executable).parent
HOST = "127.0.0.1"
NAME = "parity"  # the same for both, so that INFO can be compared with it
READY_SECONDS_MAX = 15.0  # a loaded machine with 2 cores; both need less than 1 s when idle
STOP_SECONDS_MAX = 10.0
POLL_SECONDS = 0.005
POOL_SERVERS_MAX = 4  # for each implementation: the default one and those of the current file


@dataclass(frozen=True)
class Implementation:
    """One of the two programs under the same suite."""

    name: str
    command: tuple[str, ...]
    # In every INFO of this one and not of the other: what the Go build is, and the key of a
    # feature that penstock does not have (auth callout); penstock's own version.
    info_keys_own: frozenset[str]


REFERENCE = Implementation(
    "reference", (str(BIN / "nats-server"),), frozenset({"git_commit", "xkey"})
)
PENSTOCK = Implementation(
    "penstock", (str(BIN / "penstock"), "serve"), frozenset({"penstock_version"})
)
IMPLEMENTATIONS = (REFERENCE, PENSTOCK)


class ServerStartError(Exception):
    """The process ended, or never wrote its ports file; the text holds its stderr."""


class Server:
    """A running server with its own directory; `port` takes clients, `ports` is the whole file."""

    def __init__(
        self, implementation: Implementation, flags: tuple[str, ...] = (), config: str = ""
    ) -> None:
        self.implementation = implementation
        self._temporary = tempfile.TemporaryDirectory(prefix=f"{implementation.name}-")
        self.directory = Path(self._temporary.name)
        self._log_path = self.directory / "stderr"
        command = [*implementation.command, "-a", HOST, "-p", "-1", "-n", NAME]
        command += ["--ports_file_dir", str(self.directory)]
        if config:
            config_path = self.directory / "server.conf"
            config_path.write_text(config)
            command += ["-c", str(config_path)]
        with self._log_path.open("wb") as log:
            self.process = subprocess.Popen([*command, *flags], stdout=log, stderr=log)
        try:
            self.ports = self._wait_ports()
        except ServerStartError:
            self.kill()
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
        self.kill()

    @property
    def url(self) -> str:
        return f"nats://{HOST}:{self.port}"

    @property
    def log(self) -> str:
        return self._log_path.read_text(errors="replace")

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def signal(self, name: str) -> None:
        self.process.send_signal(signal.Signals[name])

    def wait_exit(self) -> int:
        return self.process.wait(STOP_SECONDS_MAX)

    def kill(self) -> None:
        if self.alive:
            self.process.kill()
        self.wait_exit()
        self._temporary.cleanup()

    def _wait_ports(self) -> dict[str, list[str]]:
        deadline = time.monotonic() + READY_SECONDS_MAX
        while time.monotonic() < deadline:
            if not self.alive:
                raise ServerStartError(
                    f"{self.implementation.name} ended with {self.process.returncode}:\n{self.log}"
                )
            for path in self.directory.glob("*.ports"):
                try:
                    ports: dict[str, list[str]] = json.loads(path.read_text())
                except json.JSONDecodeError:
                    continue  # seen while it was being written
                return ports
            time.sleep(POLL_SECONDS)
        raise ServerStartError(
            f"{self.implementation.name}: no ports file in {READY_SECONDS_MAX} s:\n{self.log}"
        )


class Pool:
    """The servers of one test session, by implementation, flags and configuration."""

    def __init__(self) -> None:
        self._servers: OrderedDict[tuple[str, tuple[str, ...], str], Server] = OrderedDict()

    def shared(
        self, implementation: Implementation, flags: tuple[str, ...] = (), config: str = ""
    ) -> Server:
        """A running server with this set-up, the same one for every caller while it lives."""
        key = (implementation.name, flags, config)
        server = self._servers.pop(key, None)
        if server is None or not server.alive:
            server = Server(implementation, flags, config)
        self._servers[key] = server  # now the youngest
        mine = [other for other in self._servers if other[0] == implementation.name]
        if len(mine) > POOL_SERVERS_MAX:
            # The one without flags is used all over the suite and stays.
            oldest = next(other for other in mine if other[1:] != ((), ""))
            self._servers.pop(oldest).kill()
        return server

    def close(self) -> None:
        while self._servers:
            self._servers.popitem()[1].kill()
