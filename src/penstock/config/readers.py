"""Readers for one entry: strings, sizes, ports, durations, addresses.

Each function here makes a reader for a field. The meaning of special numbers is the reference's:
0 leaves most limits at their default, -1 is no limit or a random port. Nothing is converted
silently: a number where text belongs is an error that says to quote it.
"""

import posixpath
import re
from pathlib import Path

from penstock.config.addresses import advertisable, split_address
from penstock.config.bounds import INTEGER_MAX, PORT_MAX
from penstock.config.report import Changes, Reader, Report, wrong_type, wrong_value
from penstock.config.tree import Entry
from penstock.model.durations import EXAMPLE, duration_ns

SECOND_NS = 1_000_000_000
STORAGE_TEXT = re.compile(r"(-?[0-9]{1,18})([KMGT])")
STORAGE_SHIFTS = {"K": 10, "M": 20, "G": 30, "T": 40}


def string_of(entry: Entry) -> str:
    value = entry.node.value
    if isinstance(value, str):
        return value
    raise wrong_type(entry, "a string" + (" in quotes" if entry.node.text else ""))


def integer_of(entry: Entry) -> int:
    value = entry.node.value
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise wrong_type(entry, "an integer")


def boolean_of(entry: Entry) -> bool:
    value = entry.node.value
    if isinstance(value, bool):
        return value
    raise wrong_type(entry, "true or false")


def duration_of(entry: Entry) -> int:
    """Nanoseconds of a duration that must be text."""
    if not isinstance(entry.node.value, str):
        raise wrong_type(entry, EXAMPLE)
    value_ns = duration_ns(entry.node.value)
    if value_ns is None:
        raise wrong_value(entry, f"must be {EXAMPLE}")
    if value_ns < 0:
        raise wrong_value(entry, "must not be negative")
    return value_ns


def seconds_or_duration_of(entry: Entry, report: Report) -> int:
    """As the reference: a plain number is seconds and earns a warning."""
    value = entry.node.value
    if not isinstance(value, int) or isinstance(value, bool):
        return duration_of(entry)
    refuse_unit(entry)
    if not 0 <= value <= INTEGER_MAX // SECOND_NS:
        raise wrong_value(entry, f"must be {EXAMPLE}")
    report.warning(entry.position, f'{entry.key} should be converted to a duration: "{value}s"')
    return value * SECOND_NS


def refuse_unit(entry: Entry) -> None:
    """An unquoted 2m is the number 2000000: nobody means two million seconds."""
    if entry.node.text[-1:].isalpha():
        value, text = entry.node.value, entry.node.text
        raise wrong_value(entry, f'must be quoted: write "{text}", as a bare {text} is {value}')


def string(field: str) -> Reader:
    return lambda entry, _report: {field: string_of(entry) or None}


def host(field: str) -> Reader:
    """An empty host is the default one."""
    return lambda entry, _report: {field: text} if (text := string_of(entry)) else {}


def path(field: str) -> Reader:
    def read(entry: Entry, _report: Report) -> Changes:
        text = string_of(entry)
        return {field: Path(text) if text else None}

    return read


def boolean(field: str) -> Reader:
    return lambda entry, _report: {field: boolean_of(entry)}


def integer(field: str) -> Reader:
    return lambda entry, _report: {field: integer_of(entry)}


def between(field: str, smallest: int, largest: int) -> Reader:
    def read(entry: Entry, _report: Report) -> Changes:
        value = integer_of(entry)
        if not smallest <= value <= largest:
            raise wrong_value(entry, f"must be between {smallest} and {largest}, not {value}")
        return {field: value}

    return read


def positive(field: str, largest: int = INTEGER_MAX) -> Reader:
    """0 asks for the default, as in the reference."""

    def read(entry: Entry, report: Report) -> Changes:
        changes = between(field, 0, largest)(entry, report)
        return changes if changes[field] else {}

    return read


def limit(field: str) -> Reader:
    """0 and -1 are no limit, which is 0 in the options."""

    def read(entry: Entry, report: Report) -> Changes:
        return {field: max(0, between(field, -1, INTEGER_MAX)(entry, report)[field])}

    return read


def storage_size(field: str) -> Reader:
    """Bytes, or text with K, M, G or T, which in quotes are powers of 1024 as in the reference."""

    def read(entry: Entry, _report: Report) -> Changes:
        value = entry.node.value
        if not isinstance(value, str):
            value = integer_of(entry)
        elif match := STORAGE_TEXT.fullmatch(value):
            value = int(match[1]) << STORAGE_SHIFTS[match[2]]
        else:
            raise wrong_value(entry, 'must be bytes, or text that ends in K, M, G or T: "10G"')
        if not -1 <= value <= INTEGER_MAX:
            raise wrong_value(entry, f"must be between -1 and {INTEGER_MAX} bytes")
        return {field: value}

    return read


def duration(field: str) -> Reader:
    """Text or seconds; 0 asks for the default."""

    def read(entry: Entry, report: Report) -> Changes:
        value_ns = seconds_or_duration_of(entry, report)
        return {field: value_ns} if value_ns else {}

    return read


def duration_text(field: str, smallest_ns: int = 0) -> Reader:
    """Text only; 0 asks for the default, where it is not too small."""

    def read(entry: Entry, _report: Report) -> Changes:
        value_ns = duration_of(entry)
        if value_ns < smallest_ns:
            raise wrong_value(entry, f"must be at least {smallest_ns // SECOND_NS} seconds")
        return {field: value_ns} if value_ns else {}

    return read


def check_port(entry: Entry, value: int) -> int:
    if not -1 <= value <= PORT_MAX:
        message = f"must be a port up to {PORT_MAX}, or -1 for a random one, not {value}"
        raise wrong_value(entry, message)
    return value


def port(field: str) -> Reader:
    """0 is the default port."""

    def read(entry: Entry, _report: Report) -> Changes:
        value = check_port(entry, integer_of(entry))
        return {field: value} if value else {}

    return read


def port_or_off(field: str) -> Reader:
    """0 is no listener."""

    def read(entry: Entry, _report: Report) -> Changes:
        return {field: check_port(entry, integer_of(entry)) or None}

    return read


def address(host_field: str, port_reader: Reader, port_field: str) -> Reader:
    """A port, ":port" or "host:port"; without a host, another key may still give it."""

    def read(entry: Entry, report: Report) -> Changes:
        if not isinstance(entry.node.value, str):
            if not isinstance(entry.node.value, int) or isinstance(entry.node.value, bool):
                raise wrong_type(entry, 'a port or "host:port"')
            return port_reader(entry, report)
        parts = split_address(entry.node.value)
        if parts is None:
            raise wrong_value(entry, 'must be a port or "host:port"')
        name, number = parts
        changes: Changes = {host_field: name} if name else {}
        value = check_port(entry, number)
        return changes | ({port_field: value} if value else {})

    return read


def advertised(field: str) -> Reader:
    """A host with or without a port, as clients are told to use it."""

    def read(entry: Entry, _report: Report) -> Changes:
        text = string_of(entry)
        if text and not advertisable(text):
            raise wrong_value(entry, 'must be "host" or "host:port"')
        return {field: text or None}

    return read


def name_without_blanks(field: str) -> Reader:
    def read(entry: Entry, _report: Report) -> Changes:
        text = string_of(entry)
        if re.search(r"\s", text):
            raise wrong_value(entry, "can not contain spaces")
        return {field: text or None}

    return read


def base_path(field: str) -> Reader:
    """Always one slash at the start, none at the end."""
    return lambda entry, _report: {
        field: posixpath.normpath("/" + string_of(entry).lstrip("/")),
    }
