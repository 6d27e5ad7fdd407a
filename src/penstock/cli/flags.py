"""The flags of `penstock serve`, as nats-server has them: one dash or two, `-x v` and `-x=v`.

Go's rules differ from argparse's in small ways: the argument after a flag is its value whatever
it looks like (`-p -1`, `--pass -secret`), a boolean takes a value only after `=`, nothing is
abbreviated and `-p4222` is no flag. So a first pass applies Go's rules and writes every flag as
`--name=value`; argparse then converts the values and prints the help. Flags override the file.
"""

import argparse
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from penstock.config.addresses import advertisable
from penstock.config.bounds import PORT_MAX
from penstock.config.options import Authorization, Options, User
from penstock.config.problems import ConfigError, Problem
from penstock.config.unsupported import FLAGS as UNSUPPORTED

TRUE_WORDS = {"1", "t", "T", "true", "TRUE", "True"}  # what Go's ParseBool takes
FALSE_WORDS = {"0", "f", "F", "false", "FALSE", "False"}


class UsageError(Exception):
    """The command line is wrong; the message is one line."""


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks for: the version, a test of the configuration, or a server."""

    options: Options = Options()
    version: bool = False
    test_config: bool = False
    config_file: Path | None = None
    warnings: tuple[Problem, ...] = ()  # of the configuration file; to be logged


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """One flag under all its names, without dashes."""

    names: tuple[str, ...]
    field: str
    read: Callable[[str], Any]
    value: str  # how the help names the value; empty for a boolean
    help: str


def boolean(text: str) -> bool:
    if text in TRUE_WORDS:
        return True
    if text in FALSE_WORDS:
        return False
    raise argparse.ArgumentTypeError(f"expected true or false, not {text!r}")


def port(text: str) -> int:
    """Only ASCII digits: int() alone would take 4_222 and other scripts' digits."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise argparse.ArgumentTypeError(f"expected a port, not {text!r}")
    if not -1 <= int(text) <= PORT_MAX:
        message = f"expected a port up to {PORT_MAX}, or -1 for a random one, not {text}"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def server_name(text: str) -> str:
    if any(character.isspace() for character in text):
        raise argparse.ArgumentTypeError("the server name can not contain spaces")
    return text


def client_advertise(text: str) -> str:
    if text and not advertisable(text):
        raise argparse.ArgumentTypeError(f'expected "host" or "host:port", not {text!r}')
    return text


def path(text: str) -> Path | None:
    return Path(text) if text else None


def switch(names: str, field: str, help_text: str) -> Flag:
    return Flag(names=tuple(names.split()), field=field, read=boolean, value="", help=help_text)


def valued(names: str, field: str, read: Callable[[str], Any], value: str, help_text: str) -> Flag:
    return Flag(names=tuple(names.split()), field=field, read=read, value=value, help=help_text)


FLAGS: dict[str, tuple[Flag, ...]] = {
    "Server": (
        valued("a addr net", "host", str, "host", "bind to this host (default: 0.0.0.0)"),
        valued("p port", "port", port, "port", "port for clients, -1 for random (default: 4222)"),
        valued("n name server_name", "server_name", server_name, "name", "name of this server"),
        valued("P pid", "pid_file", path, "file", "file to store the process id"),
        valued("m http_port", "http_port", port, "port", "port for HTTP monitoring"),
        valued("c config", "config_file", path, "file", "configuration file"),
        switch("t", "test_config", "test the configuration and exit"),
        valued(
            "client_advertise",
            "client_advertise",
            client_advertise,
            "host:port",
            "address that clients are told to use",
        ),
        valued("ports_file_dir", "ports_file_dir", path, "dir", "directory for a .ports file"),
    ),
    "Logging": (
        valued("l log", "log_file", path, "file", "file to redirect log output"),
        switch("T logtime", "log_time", "timestamps in the log (default: true)"),
        switch("D debug", "debug", "debugging output"),
        switch("V trace", "trace", "trace the raw protocol"),
        switch("VV", "trace_all", "the same as -V"),
        switch("DV", "debug_and_trace", "debug and trace"),
        switch("DVV", "debug_and_trace", "the same as -DV"),
    ),
    "JetStream": (
        switch("js jetstream", "jetstream", "enable JetStream"),
        valued("sd store_dir", "store_dir", path, "dir", "directory for streams"),
    ),
    "Authorization": (
        valued("user", "user", str, "user", "user required for connections"),
        valued("pass", "password", str, "password", "password required for connections"),
        valued("auth", "token", str, "token", "token required for connections"),
    ),
    "Common": (
        switch("h help", "help", "show this message"),
        switch("v version", "version", "show the version"),
    ),
}
FLAG_OF_NAME = {name: flag for flags in FLAGS.values() for flag in flags for name in flag.names}

# Flags that are no field of Options by themselves.
OTHER_FIELDS = ("config_file", "test_config", "version", "help", "trace_all", "debug_and_trace")
CREDENTIAL_FIELDS = ("user", "password", "token")


class Parser(argparse.ArgumentParser):
    """argparse that raises instead of leaving the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


class Help(argparse.HelpFormatter):
    """Names first, then the value once."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=40)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        return f"{', '.join(action.option_strings)} {action.metavar or ''}".rstrip()


def dashed(name: str) -> str:
    return f"-{name}" if len(name) == 1 or name.isupper() or name in ("js", "sd") else f"--{name}"


def build_parser() -> Parser:
    parser = Parser(
        prog="penstock serve",
        usage="penstock serve [options]",
        description="A NATS server. Flags take one dash or two, and override the file.",
        formatter_class=Help,
        add_help=False,
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
    )
    for title, flags in FLAGS.items():
        group = parser.add_argument_group(f"{title} options")
        for flag in flags:
            names = [dashed(name) for name in flag.names]
            metavar = f"<{flag.value}>" if flag.value else ""
            group.add_argument(
                *names, dest=flag.field, type=flag.read, help=flag.help, metavar=metavar
            )
    return parser


def canonical(arguments: Sequence[str]) -> Iterator[str]:
    """Each flag as `--name=value`, by Go's rules."""
    rest = iter(arguments)
    for argument in rest:
        if argument in ("-", "--") or not argument.startswith("-"):
            raise UsageError(f"unexpected argument {argument!r}: every option starts with a dash")
        name, equals, value = argument.removeprefix("-").removeprefix("-").partition("=")
        if name in UNSUPPORTED:
            raise UsageError(f"flag {dashed(name)} is {UNSUPPORTED[name]}")
        flag = FLAG_OF_NAME.get(name)
        if flag is None:
            raise UsageError(f"flag provided but not defined: {argument.partition('=')[0]}")
        if not equals:
            following = next(rest, None) if flag.value else "true"
            if following is None:
                raise UsageError(f"flag needs an argument: {dashed(name)}")
            value = following
        yield f"{dashed(name)}={value}"


def parse(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Invocation:
    """What `arguments` ask for. Raises UsageError or ConfigError; leaves only after --help."""
    parser = build_parser()
    given: dict[str, Any] = vars(parser.parse_args(list(canonical(arguments))))
    if given.get("version"):
        return Invocation(version=True)
    if given.get("help"):
        parser.print_help()
        parser.exit(0)
    config_file: Path | None = given.get("config_file")
    test_config = bool(given.get("test_config"))
    if test_config and config_file is None:
        raise UsageError("-t tests a configuration file: give one with -c <file>")
    options: Options = Options()
    warnings: tuple[Problem, ...] = ()
    if config_file is not None:
        options, warnings = read_config(config_file, environment)
        if test_config and warnings:
            raise ConfigError(*warnings)
    return Invocation(
        options=apply(given, options),
        test_config=test_config,
        config_file=config_file,
        warnings=warnings,
    )


def read_config(file: Path, environment: Mapping[str, str]) -> tuple[Options, tuple[Problem, ...]]:
    # Here, because the grammar's library takes longer to load than the rest of the server.
    from penstock.config.schema import load

    configuration = load(file, environment)
    return configuration.options, configuration.warnings


def apply(given: Mapping[str, Any], options: Options) -> Options:
    """`options` with the flags over them; empty text and port 0 are the defaults, as in Go."""
    changes = {
        field: value
        for field, value in given.items()
        if field not in OTHER_FIELDS and field not in CREDENTIAL_FIELDS
    }
    defaults = Options()
    for field in ("host", "port"):
        if field in changes and not changes[field]:
            changes[field] = getattr(defaults, field)
    for field in ("http_port", "client_advertise", "server_name"):
        if field in changes and not changes[field]:
            changes[field] = None
    if "trace_all" in given:
        changes["trace"] = given["trace_all"]
    if "debug_and_trace" in given:
        changes["debug"] = changes["trace"] = given["debug_and_trace"]
    changes["authorization"] = authorization(given, options.authorization)
    return msgspec.structs.replace(options, **changes)


def authorization(given: Mapping[str, Any], file: Authorization) -> Authorization:
    """Credentials of the command line replace those of the file, a half of a user its half."""
    user, password, token = (given.get(field) for field in CREDENTIAL_FIELDS)
    if token and (user or password):
        raise UsageError("--auth and --user can not be given together")
    if token:
        return msgspec.structs.replace(file, token=token, users=())
    if not user and not password:
        return file
    single = file.users[0] if len(file.users) == 1 else User(user="", password="")
    member = User(user=user or single.user, password=password or single.password)
    if not member.user:
        raise UsageError("--pass needs --user: nobody would be asked for the password")
    return msgspec.structs.replace(file, token=None, users=(member,))
