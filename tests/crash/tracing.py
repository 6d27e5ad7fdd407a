"""Failing disks: strace stands between the server and the kernel, and answers in its place.

Faults are injected into a server that runs, from a moment on that the test chooses and until the
test takes them away. How many calls there are before, and how long they take, does not matter.
"""

import contextlib
import functools
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.waiting import wait_until

STRACE = ("strace", "-f", "-qq", "-o", "/dev/null")
WRAPPING = (*STRACE, "--seccomp-bpf")  # whoever attaches later cannot have that
EXIT_SECONDS_MAX = 60.0


@functools.cache
def what_is_missing() -> str:
    """Why nothing can be traced here; empty if it can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    fault = ("-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO:when=1..2")
    tried = subprocess.run([*WRAPPING, *fault, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        return f"strace cannot trace here: {tried.stderr.strip()}"
    return ""


@functools.cache
def what_is_missing_to_attach() -> str:
    """A program that is no child of strace is another matter: Yama may forbid it."""
    if reason := what_is_missing():
        return reason
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            with _attached(process.pid, "trace=fdatasync") as tracer:
                return "" if tracer.poll() is None else "strace may not attach to a server here"
        finally:
            process.kill()


def require_strace() -> None:
    if reason := what_is_missing():
        pytest.skip(reason)


@contextlib.contextmanager
def fault(pid: int, injected: str, *paths: Path) -> Iterator[None]:
    """As long as it lasts, system calls fail as it says; only those on the paths, if there are any.

    An strace that counts calls does so for each thread.
    """
    if reason := what_is_missing_to_attach():
        pytest.skip(reason)
    call = injected.partition(":")[0]
    watched = [word for path in paths for word in ("-P", str(path))]
    with _attached(pid, f"trace={call}", "-e", f"inject={injected}", *watched) as tracer:
        assert tracer.poll() is None, "strace has ended"
        yield


@contextlib.contextmanager
def _attached(pid: int, *options: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Every thread is traced when this begins: one that was missed would do as it likes."""
    tracer = subprocess.Popen([*STRACE, "-p", str(pid), "-e", *options], stderr=subprocess.DEVNULL)
    try:
        wait_until(
            lambda: tracer.poll() is not None or _is_traced(pid, tracer.pid),
            lambda: f"{pid} is not traced",
        )
        yield tracer
    finally:
        tracer.terminate()  # which lets the server go on by itself
        tracer.wait(EXIT_SECONDS_MAX)


def _is_traced(pid: int, tracer_pid: int) -> bool:
    wanted = f"TracerPid:\t{tracer_pid}\n"
    try:
        threads = [*Path(f"/proc/{pid}/task").iterdir()]
        return all(wanted in (thread / "status").read_text() for thread in threads)
    except (FileNotFoundError, ProcessLookupError):
        return False  # a thread has ended meanwhile
