"""How long it takes until penstock is there: imports, the command's help, an embedded server.

Each is a whole process, beside the one that it builds on: `import penstock.client` beside
`import nats`, `penstock --help` beside `import typer`. The two take turns, so that a busy moment of
the machine counts for both, and the medians are compared. What was compiled before stays compiled:
the first run of each is thrown away.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

import penstock
from benchmarks.servers import BIN

SERVERS = 20
CLIENT_MS_MAX = 40.0  # above `import nats`
HELP_RATIO_MAX = 2.5  # to `import typer`


class Times(NamedTuple):
    """Of two processes that took turns, in milliseconds, as medians."""

    base: float
    ours: float


def verdict(is_met: bool) -> str:
    return "met" if is_met else "MISSED"


def python(statement: str) -> list[str]:
    return [sys.executable, "-c", statement]


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _run_on_terminal(command: list[str]) -> None:
    """As where somebody looks at it."""
    ours, theirs = os.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        with contextlib.suppress(OSError):  # the other side is gone: that is the end
            while os.read(ours, 4096):
                pass
    os.close(ours)
    assert process.returncode == 0, command


def _milliseconds(run: Callable[[list[str]], None], command: list[str]) -> float:
    before = time.perf_counter()
    run(command)
    return (time.perf_counter() - before) * 1e3


def in_turns(
    base: list[str], ours: list[str], rounds: int, run: Callable[[list[str]], None] = _run
) -> Times:
    pairs = [(_milliseconds(run, base), _milliseconds(run, ours)) for _ in range(rounds + 1)][1:]
    return Times(median(pair[0] for pair in pairs), median(pair[1] for pair in pairs))


def imports(rounds: int) -> None:
    """Names of `penstock.client` are loaded with the first one, so that is shown too."""
    for statement in ("import penstock.client", "from penstock.client import JetStream"):
        found = in_turns(python("import nats"), python(f"import nats; {statement}"), rounds)
        more = found.ours - found.base
        print(
            f"{statement}: {found.ours:.0f} ms, import nats {found.base:.0f} ms, {more:.1f} ms more"
            f" (at most {CLIENT_MS_MAX:.0f}: {verdict(more <= CLIENT_MS_MAX)})"
        )


def help_text(rounds: int) -> None:
    """Into a file or pipe it is plain, on a terminal it has boxes and colours."""
    command = [str(BIN / "penstock"), "--help"]
    for where, run in (("", _run), (" on a terminal", _run_on_terminal)):
        found = in_turns(python("import typer"), command, rounds, run)
        ratio = found.ours / found.base
        print(
            f"penstock --help{where}: {found.ours:.0f} ms, import typer {found.base:.0f} ms,"
            f" ratio {ratio:.2f} (at most {HELP_RATIO_MAX}: {verdict(ratio <= HELP_RATIO_MAX)})"
        )


def embedded() -> None:
    """From nothing to a server that listens, in a thread of this process."""
    times = []
    for _ in range(SERVERS):
        before = time.perf_counter()
        with penstock.serve():
            times.append((time.perf_counter() - before) * 1e3)
    first, *others = times
    print(
        f"a fresh server: median {median(others):.1f} ms, longest {max(others):.1f} ms;"
        f" the first, with its imports, {first:.0f} ms"
    )
