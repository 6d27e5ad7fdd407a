"""Plays the blocks of one document or docstring in order, as somebody who reads it would.

Python blocks share one namespace and one event loop, as in `python -m asyncio`; commands share one
directory. What the document leaves running is stopped at its end.
"""

import ast
import asyncio
import contextlib
import difflib
import inspect
import io
import re
import subprocess
import traceback
from collections.abc import Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from nats.aio.client import Client

import penstock
from penstock.client import JetStream
from tests.docs.blocks import OUTPUT, READ_ONLY, RUN, Block
from tests.docs.shell import MissingCommandError, Shell
from tests.server_process import BIN


class ExampleError(Exception):
    """An example does not do what the document says."""

    def __init__(self, block: Block, problem: str) -> None:
        super().__init__(f"{block}: {problem}\n\n{block.source}")


class Session:
    """One document, being followed."""

    def __init__(self, directory: Path) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self._provided: dict[str, Any] = {}
        self.missing: list[str] = []  # blocks that could not run, and why
        self._directory = directory
        self._shell = Shell(directory)
        self._runner = asyncio.Runner()
        self._printed: str | None = None  # by the block before; None if it did not run
        self._files: dict[str, Block] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._runner:
            self._runner.run(self._stop())
        self._shell.close()

    def provide(self, names: Coroutine[Any, Any, dict[str, Any]]) -> None:
        """Names that are there before the first block."""
        self._provided = self._runner.run(names)
        self.names |= self._provided

    def play(self, blocks: list[Block]) -> None:
        for block in blocks:
            if block.not_tested:
                self._printed = None
                continue
            self._one(block)
        for title, block in self._files.items():
            raise ExampleError(block, f"no command after this uses {title}")

    def _one(self, block: Block) -> None:
        if block.title == OUTPUT:
            self._compare(block)
        elif block.language not in RUN + READ_ONLY:
            raise ExampleError(block, f"{block.language or 'no language'} is not known")
        elif block.title:
            self._keep(block)
        elif block.language == "python":
            self._printed = self._python(block)
        elif block.language == "sh":
            self._commands(block)
        elif block.language == "conf":
            raise ExampleError(block, 'a configuration needs a title="name.conf"')

    def _keep(self, block: Block) -> None:
        path = self._directory / block.title
        path.write_text(self._shell.with_real_ports(block.source))
        self._files[block.title] = block
        if block.language == "conf":
            self._files.pop(block.title)  # being accepted is enough
            command = [str(BIN / "penstock"), "serve", "-t", "-c", str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise ExampleError(block, done.stderr)

    def _python(self, block: Block) -> str:
        """Runs it; a traceback names the document and its line."""
        printed = io.StringIO()
        try:
            tree = ast.parse(block.source, str(block.path))
            ast.increment_lineno(tree, block.line - 1)
            flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            code = compile(tree, str(block.path), "exec", flags=flags)
            with contextlib.redirect_stdout(printed), contextlib.chdir(self._directory):
                if code.co_flags & inspect.CO_COROUTINE:
                    self._runner.run(eval(code, self.names))  # noqa: S307 -- the documents are ours
                else:
                    exec(code, self.names)  # noqa: S102 -- the same
        except Exception:
            raise ExampleError(block, traceback.format_exc()) from None
        return printed.getvalue()

    def _commands(self, block: Block) -> None:
        for title in [title for title in self._files if title in block.source]:
            del self._files[title]
        try:
            self._printed = self._shell.run(block.source)
        except MissingCommandError as error:
            self._printed = None
            self.missing.append(f"{block}: {error}")
        except subprocess.SubprocessError as error:
            raise ExampleError(block, str(error)) from None

    def _compare(self, block: Block) -> None:
        if self._printed is None:
            return  # the block before did not run, and its own reason is told
        if not matches(block.source, self._printed):
            told, seen = (_lines(text) for text in (block.source, self._printed))
            shown = "\n".join(
                difflib.unified_diff(told, seen, "documented", "printed", lineterm="")
            )
            raise ExampleError(block, f"another output:\n{shown}")

    async def _stop(self) -> None:
        left = [*self.names.values(), *self._provided.values()]  # a block may reuse a name
        for found in left:
            connection = found.connection if isinstance(found, JetStream) else found
            if isinstance(connection, Client) and not connection.is_closed:
                await connection.close()
        for found in left:
            if isinstance(found, penstock.Server):
                await found.stop()
            elif isinstance(found, penstock.ServerThread):
                found.stop()


def matches(documented: str, printed: str) -> bool:
    """Line by line, blanks at line ends aside; `...` is any text, or any number of lines."""
    pattern = ""
    for line in _lines(documented):
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.split("...")) + r"\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _lines(printed))) is not None


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]
