"""`penstock counter`: counters of streams (ADR-49), to add to, to read, and to check."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli import counter_audit
from penstock.cli.access import Access
from penstock.cli.command import Json, command
from penstock.cli.connecting import pages, run, stream_info
from penstock.cli.exits import CommandError, ExitCode
from penstock.cli.output import print_json, print_table

if TYPE_CHECKING:
    from penstock.client import Counters, JetStream

Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="The counter.")]
Stream = Annotated[
    str, typer.Option("--stream", help="The counter's stream; found by the subject if not given.")
]

_NEGATIVE = {"ignore_unknown_options": True}  # -5 is a number
_HOW = "make one with: nats stream add NAME --subjects 'hits.>' --allow-counter --defaults"


def declare(counters: typer.Typer) -> None:
    counters.callback()(_of_any_length)
    command(counters, "add", add, settings=_NEGATIVE)
    command(counters, "get", get)
    command(counters, "ls", ls)
    counter_audit.declare(counters)


def _of_any_length() -> None:
    """Python would print no number of more than 4,300 digits."""
    sys.set_int_max_str_digits(0)


def add(
    access: Access,
    subject: Subject,
    value: Annotated[str, typer.Argument(metavar="NUMBER", help="What to add.")] = "1",
    stream: Stream = "",
    msg_id: Annotated[str, typer.Option(help="The same id twice is counted once.")] = "",
    as_json: Json = False,
) -> None:
    """Add a whole number of any size to a counter, or take it from it, and print the sum."""
    increment = _number(value)

    async def added(js: "JetStream") -> int:
        counters = await _counters(js, subject, stream)
        return await counters.add(subject, increment, msg_id=msg_id or None)

    result = run(access, added)
    if as_json:
        print_json({"subject": subject, "value": result})
    else:
        print(result)


def _number(text: str) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        problem = f"{text!r} is no whole number"
        raise CommandError(problem, "such as 1, -5 or +1000", ExitCode.USAGE)
    from penstock.client.numbers import number

    return number(text)


def get(
    access: Access,
    subjects: Annotated[list[str], typer.Argument(metavar="SUBJECT...", help="The counters.")],
    stream: Stream = "",
    sources: Annotated[bool, typer.Option(help="Show where the value comes from.")] = False,
    as_json: Json = False,
) -> None:
    """Print the values of counters; of one counter the value alone."""

    async def found(js: "JetStream") -> list[dict[str, object]]:
        rows: list[dict[str, object]] = []
        for subject in subjects:
            counters = await _counters(js, subject, stream)
            entry = await counters.get_entry(subject)
            row: dict[str, object] = {"subject": subject, "value": entry.value}
            rows.append(row | ({"sources": entry.sources} if sources else {}))
        return rows

    rows = run(access, found)
    if as_json:
        for row in rows:
            print_json(row)
    elif len(rows) == 1 and not sources:
        print(rows[0]["value"])
    else:
        print_table([*rows[0]], [[*row.values()] for row in rows])


def ls(
    access: Access,
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="The counters' stream.")],
    subject: Annotated[str, typer.Option(help="Only these; wildcards are allowed.")] = ">",
    as_json: Json = False,
) -> None:
    """List the counters of a stream with their values."""

    async def listed(js: "JetStream") -> list[tuple[str, int]]:
        counters = await _of_stream(js, stream)
        return sorted([row async for row in counters.load_multiple([subject])])

    rows = run(access, listed)
    if as_json:
        for name, value in rows:
            print_json({"subject": name, "value": value})
    else:
        print_table(("subject", "value"), rows)


async def _counters(js: "JetStream", subject: str, stream: str) -> "Counters":
    from penstock.client.subjects import is_literal

    if not is_literal(subject):
        problem = f"{subject!r} is no counter: it has a wildcard, a blank or an empty token"
        raise CommandError(problem, "penstock counter ls lists many", ExitCode.USAGE)
    if stream:
        return await _of_stream(js, stream)
    names = await pages(js, "STREAM.NAMES", "streams", subject=subject)
    if not names:
        raise CommandError(f"no stream takes {subject}", _HOW, ExitCode.NOT_FOUND)
    return await _of_stream(js, names[0])


async def _of_stream(js: "JetStream", stream: str) -> "Counters":
    from penstock.client import CountersNotEnabledError

    await stream_info(js, stream)
    try:
        return await js.counters(stream)
    except CountersNotEnabledError:
        problem = f"stream {stream} has no counters"
        raise CommandError(problem, "only a new stream can have them; " + _HOW) from None
