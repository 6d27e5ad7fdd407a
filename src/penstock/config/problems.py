"""What can be wrong with a configuration, and where.

A problem is data: a position and a sentence that says what is wrong and what to do. `ConfigError`
carries all problems found in one pass, so that a file is corrected in one go. Messages name types
and keys, never the values of passwords or tokens.
"""

import msgspec

from penstock.config.bounds import EXCERPT_CHARACTERS_MAX


class Position(msgspec.Struct, frozen=True):
    """A place in a file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Problem(msgspec.Struct, frozen=True):
    """One thing to correct."""

    position: Position | None
    message: str

    def __str__(self) -> str:
        return self.message if self.position is None else f"{self.position}: {self.message}"


class ConfigError(Exception):
    """The configuration can not be used; one line for each problem."""

    def __init__(self, *problems: Problem) -> None:
        assert problems
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


def config_error(position: Position | None, message: str) -> ConfigError:
    return ConfigError(Problem(position, message))


def cut(text: str) -> str:
    """So much of a foreign text as a message may hold."""
    if len(text) <= EXCERPT_CHARACTERS_MAX:
        return text
    return text[:EXCERPT_CHARACTERS_MAX] + "…"
