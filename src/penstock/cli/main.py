"""The command `penstock`. A server must start fast, so `serve` goes its own way; all other commands
are typer's, and each imports what it works with when it is asked for."""

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

from penstock.model import version


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    if sys.stdout is None:  # it was closed by whoever started us
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 -- until we end
    if isinstance(sys.stdout, TextIOWrapper):  # what a terminal does not know is shown by number
        sys.stdout.reconfigure(errors="backslashreplace")
    if given[:1] == ["serve"]:
        from penstock.cli.serve import serve

        return serve(given[1:])
    if given[:1] in (["version"], ["-version"]):  # as nats-server has it
        print_version()
        return 0
    from penstock.cli.app import GROUPS, build

    is_completing = "_PENSTOCK_COMPLETE" in os.environ  # then anything may be asked for
    app = build(*GROUPS) if is_completing else build(*given)
    app(args=given, prog_name="penstock")
    return 0


def print_version() -> None:
    """The reference's version first, in its words: tools parse that line."""
    print(f"nats-server: v{version.REFERENCE_VERSION}")
    print(f"penstock: v{version.PENSTOCK_VERSION}")
