"""What an archive is told: its parameters, read, checked, and compared with what is there.

The archive decides where a run begins, not a checkpoint: a run is named after the archive and the
place it begins at, so it finds a checkpoint only if it was killed before it had added anything. A
checkpoint that was lost, or one that knows of another archive, changes nothing.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.pipelines.catalog import ParameterError
from pyspark_jetstream.connection import Connection
from pyspark_jetstream.options import read_options
from pyspark_jetstream_archive.folder import Archive, ArchiveError

EVERY = ">"
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://)?(/.*)")


def folder(text: str) -> Path:
    """Of the parameter path. Raises ParameterError."""
    uri = _URI.fullmatch(text)
    if uri is None:
        return Path(text).expanduser().absolute()
    scheme, path = uri.groups()
    if scheme.lower() != "file" or path.startswith("//"):
        allowed = "a folder that this machine and all of Spark's see, such as /data/orders"
        raise ParameterError(f"path is {text!r}; allowed: {allowed}")
    return Path(path)


def opened(connection: Mapping[str, str], told: Mapping[str, str]) -> Archive:
    """The archive that parameters ask for, made if there is none. Raises ArchiveError."""
    stream, path = told["stream"], folder(told["path"])
    options = read_options({**connection, "stream": stream})
    if len(options.streams) > 1:
        raise ParameterError(f"stream is {stream!r}; allowed: one stream for each archive")
    with Connection(options.connection) as server:
        info = server.api(f"STREAM.INFO.{stream}")
    archive = Archive.create(path, stream, told["subjects"], info)
    _compare(archive, stream, told["subjects"], info)
    return archive


def _compare(archive: Archive, stream: str, subjects: str, info: Mapping[str, Any]) -> None:
    head, path = archive.head, archive.path
    if head.stream != stream:
        raise ArchiveError(f"{path} is an archive of {head.stream}, not of {stream}")
    if head.created != info["created"]:
        raise ArchiveError(
            f"{path} is an archive of a stream {stream} created at {head.created}; the one "
            f"that is there now is another, created at {info['created']}: name another path"
        )
    if head.subjects != subjects:
        raise ArchiveError(f"{path} is an archive of subjects={head.subjects}, not of {subjects}")


def beginning(archive: Archive) -> tuple[str, str]:
    """The name of the next run, and its option startingOffsets."""
    head, latest = archive.head, archive.latest()
    last = latest.last if latest else 0
    name = re.sub(r"\W", "_", f"archive_{head.stream}_{head.id[:8]}_{last}").lower()
    return name, json.dumps({head.stream: last + 1}) if last else "earliest"


def session_of(spark: SparkSession) -> str:
    """Its id: pipelines run in sessions of Spark Connect, which have one."""
    return str(getattr(spark, "session_id", ""))
