"""The two servers under test, started fresh for every sample with the same flags.

Only one runs at a time, so that an idle one cannot cost the other anything, and no sample inherits
memory, caches, connections or streams from the one before it. A server tells its port through the
ports file, which both write once they listen. Where streams are measured, both have a configuration
file that differs in nothing but the directory and, where a benchmark says so, `sync_interval`.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

READY_SECONDS_MAX = 60.0  # a restart may have many messages to read
STOP_SECONDS_MAX = 30.0
POLL_SECONDS = 0.005
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


@dataclass(frozen=True)
class Sync:
    """`sync_interval` of each server; None leaves it to the server's default."""

    ours: str | None
    theirs: str | None

    def configuration(self, contestant: Contestant, store: Path) -> str:
        interval = self.ours if contestant == PENSTOCK else self.theirs
        lines = [f'store_dir: "{store}"']
        if interval is not None:
            lines.append(f'sync_interval: "{interval}"')
        return "\n".join(["jetstream {", *lines, "}", ""])


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


def _flags(
    contestant: Contestant, folder: Path, store: Path | None, sync: Sync | None
) -> list[str]:
    flags = ["-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", str(folder)]
    if sync is not None and store is not None:
        configuration = folder / "server.conf"
        configuration.write_text(sync.configuration(contestant, store))
        flags += ["-c", str(configuration)]
    return flags


@contextmanager
def running(
    contestant: Contestant, store: Path | None = None, sync: Sync | None = None
) -> Iterator[Server]:
    """A server on a port of its own, stopped at the end; with `sync` it has streams in `store`."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as name:
        folder = Path(name)
        log = folder / "server.log"
        command = [*contestant.command, *_flags(contestant, folder, store, sync)]
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            yield Server(contestant.name, process.pid, _port(process, folder, log))
        finally:
            _stop(process)


@contextmanager
def fresh_store(parent: Path) -> Iterator[Path]:
    """An empty directory for streams, gone afterwards.

    What the one before left to be written is written first: a lazy server's gigabyte of unwritten
    pages would otherwise slow down the other's syncs.
    """
    os.sync()
    with tempfile.TemporaryDirectory(dir=parent, prefix="penstock-store-") as name:
        yield Path(name)
