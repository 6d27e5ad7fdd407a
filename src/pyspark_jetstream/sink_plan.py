"""The plan of a write, made on the driver: which stream, in which mode, and whether that can be.

The stream's configuration decides. `batch` needs atomic batches and a ledger that nothing but the
sink writes and nothing drops; `msgid` needs a duplicate window. Everything that could break the
promise later is refused here, before any job, with the edit that helps. The plan travels to the
executors; they ask no configuration again.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.kernel.hub import is_valid_literal
from pyspark_jetstream.connection import Connection, StreamNotFoundError
from pyspark_jetstream.connection_options import ConnectionOptions
from pyspark_jetstream.option_values import OptionError
from pyspark_jetstream.options import SinkOptions
from pyspark_jetstream.sink_errors import SinkError
from pyspark_jetstream.sink_schema import EXPECTED, INCREMENT, MSG_ID
from pyspark_jetstream.sink_subjects import covers

MSGID_MODE = "msgid"
BATCH_MODE = "batch"
LEDGER = "spark_ledger"  # and the stream's name: where the ledger is if nobody says


@dataclass(frozen=True)
class Plan:
    """What every task of a write has to know."""

    connection: ConnectionOptions
    stream: str
    patterns: tuple[str, ...]  # the stream's subjects
    subject: str  # of rows without one; or empty
    columns: tuple[str, ...]
    mode: str
    reason: str  # why this mode
    ledger: str  # what the subjects of the ledger begin with
    is_ledger_undying: bool  # it says that it is to stay, where messages expire
    is_counter: bool
    takes_ttl: bool
    outstanding_acks_max: int
    message_bytes_max: int
    write_id: str  # of a batch write; a streaming one has the id of its query


def plan_of(options: SinkOptions, columns: tuple[str, ...]) -> Plan:
    """Asks the server once; raises what stands against the write."""
    with Connection(options.connection) as connection:
        name = options.stream or _stream_of(connection, options.subject)
        config = _config(connection, name)
        payload_bytes_max = connection.client.max_payload
    subject = _checked_subject(options.subject)
    patterns = tuple(config.get("subjects") or ())
    if subject and not any(covers(pattern, subject) for pattern in patterns):
        raise OptionError("subject", subject, f"the subjects of {name}: {', '.join(patterns)}")
    _check(name, config, columns, _ALWAYS)
    mode, reason = _mode(options, config, columns)
    ledger = options.ledger_subject.removesuffix(".>") or f"{LEDGER}.{name}"
    if mode == BATCH_MODE:
        if not is_valid_literal(ledger.encode()):
            allowed = "a subject without wildcards, such as spark_ledger"
            raise OptionError("ledgerSubject", options.ledger_subject, allowed)
        _check(name, config, columns, _OF_BATCHES)
        _check_ledger(name, patterns, ledger)
    else:
        _check(name, config, columns, _OF_IDS)
    message_bytes_max = int(config.get("max_msg_size") or -1)
    return Plan(
        connection=options.connection,
        stream=name,
        patterns=patterns,
        subject=subject,
        columns=columns,
        mode=mode,
        reason=reason,
        ledger=ledger,
        is_ledger_undying=bool(config.get("max_age")),
        is_counter=bool(config.get("allow_msg_counter")),
        takes_ttl=bool(config.get("allow_msg_ttl")),
        outstanding_acks_max=options.outstanding_acks_max,
        message_bytes_max=min(payload_bytes_max, message_bytes_max)
        if message_bytes_max > 0
        else payload_bytes_max,
        write_id=uuid.uuid4().hex,
    )


def _checked_subject(subject: str) -> str:
    if subject and not is_valid_literal(subject.encode()):
        raise OptionError("subject", subject, "a subject without wildcards, such as orders.eu")
    return subject


def _stream_of(connection: Connection, subject: str) -> str:
    """The stream that listens to the one subject of all rows."""
    if not subject:
        raise OptionError("stream", None, "the stream to write to, since rows have their subjects")
    found = connection.api("STREAM.NAMES", {"subject": _checked_subject(subject)})
    names: list[str] = found.get("streams") or []
    if len(names) != 1:
        raise OptionError("subject", subject, "a subject of a stream; none listens to this one")
    return names[0]


def _config(connection: Connection, name: str) -> dict[str, Any]:
    try:
        config: dict[str, Any] = connection.api(f"STREAM.INFO.{name}")["config"]
    except StreamNotFoundError:
        raise OptionError("stream", name, f"a stream of {connection.shown}") from None
    return config


def _mode(
    options: SinkOptions, config: dict[str, Any], columns: tuple[str, ...]
) -> tuple[str, str]:
    if options.mode == BATCH_MODE and MSG_ID in columns:
        raise SinkError(
            "column msg_id and sinkMode batch: one duplicate would refuse its whole batch; "
            "drop the column, or use sinkMode msgid"
        )
    if options.mode != "auto":
        return options.mode, "the option sinkMode says so"
    if MSG_ID in columns:
        return MSGID_MODE, "rows have a msg_id"
    if config.get("allow_atomic"):
        return BATCH_MODE, "the stream has allow_atomic"
    return MSGID_MODE, "the stream lacks allow_atomic"


Check = Callable[[dict[str, Any], tuple[str, ...]], str]


def _check(
    name: str, config: dict[str, Any], columns: tuple[str, ...], checks: tuple[Check, ...]
) -> None:
    for check in checks:
        problem = check(config, columns)
        if problem:
            raise SinkError(f"stream {name}: {problem.replace('NAME', name)}")


def _is_mirror(config: dict[str, Any], _: tuple[str, ...]) -> str:
    return "it is a mirror, which takes no messages" if config.get("mirror") else ""


def _is_sealed(config: dict[str, Any], _: tuple[str, ...]) -> str:
    return "it is sealed: nothing can be added" if config.get("sealed") else ""


def _is_silent(config: dict[str, Any], _: tuple[str, ...]) -> str:
    if config.get("no_ack"):
        return "it acknowledges nothing (no_ack), so nobody knows what is stored: nats stream edit \
NAME --ack"
    return ""


def _lacks_increments(config: dict[str, Any], columns: tuple[str, ...]) -> str:
    if config.get("allow_msg_counter") and INCREMENT not in columns:
        return "it is one of counters: every row needs a column incr"
    if INCREMENT in columns and not config.get("allow_msg_counter"):
        return "it is none of counters (allow_msg_counter), and there is a column incr"
    if config.get("allow_msg_counter") and EXPECTED in columns:
        return f"counters take no expectations: drop the column {EXPECTED}"
    return ""


def _lacks_window(config: dict[str, Any], _: tuple[str, ...]) -> str:
    if config.get("duplicate_window"):
        return ""
    return "it has no duplicate_window, which sinkMode msgid needs: nats stream edit NAME \
--dupe-window 2m"


def _lacks_batches(config: dict[str, Any], _: tuple[str, ...]) -> str:
    if config.get("allow_atomic"):
        return ""
    return "it lacks allow_atomic, which sinkMode batch needs: nats stream edit NAME \
--allow-batch; or use sinkMode msgid"


def _drops_ledger(config: dict[str, Any], _: tuple[str, ...]) -> str:
    retention = config.get("retention", "limits")
    if retention != "limits":
        return f"its retention is {retention}, which drops the ledger; use sinkMode msgid"
    if config.get("max_age") and not config.get("allow_msg_ttl"):
        return "its max_age drops the ledger: nats stream edit NAME --allow-msg-ttl lets the \
ledger stay; or use sinkMode msgid"
    if config.get("discard_new_per_subject"):
        return "its discard_new_per_subject refuses the ledger once max_msgs_per_subject is \
reached: nats stream edit NAME --no-discard-per-subject; or use sinkMode msgid"
    return ""


def _renames_ledger(config: dict[str, Any], _: tuple[str, ...]) -> str:
    if config.get("subject_transform"):
        return "its subject_transform may rename the ledger; use sinkMode msgid"
    return ""


_ALWAYS: tuple[Check, ...] = (_is_mirror, _is_sealed, _is_silent, _lacks_increments)
_OF_IDS: tuple[Check, ...] = (_lacks_window,)
_OF_BATCHES: tuple[Check, ...] = (_lacks_batches, _drops_ledger, _renames_ledger)


def _check_ledger(name: str, patterns: tuple[str, ...], ledger: str) -> None:
    """Its subjects are the ledger's, a query's and a partition's."""
    if any(covers(pattern, f"{ledger}.*.*") for pattern in patterns):
        return
    every = ",".join((*patterns, f"{ledger}.>"))
    raise SinkError(
        f"stream {name} does not listen to the ledger of sinkMode batch, {ledger}.>: "
        f"nats stream edit {name} --subjects '{every}'; or name another subject of it with the "
        "option ledgerSubject; or use sinkMode msgid"
    )
