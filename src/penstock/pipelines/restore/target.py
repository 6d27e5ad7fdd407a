"""Where an archive is restored to, and whether that can be: asked before anything is published."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.pipelines.catalog import ParameterError
from penstock.pipelines.restore.terms import Terms
from pyspark_jetstream.connection import Connection, StreamNotFoundError
from pyspark_jetstream.options import sink_options
from pyspark_jetstream.sink_errors import SinkError
from pyspark_jetstream.sink_plan import MSGID_MODE, Plan, plan_of
from pyspark_jetstream.sink_subjects import covers
from pyspark_jetstream_archive.archived_rows import archived_rows
from pyspark_jetstream_archive.folder import Archive, File
from pyspark_jetstream_archive.wholeness import whole_entries


@dataclass(frozen=True)
class Target:
    """A stream that takes an archive."""

    archive: Archive
    is_counter: bool
    has_ttl: bool  # some messages have one, and it is kept
    mode: str  # of the sink
    reason: str  # why this mode
    options: Mapping[str, str]  # of the sink

    @property
    def id_stem(self) -> str | None:
        """What ids of messages begin with: they depend on the archive and nothing else."""
        return f"restore/{self.archive.head.id}" if self.mode == MSGID_MODE else None


def target_of(connection: Mapping[str, str], terms: Terms) -> Target:
    """Looks at the archive, asks the server. Raises what stands against it."""
    archive = Archive(terms.path)
    selection = terms.selection(archive)
    entries = whole_entries(archive)
    files = [file for entry in entries for file in entry.files if selection.has(file)]
    server = {name: value for name, value in connection.items() if name != "storeDir"}
    options = {**server, "stream": terms.target}
    is_counter = bool(archive.head.config.get("allow_msg_counter"))
    _check_kind(options, terms.target, is_counter)
    has_ttl = terms.keeps_ttl and not is_counter and _has_ttl(archive, files)
    plan, reason = _plan(options, terms.mode, is_counter, has_ttl)
    if has_ttl and not plan.takes_ttl:
        raise ParameterError(
            f"the archive has messages with a ttl, and {plan.stream} lacks allow_msg_ttl: nats "
            f"stream edit {plan.stream} --allow-msg-ttl; or say ttl=drop, and they stay"
        )
    largest = max((file.largest for file in files), default=0)
    if not is_counter and largest > plan.message_bytes_max:
        raise ParameterError(
            f"the archive has a message of {largest} bytes, and {plan.stream} takes "
            f"{plan.message_bytes_max} (max_msg_size, or max_payload of its server)"
        )
    _check_subjects(archived_rows(archive, files, selection, ("seq", "subject")), plan)
    sink = options | {"sinkMode": plan.mode}
    return Target(archive, is_counter, has_ttl, plan.mode, reason, sink)


def _check_kind(options: Mapping[str, str], name: str, is_counter: bool) -> None:
    """Counters go to counters, everything else to anything else."""
    with Connection(sink_options(options).connection) as server:
        try:
            config = server.api(f"STREAM.INFO.{name}")["config"]
        except StreamNotFoundError:
            problem = f"target is {name!r}, and there is no such stream on {server.shown}"
            raise ParameterError(problem) from None
    if is_counter and not config.get("allow_msg_counter"):
        raise ParameterError(
            f"the archive is of counters, and {name} lacks allow_msg_counter, which a stream has "
            "from its beginning: restore to one that was made with nats stream add --allow-counter"
        )
    if config.get("allow_msg_counter") and not is_counter:
        raise ParameterError(
            f"{name} is a stream of counters (allow_msg_counter), and the archive has none: "
            "restore to another stream"
        )


def _plan(
    options: Mapping[str, str], mode: str, is_counter: bool, has_ttl: bool
) -> tuple[Plan, str]:
    """The sink's own plan: batches where the stream allows them and the ledger, else ids."""
    columns: tuple[str, ...] = ("subject", "headers", "incr" if is_counter else "data")
    columns += ("ttl",) if has_ttl else ()
    try:
        plan = plan_of(sink_options({**options, "sinkMode": mode}), columns)
    except SinkError as problem:
        if mode != "auto":
            raise
        plan = plan_of(sink_options({**options, "sinkMode": MSGID_MODE}), columns)
        return plan, str(problem)
    return plan, plan.reason


def _check_subjects(pieces: Iterable[pa.Table], plan: Plan) -> None:
    known: set[str] = set()
    for rows in pieces:
        for subject in pc.unique(rows["subject"]).to_pylist():
            if subject in known:
                continue
            known.add(subject)
            if not any(covers(pattern, subject) for pattern in plan.patterns):
                wanted = ",".join((*plan.patterns, subject))
                raise ParameterError(
                    f"target {plan.stream} does not listen to {subject}: nats stream edit "
                    f"{plan.stream} --subjects '{wanted}'; or leave it out with subjects"
                )


def _has_ttl(archive: Archive, files: Iterable[File]) -> bool:
    """What footers say: whether there is a lifetime at all."""
    for file in files:
        told = pq.ParquetFile(archive.messages / file.name).metadata
        column = told.schema.names.index("ttl")
        for place in range(told.num_row_groups):
            group = told.row_group(place)
            if group.column(column).statistics.null_count < group.num_rows:
                return True
    return False
