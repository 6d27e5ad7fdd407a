"""The real `nats` command, pointed at a server: what it says, without what no two runs share."""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parity.servers import Server

FETCHED = Path(__file__).parent.parent.parent / ".interop"  # where `make interop` puts things
COMMAND_SECONDS_MAX = 60.0
VARIES = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| ?[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b(\d+(\.\d+)?(ns|µs|ms|s|m|h|d))+\b"), "<duration>"),
    (re.compile(r"\d\d:\d\d:\d\d"), "<clock>"),
    (re.compile(r"N[A-Z2-7]{55}"), "<server>"),
    (re.compile(r"[\d.]+[KM]?/s"), "<rate>"),
    (re.compile(r"Client ID: \d+"), "Client ID: <number>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "<address>"),
    (re.compile(r"(\$JS\.ACK\.\w+\.\w+\.\d+\.\d+\.\d+\.)\d+"), r"\1<time>"),
    (re.compile(r'"(id|timestamp|ack_time)": ?("[^"]*"|\d+)'), r'"\1":<varies>'),
    # Columns are as wide as what is in them, and differences come with any kind of blank.
    (re.compile("[ \\u00a0\\t─━]+"), " "),
)


def same_for_all(text: str) -> str:
    for pattern, name in VARIES:
        text = pattern.sub(name, text)
    return text


def find_nats() -> Path | None:
    """The command that NATS_CLI names, that `make interop` has made, or that is on the PATH."""
    named = os.environ.get("NATS_CLI")
    if named:
        return Path(named)
    fetched = FETCHED / "nats"
    if fetched.exists():
        return fetched
    installed = shutil.which("nats")
    return Path(installed) if installed else None


class NatsCommand:
    """Runs it with an empty home, so that nothing of the machine's own contexts is used."""

    def __init__(self, server: Server, home: Path) -> None:
        program = find_nats()
        if program is None:
            pytest.skip("the nats command was not found: make interop, or set NATS_CLI")
        self._program = str(program)
        self._environment = {"HOME": str(home), "XDG_CONFIG_HOME": str(home)}
        self._environment |= {"PATH": os.environ["PATH"], "NO_COLOR": "1", "TERM": "dumb"}
        self._environment["NATS_URL"] = server.url

    def run(self, line: str) -> str:
        """What a command says and how it ends."""
        done = subprocess.run(
            self._words(line),
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS_MAX,
            check=False,
        )
        return same_for_all(f"$ {line}\n{done.stdout}{done.stderr}[{done.returncode}]")

    @contextlib.contextmanager
    def running(self, line: str) -> Iterator[subprocess.Popen[str]]:
        """A command that goes on beside others."""
        process = subprocess.Popen(
            self._words(line),
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def _words(self, line: str) -> list[str]:
        return [self._program, "--timeout", "2s", *shlex.split(line)]
