"""`penstock batch`: the messages of a file, stored all together or not at all (ADR-50)."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from penstock.cli.access import Access
from penstock.cli.command import Json, command
from penstock.cli.connecting import run
from penstock.cli.exits import CommandError, ExitCode
from penstock.cli.output import print_json

if TYPE_CHECKING:
    from nats.js.api import PubAck

    from penstock.client import JetStream

_LINE_BYTES_MAX = 64 << 20  # the largest payload that any server takes
_BATCH_MAX = 1000  # messages, as ADR-50 has it; a server may allow fewer
_FIELDS = {"subject", "data", "headers"}


class Line(NamedTuple):
    """A message to be published."""

    subject: str
    payload: bytes
    headers: dict[str, str]


def declare(batches: typer.Typer) -> None:
    command(batches, "publish", publish)


def publish(
    access: Access,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The messages; - for stdin.")],
    subject: Annotated[str, typer.Option(help="Where lines go that do not say it.")] = "",
    json_lines: Annotated[
        bool, typer.Option("--json-lines", help="Each line is JSON: subject, data, headers.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Publish the lines of a file as one atomic batch.

    Each line is a message to --subject. With --json-lines, or a file that ends in .jsonl, each line
    is an object with data (text, or any JSON), and if wanted subject and headers. All subjects must
    belong to one stream that allows it (nats stream add --allow-batch). The file is read and
    checked before anything is sent.
    """
    lines = _read(file, subject, is_json=json_lines or file.suffix == ".jsonl")
    ack = run(access, lambda js: _published(js, lines))
    if as_json:
        data = {"stream": ack.stream, "seq": ack.seq, "batch": ack.batch_id, "count": len(lines)}
        print_json(data)
    else:
        first = ack.seq - len(lines) + 1
        print(f"{len(lines)} messages stored in {ack.stream}: {first} to {ack.seq}")


async def _published(js: "JetStream", lines: list[Line]) -> "PubAck":
    from nats.js.errors import NoStreamResponseError

    from penstock.client import BatchesNotEnabledError

    place = ""
    try:
        batch = js.batch()
        async with batch:
            for line in lines:
                place = line.subject
                await batch.publish(place, line.payload, headers=line.headers or None)
    except BatchesNotEnabledError as error:
        hint = "allow it with: nats stream edit STREAM --allow-batch"
        if error.err_code is None:  # not a refusal: the server has told what it did instead
            raise CommandError(str(error.description)) from None
        problem = f"{error.description or 'the stream takes no batches'}; nothing was stored"
        raise CommandError(problem, hint) from None
    except NoStreamResponseError:
        hint = f"make one with: nats stream add NAME --subjects {place} --allow-batch --defaults"
        raise CommandError(f"no stream takes {place}", hint, ExitCode.NOT_FOUND) from None
    return batch.ack


def _read(file: Path, subject: str, *, is_json: bool) -> list[Line]:
    name = "standard input" if str(file) == "-" else str(file)
    lines = []
    try:
        with _opened(file) as source:
            for number, text in _numbered(source, name):
                parse = _parsed if is_json else _plain
                lines.append(parse(text, subject, f"{name}:{number}"))
                if len(lines) > _BATCH_MAX:
                    problem = f"{name} has more than {_BATCH_MAX} messages"
                    raise CommandError(problem, "a batch has at most that many")
    except FileNotFoundError:
        raise CommandError(f"{file} is not there", "", ExitCode.NOT_FOUND) from None
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}") from None
    if not lines:
        raise CommandError(f"{name} has no messages", "nothing was published")
    return lines


def _opened(file: Path) -> IO[bytes]:
    return sys.stdin.buffer if str(file) == "-" else file.open("rb")


def _numbered(source: IO[bytes], name: str) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := source.readline(_LINE_BYTES_MAX + 1):
        number += 1
        if len(line) > _LINE_BYTES_MAX:
            raise CommandError(f"{name}:{number}: the line is longer than any message may be")
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        if text:
            yield number, text


def _plain(text: bytes, subject: str, where: str) -> Line:
    if not subject:
        hint = "give --subject, or JSON lines with --json-lines"
        raise CommandError(f"{where}: nobody says where this goes", hint, ExitCode.USAGE)
    return Line(_subject(subject, where), text, {})


def _parsed(text: bytes, subject: str, where: str) -> Line:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:  # the latter: nested too deeply
        raise CommandError(f"{where}: no JSON: {error}", "nothing was published") from None
    if not isinstance(found, dict) or "data" not in found or not found.keys() <= _FIELDS:
        hint = 'such as {"subject": "orders.eu", "data": "paid", "headers": {"Id": "7"}}'
        raise CommandError(f"{where}: an object with data, and subject and headers at most", hint)
    headers = found.get("headers") or {}
    if not isinstance(headers, dict) or not all(isinstance(one, str) for one in headers.values()):
        raise CommandError(f"{where}: headers are an object of texts", "nothing was published")
    if any("\r" in text or "\n" in text for pair in headers.items() for text in pair):
        raise CommandError(f"{where}: a header has a line break", "nothing was published")
    place = found.get("subject") or subject
    if not place:
        hint = "add it to the line, or give --subject"
        raise CommandError(f"{where}: the subject is missing", hint, ExitCode.USAGE)
    texts = [text for text in (place, found["data"]) if isinstance(text, str)]
    if not all(map(_is_unicode, [*texts, *headers, *headers.values()])):
        raise CommandError(f"{where}: half of a character (\\ud800 to \\udfff)", "nothing was sent")
    return Line(_subject(place, where), _payload(found["data"]), headers)


def _is_unicode(text: str) -> bool:
    """JSON can write halves of characters, which are nothing that can be sent."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _payload(data: Any) -> bytes:
    return data.encode() if isinstance(data, str) else json.dumps(data).encode()


def _subject(text: object, where: str) -> str:
    from penstock.client.subjects import is_literal

    if not isinstance(text, str) or not is_literal(text):
        raise CommandError(f"{where}: {text!r} is no subject to publish to", "", ExitCode.USAGE)
    return text
