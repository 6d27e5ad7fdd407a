"""How commands are declared: one function each, whose errors end the process with one line.

Modules of commands are all imported for a help text, so they import what they work with when they
are called. A command that speaks to a server takes an `Access` as its first argument; the flags for
that are added here.
"""

import errno
import inspect
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from penstock.cli.access import Access, options
from penstock.cli.exits import CommandError, ExitCode, described

Json = Annotated[bool, typer.Option("--json", help="Print JSON: one value on each line.")]

_USUAL = (ExitCode.DONE, ExitCode.FAILED, ExitCode.USAGE)
_CONNECTED = (ExitCode.NO_CONNECTION, ExitCode.NOT_FOUND)


def group(name: str, text: str) -> typer.Typer:
    return typer.Typer(name=name, help=text, no_args_is_help=True, add_completion=False)


def command(
    app: typer.Typer,
    name: str,
    function: Callable[..., int | None],
    *codes: ExitCode,
    settings: dict[str, Any] | None = None,
) -> None:
    """Declares a command; the function's docstring is its help, its answer the exit code."""
    parameters = [*inspect.signature(function, eval_str=True).parameters.values()]
    is_connected = bool(parameters) and parameters[0].annotation is Access
    connection = options() if is_connected else []
    names = {parameter.name for parameter in connection}

    def run(**given: Any) -> None:
        arguments = {name: value for name, value in given.items() if name not in names}
        access = {name: value for name, value in given.items() if name in names}
        first = (Access(**access),) if is_connected else ()
        raise typer.Exit(ended(function, *first, **arguments))

    own = [one.replace(kind=one.KEYWORD_ONLY) for one in parameters[is_connected:]]
    run.__signature__ = inspect.Signature([*own, *connection])  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in (*own, *connection)}
    run.__doc__ = _flowing(function.__doc__ or "")
    usual = (*_USUAL, *(_CONNECTED if is_connected else ()))
    epilog = described(tuple(sorted({*usual, *codes})))
    app.command(name, epilog=epilog, context_settings=settings)(run)


def _flowing(text: str) -> str:
    """Paragraphs without the line breaks of the source."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def ended(function: Callable[..., int | None], *arguments: Any, **given: Any) -> int:
    """Runs a command; errors become one line on standard error."""
    try:
        code = function(*arguments, **given) or ExitCode.DONE
        sys.stdout.flush()
    except CommandError as error:
        print(f"penstock: {error}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:  # whoever read the output has seen enough
        sys.stderr.close()
        return ExitCode.DONE
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        print(f"penstock: the output cannot be written: {error.strerror}", file=sys.stderr)
        sys.stdout = None  # nothing more is to be written when Python ends
        return ExitCode.FAILED
    return code
