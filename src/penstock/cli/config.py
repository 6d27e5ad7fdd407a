"""`penstock config`: whether a configuration file can be used, without starting anything."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.command import Json, command
from penstock.cli.exits import CommandError, ExitCode
from penstock.cli.output import print_json

if TYPE_CHECKING:
    from penstock.config.problems import Problem


def declare(configs: typer.Typer) -> None:
    command(configs, "check", check, ExitCode.NOT_FOUND, ExitCode.FLAWED)


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The configuration file.")],
    as_json: Json = False,
) -> int:
    """Check a configuration file; every problem is told with its line and column.

    What penstock serve -c FILE would refuse is refused here, and what it would warn of as well.
    """
    from penstock.config.problems import ConfigError
    from penstock.config.schema import load

    if file.is_dir():
        hint = "name the configuration file in it"
        raise CommandError(f"{file} is a directory", hint, ExitCode.USAGE)
    if not file.exists():
        raise CommandError(f"{file} is not there", "", ExitCode.NOT_FOUND)
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    try:
        warnings = load(file, os.environ).warnings
    except ConfigError as error:
        problems = error.problems
    is_valid = not problems and not warnings
    if as_json:
        data = {"file": str(file), "valid": is_valid}
        rows = {"problems": [*map(_row, problems)], "warnings": [*map(_row, warnings)]}
        print_json(data | rows)
    else:
        for problem in problems:
            print(problem)
        for warning in warnings:
            print(f"{warning} (a warning)")
        if is_valid:
            print(f"{file} is valid")
    return ExitCode.DONE if is_valid else ExitCode.FLAWED


def _row(problem: "Problem") -> dict[str, Any]:
    place = problem.position
    where = (
        {} if place is None else {"file": place.file, "line": place.line, "column": place.column}
    )
    return where | {"message": problem.message}
