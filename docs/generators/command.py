"""The page of the command line: what `penstock --help` knows, as a page.

Commands of typer are walked. `serve` has a parser of its own, which prints its help itself. Options
that say how to connect are the same for all commands, and shown once.
"""

from typing import Any

from typer.main import get_command

from penstock.cli.app import GROUPS, build
from penstock.cli.exits import MEANINGS
from penstock.cli.flags import build_parser

HEADER = """# Command

`penstock` has two kinds of commands: `serve`, with the flags of nats-server, and those for what the
`nats` command does not do. Everything else (streams, consumers, buckets, backups) is done with the
`nats` command, which works with penstock unchanged.

Every command that shows something takes `--json`. Errors are one line on standard error, with what
to do about it.
"""
CONNECTING = """
## Connecting

These options, and the variables of the environment beside them, are those of the `nats` command,
and its contexts are read. Without any of them it is `localhost:4222`.
"""
PANEL = "Connection"


def page() -> str:
    """The page in Markdown."""
    command = get_command(build(*GROUPS))
    text = HEADER
    connecting: dict[str, Any] = {}
    for one in commands_of(command, "penstock"):
        text += described(*one, connecting)
    text += "\n## penstock serve\n" + fenced(build_parser().format_help())
    text += CONNECTING + table(
        "option", [(spelled(one), words(one)) for one in connecting.values()]
    )
    text += "\n## Exit codes\n" + table("code", [(str(int(c)), m) for c, m in MEANINGS.items()])
    return text


def commands_of(command: Any, name: str) -> list[tuple[str, Any]]:
    """All commands that do something, with their names; `serve` is none of typer's."""
    below = getattr(command, "commands", None)
    if below is None:
        return [(name, command)]
    shown = [one for one in below.values() if not one.hidden and one.name != "serve"]
    return [found for one in shown for found in commands_of(one, f"{name} {one.name}")]


def described(name: str, command: Any, connecting: dict[str, Any]) -> str:
    """One command; the options of how to connect are noted, not shown."""
    text = f"\n## {name}\n\n{(command.help or '').strip()}\n"
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    arguments = [one for one in shown if one.param_type_name == "argument"]
    options = [one for one in shown if one.param_type_name == "option"]
    text += table("argument", [(usage(one), words(one)) for one in arguments])
    own = [one for one in options if getattr(one, "rich_help_panel", None) != PANEL]
    connecting |= {one.name: one for one in options if one not in own}
    text += table("option", [(spelled(one), words(one)) for one in own])
    if len(own) < len(options):
        text += "\nAnd [how to connect](#connecting).\n"
    return text


def table(title: str, rows: list[tuple[str, str]]) -> str:
    if not rows:
        return ""
    lines = "".join(f"| `{name}` | {cell(text)} |\n" for name, text in rows)
    return f"\n| {title} | |\n|---|---|\n{lines}"


def words(parameter: Any) -> str:
    """What it is for, what it is without being given, and where else it is read from."""
    text = (parameter.help or "").strip()
    default = parameter.default
    if default and not isinstance(default, bool) and not callable(default):
        text += f" (default: {default})"
    return f"{text} (`{parameter.envvar}`)" if parameter.envvar else text


def usage(argument: Any) -> str:
    name = (argument.metavar or argument.name).upper()
    return name if argument.required else f"[{name}]"


def spelled(option: Any) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    return names if option.is_flag else f"{names} {option.metavar or option.name.upper()}"


def cell(text: str) -> str:
    return text.replace("\n", " ").replace("|", "\\|")


def fenced(text: str) -> str:
    return f"\n```text\n{text.strip()}\n```\n"
