"""`penstock stream tail`: the end of a stream, and what comes to it, until one has seen enough.

The last messages are read and the new ones come through an ordered consumer of nats-py, which the
server forgets when the connection ends. Where the last n of a filter begin is found by asking how
many messages match from a sequence on, halving the range each time.
"""

import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.access import Access, duration
from penstock.cli.command import Json, command
from penstock.cli.connecting import api, run, stream_info
from penstock.cli.output import console, print_json
from penstock.cli.shown import as_data, as_text, moment

if TYPE_CHECKING:
    from nats.aio.msg import Msg
    from rich.console import Console

    from penstock.client import JetStream

_PENDING_BYTES_MAX = 16 << 20  # what waits to be printed
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHORT_REPLY_TOKENS = 9  # $JS.ACK and what a consumer says of a message
_TIME_TOKEN = 9  # where domain and account are said too


def declare(streams: typer.Typer) -> None:
    command(streams, "tail", tail)


def tail(
    access: Access,
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="The name of the stream.")],
    subject: Annotated[str, typer.Option(help="Only these subjects; wildcards are allowed.")] = "",
    last: Annotated[int, typer.Option("--last", "-n", help="How many to begin with.", min=0)] = 10,
    since: Annotated[str, typer.Option(help="Begin with those of a while: 5m, 1h.")] = "",
    follow: Annotated[bool, typer.Option(help="Go on with what comes.")] = True,
    count: Annotated[int, typer.Option(help="End after so many messages.", min=0)] = 0,
    headers: Annotated[bool, typer.Option(help="Show headers too.")] = False,
    as_json: Json = False,
) -> None:
    """Show the last messages of a stream, and those that come.

    Nothing is acknowledged and no consumer stays behind. To take messages off a stream use nats
    consumer, of the nats CLI.
    """
    asked = _Asked(stream, subject, last, since, follow=follow, count=count)

    async def shown(js: "JetStream") -> None:
        output = None if as_json else console()
        async for message in _messages(js, asked):
            if output is None:
                _print_json(message)
            else:
                _print(output, message, headers=headers)
            if follow:
                sys.stdout.flush()  # who reads it, through a pipe too, is to see it now

    run(access, shown)


def _print_json(message: "Msg") -> None:
    place = message.metadata
    sequence = place.sequence.stream
    print_json(
        as_data(sequence, _stored_at(message), message.subject, message.data, message.headers)
    )


def _print(output: "Console", message: "Msg", *, headers: bool) -> None:
    place = message.metadata
    output.print(f"[bold]{place.sequence.stream}[/] [dim]{moment(_stored_at(message))}[/] ", end="")
    output.print(f"[cyan]{_plain(message.subject)}[/] {_plain(as_text(message.data))}")
    for name, value in (message.headers or {}).items() if headers else ():
        output.print(f"  [dim]{_plain(name)}: {_plain(as_text(value.encode()))}[/]")


class _Asked:
    """What the command line says."""

    def __init__(
        self, stream: str, subject: str, last: int, since: str, *, follow: bool, count: int
    ) -> None:
        self.stream = stream
        self.subject = subject or ">"
        self.last = last
        self.since = duration(since, "--since") if since else 0.0
        self.follow = follow
        self.count = count


def _stored_at(message: "Msg") -> datetime:
    """Cut to microseconds, as everywhere; nats-py makes a float of it, which rounds."""
    tokens = message.reply.split(".")
    is_short = len(tokens) == _SHORT_REPLY_TOKENS  # without a domain
    nanoseconds = int(tokens[-2 if is_short else _TIME_TOKEN])
    return _EPOCH + timedelta(microseconds=nanoseconds // 1000)


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)


async def _messages(js: "JetStream", asked: _Asked) -> "AsyncIterator[Msg]":
    """Those that are there, then those that come."""
    from nats.js.api import ConsumerConfig, DeliverPolicy

    state = (await stream_info(js, asked.stream))["state"]
    config = ConsumerConfig(deliver_policy=DeliverPolicy.BY_START_SEQUENCE)
    if asked.since:
        start = datetime.now(UTC) - timedelta(seconds=asked.since)
        config.deliver_policy = DeliverPolicy.BY_START_TIME
        config.opt_start_time = start.isoformat()  # type: ignore[assignment]
    else:
        config.opt_start_seq = await _first_of_last(js, asked, state)
    subscription = await js.subscribe(
        asked.subject,
        stream=asked.stream,
        config=config,
        ordered_consumer=True,
        pending_bytes_limit=_PENDING_BYTES_MAX,
    )
    found = await subscription.consumer_info()
    delivered = 0 if found.delivered is None else found.delivered.consumer_seq
    left = (found.num_pending or 0) + delivered  # what was there at that moment
    taken = 0
    while asked.follow or taken < left:
        if asked.count and taken == asked.count:
            return
        yield await subscription.next_msg(timeout=None if asked.follow else js.timeout)
        taken += 1


async def _first_of_last(js: "JetStream", asked: _Asked, state: dict[str, Any]) -> int:
    """From this sequence on there are as many messages as were asked for."""
    first, end = int(state["first_seq"]), int(state["last_seq"]) + 1
    bottom, top = first, end
    if asked.subject == ">" and not state.get("num_deleted"):
        return max(first, end - asked.last, 1)
    while first < end:
        middle = (first + end) // 2
        if await _matching(js, asked, middle) >= asked.last:
            first = middle + 1
        else:
            end = middle
    return max(first - 1, bottom, 1) if asked.last else top


async def _matching(js: "JetStream", asked: _Asked, sequence: int) -> int:
    """How many messages from a sequence on match: what a consumer would have before it."""
    name = js.connection.new_inbox().rpartition(".")[2]
    config = {
        "name": name,
        "deliver_policy": "by_start_sequence",
        "opt_start_seq": sequence,
        "ack_policy": "none",
        "filter_subject": asked.subject,
        "mem_storage": True,
        "inactive_threshold": 5_000_000_000,
    }
    place = f"CONSUMER.CREATE.{asked.stream}.{name}"
    told = await api(js, place, {"stream_name": asked.stream, "config": config})
    await api(js, f"CONSUMER.DELETE.{asked.stream}.{name}")
    pending: int = told["num_pending"]
    return pending
