"""How a command ends: its exit codes, and errors that people can act on.

An error is one line: what went wrong, and in brackets what to do about it.
"""

import enum


class ExitCode(enum.IntEnum):
    """Documented in `penstock --help`, from where the docs have them; numbers never change."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NO_CONNECTION = 3
    NOT_FOUND = 4
    FLAWED = 5
    LOST = 6
    STUCK = 7
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.DONE: "done, and all is well",
    ExitCode.FAILED: "it failed, or was refused; the reason is on standard error",
    ExitCode.USAGE: "the command line is wrong",
    ExitCode.NO_CONNECTION: "no server could be reached, or it did not let us in",
    ExitCode.NOT_FOUND: "there is no such stream, counter, context or file",
    ExitCode.FLAWED: "something is not as it should be: a configuration with problems, a counter "
    "that does not add up, damage that doctor --repair can mend",
    ExitCode.LOST: "doctor: something is lost; the rest is served",
    ExitCode.STUCK: "doctor: damage that cannot be mended",
}


class CommandError(Exception):
    """Ends the command with one line."""

    def __init__(self, problem: str, hint: str = "", code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(f"{problem} ({hint})" if hint else problem)
        self.code = code


def described(codes: tuple[ExitCode, ...] = tuple(MEANINGS)) -> str:
    """For the end of a help text."""
    return "Exit codes: " + "; ".join(f"{code.value} {MEANINGS[code]}" for code in codes) + "."
