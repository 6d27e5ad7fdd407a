"""The commands of a document, run by bash in a directory of their own.

Documents name the usual ports; here those may be taken. So a line that starts a server starts it in
the background, with the very flags that are written there, on a free port, and wherever a later
command names the documented port it gets the real one. A command that names no server finds the
last one by NATS_URL, as the documentation says it would find port 4222.

The `nats` command is the one of NATS_CLI, of `make interop`, or of the PATH. Blocks that need a
command which is not there are reported as missing, and with them the commands behind, which may
build on them. A `make` line is looked up, not carried out.
"""

import itertools
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tests.interop.nats_command import find_nats
from tests.server_process import BIN, HOST, POLL_SECONDS, READY_SECONDS_MAX

ROOT = Path(__file__).parent.parent.parent
BLOCK_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 20.0
_CLIENTS, _MONITOR = "4222", "8222"  # the ports where documents name none
_SERVERS = (["penstock", "serve"], ["nats-server"])
_NEEDED = re.compile(r"(?:^|[|;&(]\s*)(nats|curl)\s", re.MULTILINE)  # not on every machine
_HINTS = {"nats": "; `make interop` gets it"}


class MissingCommandError(Exception):
    """A command that a block needs is not on this machine."""


class CommandError(subprocess.SubprocessError):
    """A block ended with an error, or a server did not start."""


@dataclass
class Background:
    """A server of the document."""

    process: subprocess.Popen[bytes]
    log: Path


class Shell:
    """The terminals of one reader."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._ports: dict[str, str] = {}  # as documented: as it is
        self._servers: list[Background] = []
        self._missing = ""  # what a block needed; those behind it may build on it
        (directory / ".venv").symlink_to(BIN.parent)
        nats = find_nats()
        path = [str(BIN), *([str(nats.parent)] if nats else []), os.environ["PATH"]]
        self._environment = {
            "PATH": os.pathsep.join(path),
            "HOME": str(directory),
            "XDG_CONFIG_HOME": str(directory / "config"),
            "NO_COLOR": "1",
            "TERM": "dumb",
            "COLUMNS": "100",
        }

    def run(self, source: str) -> str:
        """What a block prints."""
        path = self._environment["PATH"]
        for name in _NEEDED.findall(source):
            if shutil.which(name, path=path) is None:
                self._missing = self._missing or f"{name} was not found{_HINTS.get(name, '')}"
        if self._missing:
            raise MissingCommandError(self._missing)
        lines = source.replace("\\\n", " ").strip().splitlines()
        words = [shlex.split(line, comments=True) for line in lines]
        servers = [line for line in words if is_server(line)]
        if servers and len(servers) == len([line for line in words if line]):
            for line in servers:
                self._start(line)
            return ""
        assert not servers, "a server has a block of its own: it keeps its terminal"
        if all(not line or line[0] == "make" for line in words):
            return "".join(
                self._bash(f"make -n {line[1]} >/dev/null", ROOT) for line in words if line
            )
        return self._bash(self.with_real_ports(source), self._directory)

    def with_real_ports(self, source: str) -> str:
        """Documented ports of servers that run, replaced by those they have."""
        return re.sub(r"(?<=localhost:)\d+", lambda port: self._ports.get(port[0], port[0]), source)

    def close(self) -> None:
        for server in self._servers:
            if server.process.poll() is None:
                os.killpg(server.process.pid, signal.SIGTERM)
        for server in self._servers:
            try:
                server.process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                os.killpg(server.process.pid, signal.SIGKILL)
                raise

    def _bash(self, source: str, directory: Path) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", source],
            cwd=directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # what a reader sees
            text=True,
            timeout=BLOCK_SECONDS_MAX,
            check=False,
        )
        if done.returncode:
            raise CommandError(f"it ended with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def _start(self, words: list[str]) -> None:
        """A server as it is documented, on a free port."""
        number = len(self._servers)
        ports = self._directory / f"ports-{number}"
        ports.mkdir()
        flags = ["-a", HOST, "-p", "-1", "--ports_file_dir", str(ports)]
        if monitor := value_of(words, "-m", "--http_port"):
            flags += ["-m", "-1"]
        log = self._directory / f"server-{number}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [
                    str(self._directory / words[0]) if "/" in words[0] else words[0],
                    *words[1:],
                    *flags,
                ],
                cwd=self._directory,
                env=self._environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._servers.append(Background(process, log))
        found = self._wait_ports(ports, self._servers[-1])
        self._ports[value_of(words, "-p", "--port") or _CLIENTS] = port_of(found["nats"])
        if "monitoring" in found:
            self._ports[monitor or _MONITOR] = port_of(found["monitoring"])
        self._environment["NATS_URL"] = f"nats://{HOST}:{port_of(found['nats'])}"

    def _wait_ports(self, folder: Path, server: Background) -> dict[str, list[str]]:
        deadline = time.monotonic() + READY_SECONDS_MAX
        while time.monotonic() < deadline and server.process.poll() is None:
            for path in folder.glob("*.ports"):
                try:
                    found: dict[str, list[str]] = json.loads(path.read_text())
                except json.JSONDecodeError:
                    continue  # seen while it was being written
                return found
            time.sleep(POLL_SECONDS)
        raise CommandError(f"the server did not start:\n{server.log.read_text()}")


def is_server(words: list[str]) -> bool:
    """Whether a command is a server that goes on."""
    questions = {"-t", "-h", "--help", "-v", "--version"}
    named = [Path(word).name for word in words[:2]]
    return any(named[: len(start)] == start for start in _SERVERS) and not questions & set(words)


def value_of(words: list[str], *names: str) -> str:
    """The value of a flag; empty if it is not there."""
    for name, value in itertools.pairwise(words):
        if name in names:
            return value
    return ""


def port_of(urls: list[str]) -> str:
    return urls[0].rsplit(":", 1)[1]
