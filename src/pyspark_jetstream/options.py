"""The options of `format("jetstream")`: their names, what they may be, and their defaults.

Spark hands over a dictionary of texts whose keys know no case. It becomes one frozen value for each
part that needs it. An unknown name or a value that cannot be is an `OptionError` that says which
option it is and what is allowed; nothing was asked of a server by then.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from pyspark_jetstream.connection_options import (
    CONNECTION,
    ConnectionOptions,
    connection_options,
)
from pyspark_jetstream.option_values import (
    OptionError,
    Options,
    Place,
    at_least,
    choice,
    duration_ms,
    flag,
    offsets,
    streams,
    subjects,
    time_ns,
)

READ = (
    "stream",
    "subjects",
    "startingOffsets",
    "startingTimestamp",
    "minPartitions",
    "failOnDataLoss",
    "includeHeaders",
    "readConsistency",
    "mode",
    "storeDir",
)
BATCH_READ = ("endingOffsets", "endingTimestamp", "asOfSequence", "asOfTimestamp")
STREAM_READ = (
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "maxBytesPerTrigger",
)
SINK = ("stream", "subject", "sinkMode", "ledgerSubject", "maxOutstandingAcks")
EVERY = (*CONNECTION, *READ, *BATCH_READ, *STREAM_READ, *SINK)
SPARKS_OWN = ("checkpointLocation", "queryName")  # Spark hands its own to every source and sink

OUTSTANDING_ACKS = 4096
MODES = ("auto", "protocol", "blocks")
CONSISTENCIES = ("default", "strong")
SINK_MODES = ("auto", "msgid", "batch")


@dataclass(frozen=True)
class ReadOptions:
    """What is read, and how; for both kinds of reads."""

    connection: ConnectionOptions
    streams: tuple[str, ...]
    subjects: tuple[str, ...]  # none: all of them
    start: Place
    end: Place  # of a batch; exclusive
    as_of: Place | None  # of a batch; the last sequence or moment that counts
    partitions_min: int
    fail_on_data_loss: bool
    with_headers: bool
    is_strong: bool
    mode: str
    store_dir: str
    is_offline: bool  # there are files and no server


@dataclass(frozen=True)
class StreamReadOptions:
    """What a streaming read has besides: how much a micro-batch takes. 0: no bound."""

    read: ReadOptions
    offsets_max: int
    offsets_min: int
    delay_ms_max: int
    bytes_max: int


@dataclass(frozen=True)
class SinkOptions:
    """Where and how rows are written. Empty text is for what nobody has said."""

    connection: ConnectionOptions
    stream: str
    subject: str
    mode: str
    ledger_subject: str
    outstanding_acks_max: int


def check(options: Options) -> None:
    """Everything that can be known before it is known whether this is a read or a write."""
    _check_names(options, EVERY, "an option")
    connection_options(options)
    for _ in _values(options):
        pass
    # Spark does not say here what it will be; options that only one kind has do.
    for names, parsed in _KINDS:
        if any(name in options for name in names):
            parsed(options)


def is_with_headers(options: Options) -> bool:
    return flag(options, "includeHeaders", default=False)


def read_options(options: Options) -> ReadOptions:
    """Of a batch."""
    _check_names(options, (*CONNECTION, *READ, *BATCH_READ), "an option of a batch read")
    _exclude(options, "startingOffsets", "startingTimestamp")
    _exclude(options, *BATCH_READ)
    start = _start(options, "earliest")
    if start.kind == "latest":
        allowed = 'earliest, or JSON such as {"ORDERS": 17}; a batch ends at latest'
        raise OptionError("startingOffsets", "latest", allowed)
    end = offsets(options, "endingOffsets", "latest")
    if end.kind == "earliest":
        allowed = 'latest, or JSON such as {"ORDERS": 17}; a batch begins at earliest'
        raise OptionError("endingOffsets", "earliest", allowed)
    if (moment := time_ns(options, "endingTimestamp")) is not None:
        end = Place("time", time_ns=moment)
    return _read(options, start, end, _as_of(options))


def stream_read_options(options: Options) -> StreamReadOptions:
    names = (*CONNECTION, *READ, *STREAM_READ)
    _check_names(options, names, "an option of a streaming read")
    _exclude(options, "startingOffsets", "startingTimestamp")
    start = _start(options, "latest")
    if _is_offline(options):
        raise OptionError("servers", None, "an address: a streaming read needs a server")
    offsets_max = at_least(options, "maxOffsetsPerTrigger", 1, default=0)
    offsets_min = at_least(options, "minOffsetsPerTrigger", 1, default=0)
    if offsets_max and offsets_min > offsets_max:
        allowed = f"up to {offsets_max}, which is maxOffsetsPerTrigger"
        raise OptionError("minOffsetsPerTrigger", str(offsets_min), allowed)
    return StreamReadOptions(
        read=_read(options, start, Place("latest"), None),
        offsets_max=offsets_max,
        offsets_min=offsets_min,
        delay_ms_max=duration_ms(options, "maxTriggerDelay", default="15m"),
        bytes_max=at_least(options, "maxBytesPerTrigger", 1, default=0),
    )


def sink_options(options: Options) -> SinkOptions:
    _check_names(options, (*CONNECTION, *SINK), "an option of a write")
    names = streams(options, "stream") if "stream" in options else ("",)
    if len(names) > 1:
        raise OptionError("stream", options["stream"], "one stream to write to")
    return SinkOptions(
        connection=connection_options(options),
        stream=names[0],
        subject=options.get("subject", ""),
        mode=choice(options, "sinkMode", SINK_MODES),
        ledger_subject=options.get("ledgerSubject", ""),
        outstanding_acks_max=at_least(options, "maxOutstandingAcks", 1, default=OUTSTANDING_ACKS),
    )


_KINDS: tuple[tuple[tuple[str, ...], Callable[[Options], object]], ...] = (
    (BATCH_READ, read_options),
    (STREAM_READ, stream_read_options),
    (tuple(name for name in SINK if name not in READ), sink_options),
)


def _read(options: Options, start: Place, end: Place, as_of: Place | None) -> ReadOptions:
    if "stream" not in options:
        raise OptionError("stream", None, "the name of a stream, or several with commas between")
    names = streams(options, "stream")
    for option, place in (("startingOffsets", start), ("endingOffsets", end)):
        strangers = [name for name in place.names if name not in names]
        if strangers:
            raise OptionError(option, ", ".join(strangers), f"the streams read: {', '.join(names)}")
        if place.kind == "sequences" and set(place.names) != set(names):
            raise OptionError(option, options[option], f"all streams read: {', '.join(names)}")
    mode = choice(options, "mode", MODES)
    if mode == "blocks" and not options.get("storeDir"):
        raise OptionError("storeDir", None, "the store_dir of the server, for mode blocks")
    return ReadOptions(
        connection=connection_options(options),
        streams=names,
        subjects=subjects(options, "subjects"),
        start=start,
        end=end,
        as_of=as_of,
        partitions_min=at_least(options, "minPartitions", 1, default=0),
        fail_on_data_loss=flag(options, "failOnDataLoss", default=True),
        with_headers=is_with_headers(options),
        is_strong=choice(options, "readConsistency", CONSISTENCIES) == "strong",
        mode=mode,
        store_dir=options.get("storeDir", ""),
        is_offline=_is_offline(options),
    )


def _is_offline(options: Options) -> bool:
    """Whether files are all there is: nobody has said where a server is."""
    is_from_files = choice(options, "mode", MODES) == "blocks"
    return is_from_files and not (options.get("servers") or options.get("context"))


def _start(options: Options, default: str) -> Place:
    if (moment := time_ns(options, "startingTimestamp")) is not None:
        return Place("time", time_ns=moment)
    return offsets(options, "startingOffsets", default)


def _as_of(options: Options) -> Place | None:
    if "asOfSequence" in options:
        return Place("sequence", sequence=at_least(options, "asOfSequence", 1, default=0))
    moment = time_ns(options, "asOfTimestamp")
    return None if moment is None else Place("time", time_ns=moment)


def _values(options: Options) -> Iterator[object]:
    """Each value once, for its faults alone."""
    for name in ("includeHeaders", "failOnDataLoss"):
        yield flag(options, name, default=False)
    for name in ("startingOffsets", "endingOffsets"):
        yield offsets(options, name, "latest")
    for name in ("startingTimestamp", "endingTimestamp", "asOfTimestamp"):
        yield time_ns(options, name)
    numbers = ("minPartitions", "asOfSequence", "maxOutstandingAcks", *STREAM_READ)
    for name in numbers:
        if name != "maxTriggerDelay":
            yield at_least(options, name, 1, default=0)
    yield duration_ms(options, "maxTriggerDelay", default="15m")
    choices = {"mode": MODES, "readConsistency": CONSISTENCIES, "sinkMode": SINK_MODES}
    for name, allowed in choices.items():
        yield choice(options, name, allowed)
    yield subjects(options, "subjects")


def _check_names(options: Options, allowed: tuple[str, ...], what: str) -> None:
    known = {name.lower() for name in (*allowed, *SPARKS_OWN)}
    for name in options:
        if name.lower() in known:
            continue
        elsewhere = {one.lower(): one for one in EVERY}.get(name.lower())
        near = [] if elsewhere else get_close_matches(name.lower(), known, n=1)
        meant = [one for one in allowed if near and one.lower() == near[0]]
        hint = f"did you mean {meant[0]}? " if meant else ""
        told = f"{hint}it is not {what}; there are {', '.join(allowed)}"
        raise OptionError(elsewhere or name, None, told)


def _exclude(options: Options, *names: str) -> None:
    given = [name for name in names if name in options]
    if len(given) > 1:
        raise OptionError(given[1], options[given[1]], f"one of {', '.join(names)}")
