"""`penstock counter audit`: a recount.

Every message of a counter says what it added (Nats-Incr) and what that came to; so each value must
be the one before it and what was added.

Where the beginning of a counter's history is gone (limits, a purge), the recount begins with what
the first message that is left had before it. One number for each counter is kept, no message.
"""

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.access import Access
from penstock.cli.command import Json, command
from penstock.cli.connecting import run, stream_info
from penstock.cli.exits import CommandError, ExitCode
from penstock.cli.output import Advance, print_json, print_table, progress

if TYPE_CHECKING:
    from nats.js.api import RawStreamMsg

    from penstock.client import JetStream

_FLAWS_SHOWN_MAX = 20


@dataclass
class Recount:
    """One counter, as far as it was counted."""

    value: int = 0
    carried: int = 0  # what was there before the first message that is left
    increments: int = 0  # the sum of what was added since
    messages: int = 0
    flaws: list[dict[str, Any]] = field(default_factory=list)

    def take(self, sequence: int, increment: int | None, value: int | None) -> None:
        if increment is None or value is None:
            problem = "the message does not say what it added, or what that came to"
            self.flaws.append({"seq": sequence, "problem": problem})
            return
        if not self.messages:
            self.carried = self.value = value - increment
        self.messages += 1
        self.increments += increment
        if self.value + increment != value:
            problem = f"{self.value} and {increment} is not {value}"
            self.flaws.append({"seq": sequence, "problem": problem})
        self.value = value


def declare(counters: typer.Typer) -> None:
    command(counters, "audit", audit, ExitCode.FLAWED)


def audit(
    access: Access,
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="The counters' stream.")],
    subject: Annotated[str, typer.Option(help="Only these; wildcards are allowed.")] = ">",
    as_json: Json = False,
) -> int:
    """Count again: add up what every message added, and compare with the values.

    A value that is not the one before it and what was added is a flaw. What was counted before the
    first message that is left cannot be counted again, and is shown as carried.
    """
    with progress(f"counting {stream}") as advance:
        found = run(access, lambda js: _recounted(js, stream, subject, advance))
    flawed = sum(bool(counter.flaws) for counter in found.values())
    if as_json:
        for name, counter in sorted(found.items()):
            print_json(_as_data(name, counter))
    else:
        _print(found)
        verdict = f"{flawed} do not add up" if flawed else "all add up"
        print(f"{len(found):,} counters: {verdict}")
    return ExitCode.FLAWED if flawed else ExitCode.DONE


async def _recounted(
    js: "JetStream", stream: str, subject: str, advance: Advance
) -> dict[str, Recount]:
    info = await stream_info(js, stream)
    if not info["config"].get("allow_msg_counter"):
        raise CommandError(f"stream {stream} has no counters")
    last, total = info["state"]["last_seq"], info["state"]["messages"]
    found: dict[str, Recount] = {}
    counted = 0
    async for message in js.stream(stream).get_msgs(subject):
        if (message.seq or 0) > last:
            break
        counter = found.setdefault(message.subject or "", Recount())
        counter.take(message.seq or 0, _increment(message), _value(message))
        counted += 1
        if counted % 1000 == 0:
            advance(counted, total)
    return found


def _increment(message: "RawStreamMsg") -> int | None:
    try:
        return int((message.headers or {})["Nats-Incr"])
    except (KeyError, ValueError):
        return None


def _value(message: "RawStreamMsg") -> int | None:
    try:
        return int(json.loads(message.data or b"")["val"])
    except (KeyError, ValueError, TypeError):
        return None


def _as_data(name: str, counter: Recount) -> dict[str, Any]:
    return {
        "subject": name,
        "value": counter.value,
        "carried": counter.carried,
        "increments": counter.increments,
        "messages": counter.messages,
        "flaws": counter.flaws,
    }


def _print(found: dict[str, Recount]) -> None:
    columns = ("subject", "value", "carried", "increments", "messages", "flaws")
    rows = [
        (name, one.value, one.carried, one.increments, one.messages, len(one.flaws))
        for name, one in sorted(found.items())
    ]
    print_table(columns, rows)
    told = [(name, flaw) for name, one in sorted(found.items()) for flaw in one.flaws]
    for name, flaw in told[:_FLAWS_SHOWN_MAX]:
        print(f"{name} at sequence {flaw['seq']}: {flaw['problem']}")
