"""A server as a process: started with a configuration, ready when its ports file is complete.

That is how tools that use `--ports_file_dir` see it, so no port is guessed. penstock takes the
flags and the configuration of nats-server, so there is one way to start either.
"""

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from penstock.bench.errors import BenchError

HOST = "127.0.0.1"
READY_SECONDS_MAX = 60.0  # a restart may have many messages to read
STOP_SECONDS_MAX = 30.0
_POLL_SECONDS = 0.005
_LOG_LINES_SHOWN = 5


class Started(NamedTuple):
    """A running server."""

    pid: int
    port: int


@contextmanager
def started(command: Sequence[str], configuration: str = "") -> Iterator[Started]:
    """A server on a port of its own, stopped at the end."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as name:
        folder = Path(name)
        log = folder / "server.log"
        flags = ["-a", HOST, "-p", "-1", "--ports_file_dir", str(folder)]
        if configuration:
            (folder / "server.conf").write_text(configuration)
            flags += ["-c", str(folder / "server.conf")]
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603 -- the servers that were asked for
                [*command, *flags], stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        try:
            yield Started(process.pid, _port(process, folder, log))
        finally:
            _stop(process)


def _port(process: "subprocess.Popen[bytes]", folder: Path, log: Path) -> int:
    deadline = time.monotonic() + READY_SECONDS_MAX
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise BenchError(f"it ended with status {process.returncode}: {_end(log)}")
        for path in folder.glob(f"*{process.pid}.ports"):
            try:
                return int(urlsplit(json.loads(path.read_text())["nats"][0]).port or 0)
            except (ValueError, KeyError):
                continue  # it is being written
        time.sleep(_POLL_SECONDS)
    raise BenchError(f"no ports file after {READY_SECONDS_MAX:.0f} s: {_end(log)}")


def _end(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-_LOG_LINES_SHOWN:])


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
