"""All commands, as typer knows them. Nothing here imports what a command works with.

A group of commands is filled when one of them is called for: typer takes longer to look at all of
them, with a dozen flags each, than everything else takes together. Whoever lists the groups needs
their names and what they are for.
"""

import sys
from importlib import import_module

import typer

from penstock.cli import bench, demo, doctor
from penstock.cli.command import group
from penstock.cli.exits import ExitCode, described

_POINTER = (
    "For everything else that a JetStream server can be asked (streams and consumers, key-value"
    " buckets, object stores, backups), use the nats CLI: it works with penstock as it is."
)
GROUPS = {  # each is a module beside this one
    "stream": "Look at streams. To create, edit, back up or delete them use nats stream (the nats"
    " CLI).",
    "counter": "Counters: numbers in a stream that are added to (ADR-49).",
    "batch": "Atomic batches: all messages are stored, or none (ADR-50).",
    "config": "Configuration files, in the language of nats-server.",
    "pipeline": "Spark pipelines over streams: audits, tables, archives.",
}
_FOREIGN = {
    "ignore_unknown_options": True,
    "allow_extra_args": True,
    "help_option_names": [],
}


def build(*names: str) -> typer.Typer:
    """The command, with these groups filled."""
    app = typer.Typer(
        name="penstock",
        help=f"A JetStream-compatible message server, and tools for it.\n\n{_POINTER}",
        epilog=described(),
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        # Boxes and colours take long to load: only where somebody sees them.
        rich_markup_mode="rich" if sys.stdout.isatty() else None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(options)
    app.command("serve", context_settings=_FOREIGN)(serve)
    for module in (demo, doctor, bench):
        module.declare(app)
    for name, text in GROUPS.items():
        commands = group(name, text)
        if name in names:
            import_module(f"penstock.cli.{name}").declare(commands)
        app.add_typer(commands)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        from penstock.cli.main import print_version

        print_version()
        raise typer.Exit(ExitCode.DONE)


def options(
    version: bool = typer.Option(
        False,
        "--version",
        "-v",
        callback=_print_version,
        is_eager=True,
        help="Print the version and exit.",
    ),
) -> None:
    """Options before the command."""


def serve(context: typer.Context) -> None:
    """Run a server. Flags are those of nats-server: see penstock serve --help."""
    from penstock.cli.serve import serve as run

    raise typer.Exit(run(context.args))
