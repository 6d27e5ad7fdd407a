"""What a server says about a stream: its bounds, its age, and which reads it allows.

The end that a read goes up to is `last`, or what the leader answers a linearizable read with, if
that was asked for (ADR-56: DIRECT_LEADER.GET).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeoutError

from pyspark_jetstream.connection import (
    NO_MESSAGE,
    ApiError,
    Connection,
    StreamNotFoundError,
)

LEADER_SECONDS = 5.0  # the reference does not answer at all
_NOT_FOUND = "404"
_NEAR_MAX = 10
_TIME_MAX_NS = (1 << 63) - 1

Ranges = tuple[tuple[int, int], ...]


class NotReadableError(Exception):
    """A stream cannot be read the way it was asked for, and what to change."""


@dataclass(frozen=True)
class StreamFacts:
    """A stream at one moment. Sequences from `first` on, up to `last`, may have messages."""

    name: str
    created: str
    first: int
    last: int
    messages: int
    bytes: int
    is_direct: bool
    is_counter: bool
    is_file: bool
    removed_count: int

    @property
    def end(self) -> int:
        """The sequence of the next message."""
        return self.last + 1

    @property
    def message_bytes(self) -> float:
        """Of one message, on average."""
        return self.bytes / self.messages if self.messages else 0.0


def look(connection: Connection, name: str) -> StreamFacts:
    """Raises `NotReadableError` if there is no such stream."""
    try:
        return _facts(connection.api(f"STREAM.INFO.{name}"))
    except StreamNotFoundError:
        known = sorted(connection.api("STREAM.NAMES").get("streams") or [])
        there = f"there are {', '.join(known[:_NEAR_MAX])}" if known else "there is none at all"
        raise NotReadableError(f"option stream: no stream {name!r}; {there}") from None


def removed_sequences(connection: Connection, facts: StreamFacts) -> Ranges | None:
    """The removed ones between the first and the last message; None if not all are told."""
    if not facts.removed_count:
        return ()
    told = connection.api(f"STREAM.INFO.{facts.name}", {"deleted_details": True})["state"]
    removed = told.get("deleted") or []
    if len(removed) < told.get("num_deleted", 0) or told["last_seq"] < facts.last:
        return None
    return ranges_of(removed)


def ranges_of(sequences: Sequence[int]) -> Ranges:
    """Ascending numbers as first and last of each run."""
    runs: list[list[int]] = []
    for sequence in sequences:
        if runs and runs[-1][1] + 1 == sequence:
            runs[-1][1] = sequence
        else:
            runs.append([sequence, sequence])
    return tuple((first, last) for first, last in runs)


def leader_last(connection: Connection, name: str) -> int:
    """The last message, read linearizably; 0 if there is none, or it was removed."""
    subject = f"{connection.options.api}.DIRECT_LEADER.GET.{name}"
    asked = connection.client.request(subject, b'{"last_by_subj": ">"}', LEADER_SECONDS)
    try:
        headers = connection.run(asked).headers or {}
    except (NoRespondersError, NatsTimeoutError):
        raise _not_linearizable(name, "not answered") from None
    if "Nats-Sequence" in headers:
        return int(headers["Nats-Sequence"])
    status = headers.get("Status", "")
    if status == _NOT_FOUND:
        return 0
    answer = f"answered {status} {headers.get('Description', '')}".strip()
    raise _not_linearizable(name, answer)


def _not_linearizable(name: str, answer: str) -> NotReadableError:
    return NotReadableError(
        f"option readConsistency: strong: stream {name} does not allow linearizable reads "
        f"(DIRECT_LEADER.GET was {answer}): set its read_consistency to weak or strong, "
        "which servers without ADR-56 do not have"
    )


def sequence_at(connection: Connection, facts: StreamFacts, time_ns: int) -> int:
    """The first message of a time or later; one behind the last if there is none.

    The leader is asked, since a copy that is behind might not have it yet. Times that no message
    can have, which stand for the beginning or the end of all, need no server: it counts in
    nanoseconds of 64 bits.
    """
    if time_ns <= 0:
        return facts.first
    if time_ns > _TIME_MAX_NS:
        return facts.end
    try:
        request = {"start_time": _rfc3339(time_ns)}
        message = connection.api(f"STREAM.MSG.GET.{facts.name}", request)["message"]
    except ApiError as error:
        if error.code != NO_MESSAGE:
            raise
        return facts.end
    # The reference answers with its first message where there is none of that time or later.
    is_found = nanoseconds(message["time"]) >= time_ns
    return min(int(message["seq"]), facts.end) if is_found else facts.end


def check_direct(facts: StreamFacts) -> None:
    """Reads are direct gets; there is no other way that would not cost a request a message."""
    if not facts.is_direct:
        raise NotReadableError(
            f"stream {facts.name} has no allow_direct, and is read by direct gets, in mode blocks "
            f"for what its files lack: nats stream edit {facts.name} --allow-direct"
        )


def _facts(told: dict[str, Any]) -> StreamFacts:
    config, state = told["config"], told["state"]
    is_consistent = config.get("read_consistency", "default") != "default"
    last = int(state["last_seq"])
    return StreamFacts(
        name=config["name"],
        created=told["created"],
        first=max(int(state["first_seq"]), 1) if state["messages"] else last + 1,
        last=last,
        messages=int(state["messages"]),
        bytes=int(state["bytes"]),
        is_direct=bool(config.get("allow_direct")) or is_consistent,
        is_counter=bool(config.get("allow_msg_counter")),
        is_file=config.get("storage") == "file",
        removed_count=int(state.get("num_deleted", 0)),
    )


def nanoseconds(moment: str) -> int:
    """Of a time as servers write it."""
    whole, _, fraction = moment.removesuffix("Z").partition(".")
    seconds = int(datetime.fromisoformat(f"{whole}+00:00").timestamp())
    return seconds * 1_000_000_000 + int(fraction.ljust(9, "0")[:9] or 0)


def _rfc3339(time_ns: int) -> str:
    seconds, fraction = divmod(time_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:09d}Z"
