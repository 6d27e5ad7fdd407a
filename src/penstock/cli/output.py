"""What a command prints: text and tables for people, JSON for programs.

Colours, boxes and progress bars are for terminals; what goes into a file or a pipe is plain. rich
is imported when something is printed with it, not before.
"""

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_PIPE_COLUMNS = 10_000  # no line of a table is broken or cut where nobody looks at it
_PROGRESS_AFTER_SECONDS = 2.0


def console(file: IO[str] | None = None) -> "Console":
    from rich.console import Console

    target = file or sys.stdout
    width = None if target.isatty() else _PIPE_COLUMNS
    return Console(file=target, width=width, highlight=False, soft_wrap=not target.isatty())


def print_json(value: object) -> None:
    """One value on one line, so that many of them can be read as they come."""
    is_unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    sys.stdout.write(json.dumps(value, ensure_ascii=not is_unicode, default=_shown) + "\n")


def _shown(value: object) -> str:
    import base64

    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Numbers to the right. Without a terminal: the columns alone, apart by two blanks."""
    shown = [[_cell(value) for value in row] for row in rows]
    is_number = [
        bool(shown) and all(row[at].replace(",", "").lstrip("-").isdigit() for row in shown)
        for at in range(len(columns))
    ]
    if not sys.stdout.isatty():
        _print_plain([[*columns], *shown], is_number)
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name, right in zip(columns, is_number, strict=True):
        table.add_column(name, justify="right" if right else "left")
    for row in shown:
        table.add_row(*(Text(cell) for cell in row))
    console().print(table)


def _print_plain(rows: list[list[str]], is_number: list[bool]) -> None:
    widths = [max(len(row[at]) for row in rows) for at in range(len(is_number))]
    for row in rows:
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, is_number, strict=True)
        ]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def _cell(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int):
        return "" if value is None else str(value)
    return f"{value:,}"


def print_fields(fields: dict[str, object]) -> None:
    """Names in one column, values in the other."""
    width = max(len(name) for name in fields)
    bold, end = ("\x1b[1m", "\x1b[0m") if console().is_terminal else ("", "")
    for name, value in fields.items():
        sys.stdout.write(f"{bold}{name:<{width}}{end}  {_cell(value)}\n")


Advance = Callable[[int, int | None], None]  # how much is done, of how much


@contextlib.contextmanager
def progress(label: str) -> Iterator[Advance]:
    """A bar on standard error for what takes more than two seconds, if somebody looks."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    bar = _Bar(label)
    try:
        yield bar.advance
    finally:
        bar.close()


class _Bar:
    """Begun when it is time."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._start = time.monotonic()
        self._shown: Any = None
        self._task: Any = None

    def advance(self, done: int, total: int | None) -> None:
        if self._shown is None:
            if time.monotonic() - self._start < _PROGRESS_AFTER_SECONDS:
                return
            from rich.progress import Progress

            self._shown = Progress(console=console(sys.stderr), transient=True)
            self._shown.start()
            self._task = self._shown.add_task(self._label, total=total)
        self._shown.update(self._task, completed=done, total=total)

    def close(self) -> None:
        if self._shown is not None:
            self._shown.stop()
