"""The two servers under test, started fresh for every sample with the same flags.

Only one runs at a time, so that an idle one cannot cost the other anything, and no sample inherits
memory, caches, connections or streams from the one before it. A server tells its port through the
ports file, which both write once they listen. Where streams are measured, both have a configuration
file that differs in nothing but the directory and, where a benchmark says so, `sync_interval`.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock.bench.errors import BenchError
from penstock.bench.processes import READY_SECONDS_MAX, started

BIN = Path(sys.prefix) / "bin"


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
        raise BenchError(f"{self.name} has gone")


@contextmanager
def running(
    contestant: Contestant, store: Path | None = None, sync: Sync | None = None
) -> Iterator[Server]:
    """A server on a port of its own, stopped at the end; with `sync` it has streams in `store`."""
    configuration = ""
    if sync is not None and store is not None:
        configuration = sync.configuration(contestant, store)
    with started(contestant.command, configuration) as server:
        yield Server(contestant.name, server.pid, server.port)


@contextmanager
def fresh_store(parent: Path) -> Iterator[Path]:
    """An empty directory for streams, gone afterwards.

    What the one before left to be written is written first: a lazy server's gigabyte of unwritten
    pages would otherwise slow down the other's syncs.
    """
    os.sync()
    with tempfile.TemporaryDirectory(dir=parent, prefix="penstock-store-") as name:
        yield Path(name)
