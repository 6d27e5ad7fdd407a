"""The native load generator: built once, then run for each sample; it answers with JSON.

Cargo itself says where the program is, so a target directory set elsewhere works too.
"""

import json
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.servers import Server

ROOT = Path(__file__).parent.parent
PACKAGE = "penstock-load"
FILES_WANTED = 65_536  # open files; the hard limit may allow fewer
SPARE_SECONDS = 60.0  # for the handshakes, draining, and the wait for a disconnection
MESSAGES_PER_SECOND_MIN = 20_000  # slower than that, a run by count is given up


class LoadError(Exception):
    """The generator could not measure: a lost message, a lost connection, a silent server."""


def raise_file_limit() -> int:
    """As many open files as may be had, for this process and those it starts."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_WANTED if hard == resource.RLIM_INFINITY else min(FILES_WANTED, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def build() -> Path:
    """Builds the generator; where cargo has put it."""
    command = ["cargo", "build", "--release", "-p", PACKAGE]
    command.append("--message-format=json-render-diagnostics")
    try:
        built = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True)
    except FileNotFoundError as fault:
        raise LoadError("cargo was not found: the load generator is built with Rust") from fault
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == PACKAGE:
            return Path(message["executable"])
    raise LoadError("cargo could not build the load generator")


def _ended(holder: subprocess.Popen[str]) -> tuple[str, str]:
    """Closes the stdin of a generator that holds connections, and waits for its last words."""
    try:
        return holder.communicate(timeout=SPARE_SECONDS)
    except subprocess.TimeoutExpired:
        holder.kill()
        return holder.communicate()


@dataclass(frozen=True)
class Load:
    """The generator's program, how long a sample lasts, and where the streams of a sample are."""

    program: Path
    seconds: float
    store: Path
    messages: int = 3_000_000  # of the streams that are restarted
    messages_more: int = 0  # how many there are to be in the longer one; none if 0

    def _command(self, mode: str, server: Server | None, options: dict[str, Any]) -> list[str]:
        asked = {"seconds": self.seconds, **options}
        asked = {name.replace("_", "-"): value for name, value in asked.items()}
        if server is not None:
            asked |= {"port": server.port, "server-pid": server.pid}
        words = [word for name, value in asked.items() for word in (f"--{name}", str(value))]
        return [str(self.program), mode, *words]

    def run(self, mode: str, server: Server | None, **options: Any) -> dict[str, Any]:
        command = self._command(mode, server, options)
        timeout = 3 * self.seconds + SPARE_SECONDS
        timeout += options.get("messages", 0) / MESSAGES_PER_SECOND_MIN
        try:
            done = subprocess.run(
                command, check=False, capture_output=True, text=True, timeout=timeout
            )
        except subprocess.TimeoutExpired as fault:
            raise LoadError(f"the load generator took more than {timeout:.0f} s") from fault
        if done.returncode != 0:
            raise LoadError(done.stderr.strip() or f"status {done.returncode}")
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    @contextmanager
    def idle(self, server: Server, connections: int) -> Iterator[None]:
        """Holds idle connections; that all of them were still there is checked at the end."""
        command = self._command("idle", server, {"connections": connections})
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as holder:
            assert holder.stdout is not None
            try:
                ready = holder.stdout.readline()
                if ready:
                    yield
            finally:
                end, errors = _ended(holder)
            if not ready or holder.returncode != 0:
                raise LoadError(errors.strip() or "the idle connections could not be opened")
            if json.loads(end)["held"] != connections:
                raise LoadError(f"of {connections} idle connections {end.strip()}")
