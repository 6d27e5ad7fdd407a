"""Files that are kept twice: which of the two can be read, and where the other one differs."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from penstock.server.inspection.findings import Finding, Places, Weight, first_difference

T = TypeVar("T")


def read_twins(
    folder: Path,
    names: Sequence[str],
    decode: Callable[[bytes], T],
    places: Places,
    hopeless: Callable[[str], tuple[Weight, str]],
) -> tuple[T | None, list[Finding]]:
    """What the first twin that can be read says. If none can, `hopeless` has weight and consequence
    of each problem."""
    contents = {name: _content(folder / name) for name in names}
    problems: dict[str, str] = {}
    found: list[tuple[str, T]] = []
    for name, content in contents.items():
        if content is None:
            problems[name] = "is missing"
            continue
        try:
            found.append((name, decode(content)))
        except ValueError as error:
            problems[name] = f"cannot be used: {error}"
    if not found:
        return None, [
            Finding(
                weight=hopeless(problem)[0],
                file=places.name(folder / name),
                offset=0,
                size=len(contents[name] or b""),
                problem=f"{problem}, and so it is with its twin",
                consequence=hopeless(problem)[1],
            )
            for name, problem in problems.items()
        ]
    good, value = found[0]
    findings = []
    for name, problem in problems.items():
        content = contents[name]
        offset = None if content is None else first_difference(content, contents[good] or b"")
        findings.append(
            Finding(
                weight=Weight.MENDABLE,
                file=places.name(folder / name),
                offset=offset,
                problem=problem,
                consequence=f"none: its twin {good} is whole, and it is written anew from that",
            )
        )
    return value, findings


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
