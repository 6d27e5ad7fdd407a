"""Every file operation of a server inside the process as a step: one can fail, or be a kill.

A copy of the store made before a step is what a kill at that point leaves behind. Only what Python
does is seen; the kernel's own files are tested with simulated disks in Rust.
"""

import errno
import io
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

STEPS = (os.rename, os.replace, os.fsync, os.mkdir)


def copy_store(store: Path, destination: Path) -> None:
    """Without the server's log, and without what is on its way out."""
    leaving = shutil.ignore_patterns("*.deleted", "server.log")
    shutil.copytree(store, destination, ignore=leaving)


class FileSteps:
    """Watches one store from `begin` to `end`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, store: Path) -> None:
        self._store = store
        self._tests_own = threading.current_thread()
        self._on_step: Callable[[int], None] | None = None
        self._count = 0
        for original in STEPS:
            monkeypatch.setattr(os, original.__name__, self._watched(original))
        monkeypatch.setattr(io, "open", self._watched_open(io.open))

    def begin(self, *, fail_at: int = 0, copies: Path | None = None) -> None:
        """From now on the step with this number fails; or every step is copied before."""

        def on_step(number: int) -> None:
            if number == fail_at:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._store))
            if copies is not None:
                copy_store(self._store, copies / str(number))

        self._count, self._on_step = 0, on_step

    def end(self) -> int:
        """Returns how many steps there were."""
        self._on_step = None
        return self._count

    def _step(self) -> None:
        on_step = self._on_step
        if on_step is not None and threading.current_thread() is not self._tests_own:
            self._count += 1
            self._on_step = None  # copying is no step
            try:
                on_step(self._count)
            finally:
                self._on_step = on_step

    def _watched(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self._step()
            return original(*arguments, **named)

        return call

    def _watched_open(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(file: Any, mode: str = "r", *arguments: Any, **named: Any) -> Any:
            if mode != "r" and str(file).startswith(str(self._store)):
                self._step()
            return original(file, mode, *arguments, **named)

        return call
