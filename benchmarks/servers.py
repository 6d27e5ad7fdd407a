"""The two servers under test, started fresh for every sample with the same flags.

Only one runs at a time, so that an idle one cannot cost the other anything, and no sample inherits
memory, caches or connections from the one before it. A server tells its port through the ports
file, which both write once they listen.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

READY_SECONDS_MAX = 30.0
STOP_SECONDS_MAX = 10.0
POLL_SECONDS = 0.02
LOG_LINES_SHOWN = 5

BIN = Path(sys.prefix) / "bin"


class ServerError(Exception):
    """A server could not be started, or went away."""


@dataclass(frozen=True)
class Contestant:
    """A server program: what it is called, and how it is started."""

    name: str
    command: tuple[str, ...]

    @property
    def program(self) -> Path:
        return Path(self.command[0])

    def version(self) -> str:
        try:
            command = [self.command[0], "--version"]
            asked = subprocess.run(
                command, check=False, capture_output=True, text=True, timeout=READY_SECONDS_MAX
            )
        except (OSError, subprocess.TimeoutExpired):
            return "unknown"
        return ", ".join((asked.stdout or asked.stderr).split("\n")[:2]).strip(", ")


REFERENCE = Contestant("reference", (str(BIN / "nats-server"),))
PENSTOCK = Contestant("penstock", (str(BIN / "penstock"), "serve"))
CONTESTANTS = (REFERENCE, PENSTOCK)


@dataclass(frozen=True)
class Server:
    """A running server."""

    name: str
    pid: int
    port: int

    def resident_bytes(self) -> int:
        """Resident memory of the process; what the kernel keeps for sockets is not in it."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise ServerError(f"{self.name} has gone")


def _log_end(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:])


def _port(process: subprocess.Popen[bytes], folder: Path, log: Path) -> int:
    deadline = time.monotonic() + READY_SECONDS_MAX
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise ServerError(f"it ended with status {process.returncode}: {_log_end(log)}")
        for path in folder.glob(f"*{process.pid}.ports"):
            try:
                return int(urlsplit(json.loads(path.read_text())["nats"][0]).port or 0)
            except (ValueError, KeyError):
                continue  # it is being written
        time.sleep(POLL_SECONDS)
    raise ServerError(f"no ports file after {READY_SECONDS_MAX:.0f} s: {_log_end(log)}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def running(contestant: Contestant) -> Iterator[Server]:
    """A fresh server on a port of its own, stopped at the end."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as name:
        folder = Path(name)
        log = folder / "server.log"
        flags = ("-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", name)
        with log.open("wb") as output:
            process = subprocess.Popen([*contestant.command, *flags], stdout=output, stderr=output)
        try:
            yield Server(contestant.name, process.pid, _port(process, folder, log))
        finally:
            _stop(process)
