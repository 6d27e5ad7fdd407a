"""Runs the command, in a world without anybody's own contexts and settings.

`penstock` is what people do, a process. Most of its time is Python's start and imports, so what is
run very often is `called`: the same command line, in the process of the tests.
"""

import contextlib
import io
import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from penstock.cli.main import main
from tests.server_process import BIN

COMMAND_SECONDS_MAX = 60.0


class Ran(NamedTuple):
    """What came of it."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """Its output, if it is one JSON value."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Its output, if it is one JSON value on each line."""
        return [json.loads(line) for line in self.out.splitlines()]


def penstock(
    *arguments: str | Path, stdin: bytes = b"", environment: dict[str, str] | None = None
) -> Ran:
    result = subprocess.run(
        [str(BIN / "penstock"), *map(str, arguments)],
        input=stdin,
        capture_output=True,
        timeout=COMMAND_SECONDS_MAX,
        env=world(environment),
        check=False,
    )
    assert b"Traceback" not in result.stderr, result.stderr.decode()
    return Ran(result.returncode, result.stdout.decode(), result.stderr.decode())


def called(*arguments: str | Path, environment: dict[str, str] | None = None) -> Ran:
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.dict(os.environ, world(environment), clear=True),
    ):
        try:
            code = main([*map(str, arguments)])
        except SystemExit as ended:
            assert isinstance(ended.code, int)
            code = ended.code
    return Ran(code, out.getvalue(), err.getvalue())


def world(environment: dict[str, str] | None = None) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "HOME") if name in os.environ}
    return kept | {"XDG_CONFIG_HOME": "/nonexistent", "COLUMNS": "100"} | (environment or {})
