"""The command `penstock`. Each subcommand is imported when it is asked for, so that none of them
pays for the others."""

import sys
from collections.abc import Callable, Sequence

from penstock.model import version

USAGE = """usage: penstock COMMAND [flags]

commands:
  serve    run a server (flags as nats-server has them; see penstock serve --help)
  demo     start a server, publish, subscribe and request, and show what happened

penstock --version prints the version.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = given[0] if given else ""
    if command in _COMMANDS:
        return _COMMANDS[command](given[1:])
    if command.lstrip("-") in ("v", "version"):
        print_version()
        return 0
    if command.lstrip("-") in ("h", "help"):
        print(USAGE, end="")
        return 0
    problem = f"unknown command {command!r}" if command else "a command is missing"
    print(f"penstock: {problem}\n\n{USAGE}", end="", file=sys.stderr)
    return 2


def print_version() -> None:
    """The reference's version first, in its words: tools parse that line."""
    print(f"nats-server: v{version.REFERENCE_VERSION}")
    print(f"penstock: v{version.PENSTOCK_VERSION}")


def _serve(arguments: Sequence[str]) -> int:
    from penstock.cli.serve import serve  # noqa: PLC0415

    return serve(arguments)


def _demo(arguments: Sequence[str]) -> int:
    from penstock.cli.demo import demo  # noqa: PLC0415

    return demo(arguments)


_COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {"serve": _serve, "demo": _demo}
