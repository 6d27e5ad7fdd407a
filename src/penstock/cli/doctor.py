"""`penstock doctor`: a store directory, verified while no server uses it, and mended if asked."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.command import Json, command
from penstock.cli.exits import CommandError, ExitCode
from penstock.cli.output import console, print_json, progress

if TYPE_CHECKING:
    from penstock.server.inspection.findings import Finding, StoreReport

Directory = Annotated[Path, typer.Argument(help="The directory of -sd or store_dir.")]
Repair = Annotated[bool, typer.Option("--repair", help="Mend what can be mended.")]

_LABELS = {0: ("note", "dim"), 1: ("mendable", "yellow"), 2: ("lost", "red"), 3: ("stuck", "red")}
_CODES = {0: ExitCode.DONE, 1: ExitCode.FLAWED, 2: ExitCode.LOST, 3: ExitCode.STUCK}


def declare(app: typer.Typer) -> None:
    codes = (ExitCode.NOT_FOUND, ExitCode.FLAWED, ExitCode.LOST, ExitCode.STUCK)
    command(app, "doctor", doctor, *codes)


def doctor(directory: Directory, repair: Repair = False, as_json: Json = False) -> int:
    """Verify a store directory: every record, index, consumer state, and the commit log.

    Nothing is changed without --repair, and a directory that a server uses is refused. A report
    says for each stream what is fine, what is damaged and where, what follows from it, and whether
    it can be mended. --repair does what a start of the server does and what it cannot do by itself;
    it removes nothing that could be read. The exit code then tells what is left, and what was lost.
    """
    from penstock.model.errors import StorageError

    try:
        before = _inspected(directory)
        after, told = before, list[str]()
        if repair and before.weight > 0:
            after, told = _repaired(directory)
    except FileNotFoundError as error:
        problem = f"{error.filename} is not there" if error.filename else str(error)
        raise CommandError(problem, code=ExitCode.NOT_FOUND) from None
    except StorageError as error:
        raise CommandError(f"{error.operation} {error.path}: {error.hint}") from None
    except OSError as error:
        raise CommandError(str(error)) from None
    lost = before.weight == 2 or after.weight == 2
    code = ExitCode.LOST if lost and after.weight < 3 else _CODES[after.weight]
    if as_json:
        print_json(_as_data(before, after if after is not before else None, told))
    else:
        _print(before, after, told)
    return code


def _inspected(directory: Path) -> "StoreReport":
    from penstock.server.inspection.inspection import inspect

    if not directory.exists():
        raise CommandError(f"{directory} is not there", code=ExitCode.NOT_FOUND)
    with progress("reading blocks") as advance:
        return inspect(directory, advance)


def _repaired(directory: Path) -> "tuple[StoreReport, list[str]]":
    from penstock.server.inspection.inspection import store_root
    from penstock.server.inspection.repair import repair

    told = repair(store_root(directory.absolute()))
    return _inspected(directory), told


def _as_data(before: "StoreReport", after: "StoreReport | None", told: list[str]) -> dict[str, Any]:
    import msgspec

    data: dict[str, Any] = msgspec.to_builtins(before)
    if after is not None:
        data["repaired"] = msgspec.to_builtins(after) | {"told": told}
    for report in (data, data.get("repaired", {})):
        for found in _all_findings(report):
            found["weight"] = _LABELS[found["weight"]][0]
    return data


def _all_findings(report: dict[str, Any]) -> list[dict[str, Any]]:
    found = list(report.get("findings", []))
    for stream in report.get("streams", []):
        found += stream["findings"]
    return found


def _print(before: "StoreReport", after: "StoreReport", told: list[str]) -> None:
    _print_report(before)
    if after is before:
        _print_verdict(before, is_repaired=False)
        return
    output = console()
    for line in told:
        output.print(f"  server: {line}", markup=False, style="dim")
    output.print("\nafter the repair:", style="bold")
    _print_report(after)
    _print_verdict(after, is_repaired=True)


def _print_report(report: "StoreReport") -> None:
    output = console()
    log = report.log
    entries = f"entries {log.first:,} to {log.last:,}" if log.last >= log.first else "no entries"
    output.print(f"store {report.directory}", style="bold", markup=False)
    output.print(f"  log: {log.files} files, {entries}; sync: {report.synced}", markup=False)
    _print_findings(report.findings)
    for stream in report.streams:
        worst = max((found.weight for found in stream.findings), default=0)
        mark = "[green]fine[/]" if worst == 0 else f"[{_LABELS[worst][1]}]{_LABELS[worst][0]}[/]"
        where = f"{stream.first:,} to {stream.last:,}" if stream.messages else "none"
        output.print(
            f"stream [bold]{_escaped(stream.name)}[/]: {mark}; {stream.messages:,} messages"
            f" ({where}), {stream.stored:,} bytes in {stream.blocks} blocks,"
            f" {len(stream.consumers)} consumers"
        )
        _print_findings(stream.findings)


def _print_findings(findings: "tuple[Finding, ...]") -> None:
    output = console()
    for found in findings:
        label, style = _LABELS[found.weight]
        place = found.file
        if found.offset is not None:
            place += f" at byte {found.offset:,}"
            if found.size:
                place += f" ({found.size:,} bytes)"
        output.print(
            f"  [{style}]{label}[/] {_escaped(place)}: {_escaped(found.problem)};"
            f" consequence: {_escaped(found.consequence)}"
        )


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _print_verdict(report: "StoreReport", *, is_repaired: bool) -> None:
    mend = "" if is_repaired else " penstock doctor --repair mends what can be mended."
    verdicts = {
        0: "The store is sound.",
        1: f"Damaged, and nothing is lost.{mend}",
        2: f"Damaged, and something is lost; the rest is served.{mend}",
        3: f"Damaged, and some of it cannot be mended.{mend}",
    }
    sys.stdout.flush()
    console().print(verdicts[report.weight], style="bold")
