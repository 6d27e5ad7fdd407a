"""What was restored, how, and what is not as it was."""

from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from penstock.pipelines.catalog import CONNECTION
from penstock.pipelines.outcome import Outcome
from penstock.pipelines.restore.target import target_of
from penstock.pipelines.restore.terms import Terms, terms_of
from pyspark_jetstream.connection import Connection
from pyspark_jetstream.options import sink_options
from pyspark_jetstream_archive.archived_rows import archived_rows
from pyspark_jetstream_archive.folder import Archive, File
from pyspark_jetstream_archive.increments import with_increments

ROWS_SHOWN_MAX = 30
NEW = (
    "sequences and times are new, and ids of messages are gone; for an exact copy: nats stream "
    "backup, nats stream restore"
)


def outcome(_spark: SparkSession, values: Mapping[str, str]) -> Outcome:
    terms = terms_of(values)
    connection = {one.name: values[one.name] for one in CONNECTION if values[one.name]}
    target = target_of(connection, terms)
    archive = target.archive
    files = [file for entry in archive.entries() for file in entry.files]
    dates, sequences = _selected(archive, files, terms)
    with Connection(sink_options(target.options).connection) as server:
        state = server.api(f"STREAM.INFO.{terms.target}")["state"]
    facts: dict[str, object] = {
        "archive": str(terms.path),
        "of stream": archive.head.stream,
        "messages": dates.total(),
        "sequences": sequences,
        "target": terms.target,
        "target has": f"{state['messages']} messages, up to {state['last_seq']}",
        "written by": f"{target.mode}: {target.reason}",
        "checkpoint": terms.name(archive),
        "note": NEW,
    }
    if target.is_counter:
        facts["history"] = _history(archive, files, terms)
    rows = [*sorted(dates.items())][-ROWS_SHOWN_MAX:]
    return Outcome(("date", "messages"), rows, facts=facts)


def _selected(archive: Archive, files: Sequence[File], terms: Terms) -> tuple[Counter[str], str]:
    """How many messages were to be restored, by date, and their sequences."""
    dates: Counter[str] = Counter()
    first = last = 0
    columns = ("seq", "subject", "timestamp")
    for rows in archived_rows(archive, files, terms.selection(archive), columns):
        counts = pc.value_counts(pc.cast(rows["timestamp"], pa.date32()))
        dates.update({str(one["values"].as_py()): one["counts"].as_py() for one in counts})
        first, last = first or rows["seq"][0].as_py(), rows["seq"][-1].as_py()
    return dates, f"{first} to {last}" if last else "none"


def _history(archive: Archive, files: Sequence[File], terms: Terms) -> str:
    """Of counters: how many increments are not those of the archive."""
    columns = ("seq", "subject", "counter_value", "headers")
    pieces = archived_rows(archive, files, terms.selection(archive), columns)
    other = 0
    for rows in with_increments(pieces, {}):
        for headers, increment in zip(
            rows["headers"].to_pylist(), rows["incr"].to_pylist(), strict=True
        ):
            (said,) = dict(headers or []).get("Nats-Incr", ["0"])
            other += int(said) != int(increment)
    if not other:
        return "whole: every increment is one of the archive's"
    return f"{other} increments stand for others that the archive does not have; values are right"
