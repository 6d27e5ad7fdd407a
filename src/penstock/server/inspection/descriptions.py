"""What the folders of streams are about: from their descriptions, or else from their names.

A stream whose description is gone, with its copy, and which the log does not describe either, can
still be served: its records verify only under its own name, which is in the name of its folder.
What cannot be had again is its configuration. It gets the defaults, which remove nothing.
"""

import urllib.parse
from pathlib import Path

import msgspec

from penstock.model.stream_config import StreamConfig
from penstock.model.stream_request import parse_stream_request
from penstock.server.inspection.findings import Finding, Places, Weight
from penstock.server.inspection.twins import read_twins
from penstock.server.jetstream.description import Description
from penstock.server.jetstream.folders import TWINS, StreamFolders, escaped
from penstock.streams.defaults import filled
from penstock.streams.resources import ServerResources, Surroundings

_NOTE = "Its configuration was lost, and this one made by penstock doctor: set limits and subjects"
_NOWHERE = Surroundings(
    streams={}, server=ServerResources(memory_bytes_max=1 << 60, storage_bytes_max=1 << 60)
)


def number_of(folder: Path) -> int | None:
    text = folder.name.rpartition(".")[2]
    return int(text) if text.isdecimal() else None


def read_description(folder: Path, places: Places) -> tuple[Description | None, list[Finding]]:
    """From one of the twins, with what is wrong about the other one, or about both."""

    def decode(content: bytes) -> Description:
        description = Description.unsealed(content)
        if StreamFolders(folder.parent).folder(description) != folder:
            raise ValueError("it is about another stream")
        return description

    return read_twins(folder, TWINS, decode, places, _hopeless)


def _hopeless(_problem: str) -> tuple[Weight, str]:
    return (
        Weight.LOST,
        "the stream's configuration is lost; with --repair it is served with the defaults (no"
        " limits, its own name as subject), without it its messages are left alone",
    )


def guessed(folder: Path) -> Description | None:
    """What a folder's name says; None if it does not say it all."""
    number, beginning = number_of(folder), folder.name.rpartition(".")[0]
    name = urllib.parse.unquote(beginning)
    if number is None or not name or escaped(name) != beginning or not folder.is_dir():
        return None
    return Description(number, default_config(name), _created_ns(folder))


def default_config(name: str) -> StreamConfig:
    asked = {"name": name, "description": _NOTE, "allow_direct": True}
    config = parse_stream_request(msgspec.json.encode(asked)).config
    return filled(config, _NOWHERE)


def _created_ns(folder: Path) -> int:
    """Nobody knows better than the oldest of its files."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return min((path.stat().st_mtime_ns for path in files), default=folder.stat().st_mtime_ns)
