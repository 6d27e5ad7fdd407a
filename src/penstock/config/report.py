"""The walk through one block: each key to its reader, each problem into one report.

A schema is a table from key to reader. A reader turns one entry into changes, named after the
fields of the struct they belong to, or raises; the walk goes on, so that all problems are found.
A key that a variable names is never unknown: defining values for later use is what it is for.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, TypeAlias

from penstock.config.bounds import PROBLEMS_MAX
from penstock.config.problems import ConfigError, Position, Problem, config_error, cut
from penstock.config.tree import Block, Entry


class Report:
    """What was found so far. Warnings stop only the test of a configuration, as the reference."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    def problem(self, position: Position, message: str) -> None:
        self.problems.append(Problem(position, message))

    def warning(self, position: Position, message: str) -> None:
        self.warnings.append(Problem(position, message))

    def close(self) -> None:
        """Raise what was found."""
        if not self.problems:
            return
        more = len(self.problems) - PROBLEMS_MAX
        shown = self.problems[:PROBLEMS_MAX]
        if more > 0:
            shown.append(Problem(None, f"and {more} more problems"))
        raise ConfigError(*shown)


Changes: TypeAlias = dict[str, Any]
Reader: TypeAlias = Callable[[Entry, Report], Changes]


def read_block(
    block: Block,
    readers: Mapping[str, Reader],
    unsupported: Mapping[str, str],
    report: Report,
) -> Changes:
    """The changes that the entries of `block` ask for; later entries win."""
    changes: Changes = {}
    for entry in block.entries.values():
        name = entry.key.lower()
        if reader := readers.get(name):
            try:
                changes |= reader(entry, report)
            except ConfigError as error:
                report.problems.extend(error.problems)
        elif name in unsupported:
            report.problem(entry.position, f"{name} is {unsupported[name]}")
        elif not entry.used:
            report.problem(entry.position, unknown(entry.key, readers))
    return changes


def unknown(key: str, readers: Mapping[str, Reader]) -> str:
    near = get_close_matches(cut(key).lower(), readers, n=1)
    return f"unknown field {cut(key)!r}" + (f": did you mean {near[0]!r}?" if near else "")


def block_of(entry: Entry) -> Block:
    if isinstance(entry.node.value, Block):
        return entry.node.value
    raise wrong_type(entry, "a block in braces")


def wrong_type(entry: Entry, wanted: str) -> ConfigError:
    """Says the kind of what was found, not the value: it may be a secret."""
    message = f"{entry.key} must be {wanted}, not {entry.node.kind}"
    return config_error(entry.node.position, message)


def wrong_value(entry: Entry, message: str) -> ConfigError:
    return config_error(entry.node.position, f"{entry.key} {message}")
