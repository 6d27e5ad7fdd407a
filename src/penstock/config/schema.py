"""Tree to options: the keys of the top level, and the rules that hold between them.

`load` is the door: a file becomes a `Configuration`, or a `ConfigError` with every problem found.
The tables name each key once; what a key means is in its reader. Rules between keys come last and
point at the key that broke them.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from penstock.config.authorization import authorization
from penstock.config.bounds import LAME_DUCK_DURATION_MIN_NS
from penstock.config.expansion import read_file, read_text
from penstock.config.jetstream import jetstream
from penstock.config.options import Options
from penstock.config.problems import Position, Problem
from penstock.config.readers import (
    address,
    advertised,
    base_path,
    boolean,
    duration,
    duration_text,
    host,
    limit,
    name_without_blanks,
    path,
    port,
    port_or_off,
    positive,
)
from penstock.config.report import Reader, Report, read_block
from penstock.config.tree import Block
from penstock.config.unsupported import TOP_LEVEL_KEYS
from penstock.model import limits


class Configuration(msgspec.Struct, frozen=True):
    """What a file says. Warnings are printed; a test of the configuration fails on them."""

    options: Options
    warnings: tuple[Problem, ...]


def load(file: Path, environment: Mapping[str, str]) -> Configuration:
    """The configuration in `file`, with variables from `environment`."""
    return read_options(read_file(file, environment), str(file))


def loads(text: str, file: str, environment: Mapping[str, str]) -> Configuration:
    """The same for a text in memory; `file` stands in the messages."""
    return read_options(read_text(text, file, environment), file)


def read_options(tree: Block, file: str) -> Configuration:
    report = Report()
    if not tree.entries:
        report.warning(Position(file, 1, 1), "the configuration is empty")
    changes = read_block(tree, READERS, TOP_LEVEL_KEYS, report)
    block_store_dir = changes.pop("block_store_dir", None)
    if block_store_dir is not None:
        if changes.get("store_dir") is not None:
            position = position_of_key(tree, "store_dir", "storedir")
            report.problem(position, "store_dir is given here and in jetstream: keep one of them")
        changes["store_dir"] = block_store_dir
    options = msgspec.structs.replace(Options(), **changes)
    for broken, message, keys in RULES:
        if broken(options):
            report.problem(position_of_key(tree, *keys), message)
    report.close()
    return Configuration(options, tuple(report.warnings))


def position_of_key(tree: Block, *keys: str) -> Position:
    """Of the last entry under one of the names; a rule breaks only when one of them is given."""
    return next(
        entry.position for entry in reversed(tree.entries.values()) if entry.key.lower() in keys
    )


# What must not hold, what to say then, and the keys that can have caused it.
RULES: tuple[tuple[Callable[[Options], bool], str, tuple[str, ...]], ...] = (
    (
        lambda options: options.max_payload > options.max_pending,
        "max_payload can not be higher than max_pending: a message must fit into what may wait",
        ("max_payload", "max_pending"),
    ),
    (
        lambda options: options.lame_duck_grace_ns >= options.lame_duck_duration_ns,
        "lame_duck_grace_period must be shorter than lame_duck_duration",
        ("lame_duck_grace_period", "lame_duck_duration"),
    ),
)

READERS: dict[str, Reader] = {
    "listen": address("host", port("port"), "port"),
    "host": host("host"),
    "net": host("host"),
    "port": port("port"),
    "client_advertise": advertised("client_advertise"),
    "server_name": name_without_blanks("server_name"),
    "http": address("http_host", port_or_off("http_port"), "http_port"),
    "http_port": port_or_off("http_port"),
    "monitor_port": port_or_off("http_port"),
    "http_base_path": base_path("http_base_path"),
    "authorization": authorization,
    "max_payload": positive("max_payload", limits.PAYLOAD_BYTES_CEILING),
    "max_control_line": positive("max_control_line", 2**31 - 1),
    "max_connections": limit("max_connections"),
    "max_conn": limit("max_connections"),
    "max_subscriptions": limit("max_subscriptions"),
    "max_subs": limit("max_subscriptions"),
    "max_pending": positive("max_pending"),
    "write_deadline": duration("write_deadline_ns"),
    "ping_interval": duration("ping_interval_ns"),
    "ping_max": positive("ping_max"),
    "ping_max_out": positive("ping_max"),
    "no_header_support": boolean("no_header_support"),
    "disable_sublist_cache": boolean("disable_sublist_cache"),
    "no_sublist_cache": boolean("disable_sublist_cache"),
    "lame_duck_duration": duration_text("lame_duck_duration_ns", LAME_DUCK_DURATION_MIN_NS),
    "lame_duck_grace_period": duration_text("lame_duck_grace_ns"),
    "jetstream": jetstream,
    "store_dir": path("store_dir"),
    "storedir": path("store_dir"),
    "debug": boolean("debug"),
    "trace": boolean("trace"),
    "trace_verbose": boolean("trace"),
    "logtime": boolean("log_time"),
    "log_file": path("log_file"),
    "logfile": path("log_file"),
    "pid_file": path("pid_file"),
    "pidfile": path("pid_file"),
    "ports_file_dir": path("ports_file_dir"),
}
