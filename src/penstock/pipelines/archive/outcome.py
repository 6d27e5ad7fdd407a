"""What an archive holds now, and what this run has added."""

from collections.abc import Iterable, Mapping

from pyspark.sql import SparkSession

from penstock.pipelines.archive.terms import EVERY, folder, session_of
from penstock.pipelines.outcome import Outcome
from pyspark_jetstream_archive.folder import Archive, ArchiveError, Entry, File
from pyspark_jetstream_archive.wholeness import whole_entries

ROWS_SHOWN_MAX = 30


def outcome(spark: SparkSession, values: Mapping[str, str]) -> Outcome:
    archive = Archive(folder(values["path"]))
    problems: list[str] = []
    try:
        entries = whole_entries(archive)
    except ArchiveError as error:  # of files that were there before
        problems, entries = [str(error)], [archive.entry(one) for one in archive.numbers()]
    files = [file for entry in entries for file in entry.files]
    dates = sorted({file.date for file in files})[-ROWS_SHOWN_MAX:]
    rows = [_of_date(date, [file for file in files if file.date == date]) for date in dates]
    added = [entry for entry in entries if entry.session == session_of(spark)]
    facts: dict[str, object] = {
        "stream": archive.head.stream,
        "messages": sum(file.rows for file in files),
        "sequences": f"{entries[0].first} to {entries[-1].last}" if entries else "none",
        "files": len(files),
        "bytes": sum(file.file_bytes for file in files),
        **_added(added),
        "archive": str(archive.messages),
    }
    if archive.head.subjects == EVERY:
        facts["missing"] = _missing(entries)
    columns = ("date", "messages", "bytes", "files", "first_seq", "last_seq")
    return Outcome(columns, rows, is_right=not problems, problems=problems, facts=facts)


def _of_date(date: str, files: Iterable[File]) -> tuple[object, ...]:
    files = [*files]
    return (
        date,
        sum(file.rows for file in files),
        sum(file.message_bytes for file in files),
        len(files),
        min(file.first for file in files),
        max(file.last for file in files),
    )


def _added(entries: Iterable[Entry]) -> dict[str, object]:
    entries = [*entries]
    rows, seconds = sum(entry.rows for entry in entries), sum(entry.seconds for entry in entries)
    return {"added": rows, "rate": f"{rows / seconds:.0f}/s" if seconds else "none"}


def _missing(entries: Iterable[Entry]) -> str:
    """Gaps of a stream are legal, unless messages were lost before they could be read."""
    legal = sum(entry.missing for entry in entries if entry.is_lossless)
    doubtful = sum(entry.missing for entry in entries if not entry.is_lossless)
    lost = f", and {doubtful} more that may be lost (failOnDataLoss=false)" if doubtful else ""
    return f"{legal} that the stream had removed{lost}"
