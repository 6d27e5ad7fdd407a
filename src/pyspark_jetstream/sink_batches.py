"""sinkMode batch: rows in atomic batches, each with the ledger's next message as its last.

A group is at most 999 rows, so that with the ledger it is the largest batch that servers take. Its
rows travel while the group before it is being committed; its commit, which needs the sequence of
the ledger before it, leaves when that is known. A group is sent when it is complete: a server gives
up a batch that pauses. The last group of a partition is held until it is known to be the last.

A retry reads the ledger, passes over the rows that are stored, and goes on behind them. Their
checksum must be the ledger's: if the rows of a retry are others, or come in another order, writing
on would lose some and store others twice, so it is an error instead.

After a broken link or a refusal that passes, the ledger is read again: it says which of the groups
on their way were stored, and the others are sent once more.
"""

import uuid
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from pyspark_jetstream.sink_answers import (
    DUPLICATE_IN_BATCH,
    STORED,
    WRONG_LAST_SEQUENCE,
    Answer,
    read_answer,
)
from pyspark_jetstream.sink_digest import Digest
from pyspark_jetstream.sink_errors import LostLinkError, SinkError
from pyspark_jetstream.sink_ledger import Ledger, Position
from pyspark_jetstream.sink_link import Link
from pyspark_jetstream.sink_plan import Plan
from pyspark_jetstream.sink_rows import Rows, subjects_of
from pyspark_jetstream.sink_task import Task

GROUP_ROWS_MAX = 999  # and the ledger: a server takes 1,000 messages in a batch
GROUP_BYTES_MAX = 8 << 20  # a server holds a batch in memory until it is committed
_NAME = b"Nats-Batch-Sequence"


def _new_id() -> str:
    return uuid.uuid4().hex


@dataclass
class Group:
    """Rows of the partition that are stored together."""

    first: int
    rows: int = 0
    size: int = 0
    id: str = field(default_factory=_new_id)
    frames: list[bytes] = field(default_factory=list)
    pieces: list[tuple[Rows, int, int]] = field(default_factory=list)
    digest: Digest = field(default_factory=Digest)  # of all rows of the partition up to its last
    is_last: bool = False

    @property
    def last(self) -> int:
        return self.first + self.rows

    def add(self, rows: Rows, place: int, rows_max: int) -> int:
        """Takes as many rows as fit, and returns the one behind them."""
        frames, following = rows.render(
            place,
            rows_max - self.rows,
            GROUP_BYTES_MAX - self.size,
            number=self.rows + 1,
            name=_NAME,
            lines=f"Nats-Batch-Id: {self.id}\r\n".encode(),
        )
        self.pieces.append((rows, place, following))
        self.frames.append(frames)
        self.digest = rows.digest(self.digest, place, following)
        self.rows += following - place
        self.size += len(frames)
        return following

    def again(self) -> "Group":
        """The same rows as another batch: the server may still hold what it has of this one."""
        group = Group(self.first, digest=self.digest, is_last=self.is_last)
        for rows, first, last in self.pieces:
            digest = group.digest
            group.add(rows, first, group.rows + last - first)
            group.digest = digest
        return group


class BatchWriter:
    """Writes one partition."""

    def __init__(self, plan: Plan, task: Task, link: Link) -> None:
        self._plan = plan
        self._task = task
        self._link = link
        self._subjects = subjects_of(plan)
        self._ledger = Ledger(plan, task)
        self._stored = Position()
        # Not known to be stored, at most two; the first begins where what is stored ends.
        self._sent: deque[Group] = deque()
        self._commits = 0
        # two groups are on their way at a time
        self._group_rows_max = max(1, min(GROUP_ROWS_MAX, plan.outstanding_acks_max // 2))

    def write(self, batches: Iterator[pa.RecordBatch]) -> tuple[int, int]:
        """Returns how many rows there were, and how many of them were stored already."""
        self._stored = found = self._ledger.read()
        group = Group(0)
        for batch in batches:
            rows = Rows(self._plan, self._task, self._subjects, batch, group.last)
            place = self._pass_over(rows, group, found)
            while place < rows.count:
                if group.rows == self._group_rows_max or group.size >= GROUP_BYTES_MAX:
                    self._send(group)
                    group = Group(group.last, digest=group.digest)
                place = group.add(rows, place, self._group_rows_max)
        is_short = group.last == found.rows > 0 and not found.is_last
        if group.last < found.rows or is_short:
            raise SinkError(self._difference(f"there are {group.last} rows now"))
        if group.rows:
            group.is_last = True
            self._send(group)
        while self._sent:
            self._settle()
        return group.last, found.rows

    def _pass_over(self, rows: Rows, group: Group, found: Position) -> int:
        """Rows that an earlier attempt has stored are compared, not sent."""
        place = min(max(0, found.rows - group.first), rows.count) if not group.rows else 0
        if place:
            group.digest = rows.digest(group.digest, 0, place)
            group.first += place
            if group.first == found.rows and not group.digest.is_told(found.digest):
                raise SinkError(self._difference("their content or order is different"))
        if place < rows.count and found.is_last:
            raise SinkError(self._difference("there are more rows now"))
        return place

    def _difference(self, what: str) -> str:
        return (
            f"{self._task}: an earlier attempt has stored {self._stored.rows} rows, and "
            f"this one has others: {what}. Exactly once needs a query that gives the same rows in "
            "the same order when it is run again, in as many partitions; a shuffle, a limit or a "
            "random value before the sink does not"
        )

    def _send(self, group: Group) -> None:
        """Its rows at once, its commit when the group before it is stored."""
        self._sent.append(group)
        self._forget_stored()
        if not self._sent:
            return  # another attempt was here meanwhile
        try:
            self._link.send(b"".join(group.frames), 0)
            while len(self._sent) > 1:
                self._settle()
            if self._sent:
                self._commit(group)
        except LostLinkError as error:
            self._send_again(str(error))

    def _commit(self, group: Group) -> None:
        lines = f"Nats-Batch-Id: {group.id}\r\n{_NAME.decode()}: {group.rows + 1}\r\n"
        subject, headers = self._ledger.frame(
            group.last,
            group.digest.told(),
            group.is_last,
            self._stored,
            f"{lines}Nats-Batch-Commit: 1\r\n",
        )
        reply = self._link.reply + str(self._commits).encode()
        head = b"HPUB %s %s %d %d\r\n" % (subject, reply, len(headers), len(headers))
        self._commits += 1
        self._link.send(b"%s%s\r\n" % (head, headers), 1)

    def _settle(self) -> None:
        """Waits for the answer to the first group on its way."""
        try:
            answer = self._answer()
        except LostLinkError as error:
            self._send_again(str(error))
            return
        if answer.status == 0:
            self._is_stored(answer.sequence)
        elif answer.is_passing or answer.code in (*WRONG_LAST_SEQUENCE, DUPLICATE_IN_BATCH):
            self._send_again(answer.text, answer)
        else:
            self._refuse(answer)

    def _answer(self) -> Answer:
        self._link.wait(self._commits)  # none of them is a plain acknowledgement
        others = self._link.take_others()
        return read_answer(others[0][1])

    def _is_stored(self, sequence: int) -> None:
        group = self._sent.popleft()
        told = group.digest.told()
        self._stored = Position(self._task.batch, group.last, told, group.is_last, sequence)
        self._link.progressed()

    def _send_again(self, why: str, refused: Answer | None = None) -> None:
        """Looks at the ledger for what is stored, and sends the rest, one group at a time."""
        while self._sent:
            try:
                self._link.reopen(self._commits, why)
                before, self._stored = self._stored, self._ledger.read()
                self._forget_stored()
                is_ours = before.sequence == self._stored.sequence
                if self._sent and refused and not refused.is_passing and is_ours:
                    self._refuse(refused)  # nobody else was there: it is about a row
                answer = self._send_alone() if self._sent else STORED
            except LostLinkError as error:
                why, refused = str(error), None
                continue
            why, refused = answer.text, answer if answer.status else None

    def _send_alone(self) -> Answer:
        """The first group on its way, once more, to its answer."""
        self._sent[0] = group = self._sent[0].again()
        self._link.send(b"".join(group.frames), 0)
        self._commit(group)
        answer = self._answer()
        if answer.status == 0:
            self._is_stored(answer.sequence)
        return answer

    def _forget_stored(self) -> None:
        while self._sent and self._sent[0].last <= self._stored.rows:
            group = self._sent.popleft()
            is_same = group.digest.is_told(self._stored.digest)
            if group.last == self._stored.rows and not is_same:
                raise SinkError(self._difference("their content or order is different"))
        if self._sent and self._sent[0].first != self._stored.rows:
            raise SinkError(
                f"{self._task}: another attempt has stored {self._stored.rows} rows meanwhile; "
                "this one ends, the next goes on behind them"
            )

    def _refuse(self, answer: Answer) -> None:
        group = self._sent[0]
        raise SinkError(
            f"rows {group.first} to {group.last - 1} of {self._task} were refused by stream "
            f"{self._plan.stream}, all of them: {answer.text}"
        )
