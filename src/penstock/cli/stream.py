"""`penstock stream`: what streams there are, how one is configured, and what is in it."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli import stream_query, stream_tail
from penstock.cli.access import Access
from penstock.cli.command import Json, command
from penstock.cli.connecting import pages, run, stream_info
from penstock.cli.output import print_fields, print_json, print_table

if TYPE_CHECKING:
    from penstock.client import JetStream

Name = Annotated[str, typer.Argument(metavar="STREAM", help="The name of the stream.")]

_LISTED_DEFAULTS: tuple[object, ...] = (None, False, "", 0, -1, [], {})

_DURATIONS = ("max_age", "duplicate_window", "subject_delete_marker_ttl")


def declare(streams: typer.Typer) -> None:
    command(streams, "ls", ls)
    command(streams, "info", info)
    stream_tail.declare(streams)
    stream_query.declare(streams)


def ls(
    access: Access,
    subject: Annotated[str, typer.Option(help="Only streams that take this subject.")] = "",
    as_json: Json = False,
) -> None:
    """List the streams with what is in them."""

    async def listed(js: "JetStream") -> list[Any]:
        request = {"subject": subject} if subject else {}
        return sorted(
            await pages(js, "STREAM.LIST", "streams", **request),
            key=lambda found: str(found["config"]["name"]),
        )

    found = run(access, listed)
    if as_json:
        for stream in found:
            print_json(stream)
        return
    columns = ("name", "subjects", "messages", "bytes", "first", "last", "consumers", "storage")
    print_table(columns, [_row(stream) for stream in found])


def _row(stream: dict[str, Any]) -> list[object]:
    config, state = stream["config"], stream["state"]
    return [
        config["name"],
        _origin(config),
        state["messages"],
        state["bytes"],
        state["first_seq"],
        state["last_seq"],
        state["consumer_count"],
        config["storage"],
    ]


def _origin(config: dict[str, Any]) -> str:
    if mirror := config.get("mirror"):
        return f"mirror of {mirror['name']}"
    parts = [*(config.get("subjects") or [])]
    if sources := config.get("sources"):
        parts.append(f"sources {', '.join(source['name'] for source in sources)}")
    return ", ".join(parts)


def info(access: Access, stream: Name, as_json: Json = False) -> None:
    """Show the configuration and the state of a stream, with what was lost to damage."""
    told = run(access, lambda js: stream_info(js, stream))
    if as_json:
        print_json(told)
        return
    print_fields(_fields(told))


def _fields(told: dict[str, Any]) -> dict[str, object]:
    config, state = told["config"], told["state"]
    fields: dict[str, object] = {
        "stream": config["name"],
        "subjects": _origin(config),
        "created": told["created"],
        "messages": state["messages"],
        "bytes": state["bytes"],
        "first": f"{state['first_seq']:,} at {state['first_ts']}",
        "last": f"{state['last_seq']:,} at {state['last_ts']}",
        "distinct subjects": state.get("num_subjects", 0),
        "deleted inside": state.get("num_deleted", 0),
        "consumers": state["consumer_count"],
    }
    if lost := state.get("lost"):
        fields["lost to damage"] = f"{len(lost.get('msgs') or []):,} messages"
    known = {"name", "subjects", "mirror", "sources"}
    for name, value in config.items():
        if name not in known and value not in _LISTED_DEFAULTS:
            fields[name.replace("_", " ")] = _shown(name, value)
    return fields


def _shown(name: str, value: object) -> object:
    if name in _DURATIONS and isinstance(value, int):
        return f"{value / 1e9:g}s"
    if isinstance(value, dict):
        return ", ".join(f"{key}={one}" for key, one in value.items())
    return value
