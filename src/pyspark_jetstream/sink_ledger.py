"""The ledger of sinkMode batch: one subject for each query and partition, in the same stream.

Its last message says how many rows of which batch are stored, with a checksum of them. Each atomic
batch of rows ends with the next such message, so rows and ledger are stored together or not at all;
and that message is guarded by the sequence of the one before it, so of two attempts only one gets
through. Nothing here depends on time: a retry after a year finds its place.

A stream of counters takes no expectations. There the message is an increment by the number of rows
and is guarded by an id, which two attempts at the same place share: of two that run at once one
gets through, inside of the stream's duplicate window; attempts one after the other are safe after
any delay.
"""

import json
from dataclasses import dataclass

from pyspark_jetstream.connection import Connection
from pyspark_jetstream.sink_digest import VERSION, Told
from pyspark_jetstream.sink_errors import SinkError
from pyspark_jetstream.sink_messages import StoredMessage, stored_message
from pyspark_jetstream.sink_plan import Plan
from pyspark_jetstream.sink_task import Task

HEADER = "Spark-Ledger"


@dataclass(frozen=True)
class Position:
    """How far a partition of a batch is stored."""

    batch: int = -1
    rows: int = 0
    digest: Told = ""
    is_last: bool = False  # there were no more rows
    sequence: int = 0  # of the message that says so


class Ledger:
    """The ledger of one task's query and partition."""

    def __init__(self, plan: Plan, task: Task) -> None:
        self._plan = plan
        self._task = task
        self.subject = f"{plan.ledger}.{task.query}.{task.partition}"

    def read(self) -> Position:
        """Where to go on; asked from whoever leads the stream, since a copy may be behind."""
        with Connection(self._plan.connection, patience=True) as connection:
            found = stored_message(connection, self._plan.stream, {"last_by_subj": self.subject})
        if found is None:
            return Position()
        position = self._position(found)
        if position.batch > self._task.batch:
            raise SinkError(
                f"{self._task} is old: the ledger {self.subject} is at batch {position.batch} "
                "already; is the query running twice with the same checkpoint?"
            )
        if position.batch < self._task.batch:
            return Position(batch=self._task.batch, sequence=position.sequence)
        return position

    def frame(
        self, rows: int, digest: str, is_last: bool, before: Position, lines: str
    ) -> tuple[bytes, bytes]:
        """Headers and nothing else: the message that says that so many rows are stored."""
        told = {
            "batch": self._task.batch,
            "rows": rows,
            "digest": digest,
            "last": is_last,
        }
        text = f"NATS/1.0\r\n{lines}{HEADER}: {json.dumps(told)}\r\n"
        if self._plan.is_counter:
            place = f"{self._task.query}/{self._task.batch}/{self._task.partition}"
            text += f"Nats-Incr: +{rows - before.rows}\r\n"
            text += f"Nats-Msg-Id: {place}/{before.rows}\r\n"
        else:
            text += f"Nats-Expected-Last-Subject-Sequence: {before.sequence}\r\n"
        if self._plan.is_ledger_undying:
            text += "Nats-TTL: never\r\n"
        return self.subject.encode(), f"{text}\r\n".encode()

    def _position(self, message: StoredMessage) -> Position:
        told = message.header(HEADER)
        if told is None:
            raise SinkError(
                f"message {message.sequence} of stream {self._plan.stream} is on the ledger's "
                f"subject {self.subject} and is none of its messages: who publishes there?"
            )
        said = json.loads(told)
        digest = said["digest"]
        if isinstance(digest, str) and not digest.startswith(VERSION):
            raise SinkError(
                f"message {message.sequence} of stream {self._plan.stream}, in the ledger "
                f"{self.subject}, was written by a later version of this sink, which knows other "
                "checksums: write on with that version"
            )
        rows_told = digest if isinstance(digest, str) else tuple(digest)
        return Position(said["batch"], said["rows"], rows_told, said["last"], message.sequence)
