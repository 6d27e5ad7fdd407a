"""sinkMode msgid: every row is a message with an id, and the stream knows ids for a while.

The id is made of query, batch, partition and row, so whatever is sent again (by a retried task, a
restarted query, a link that broke) is taken once, as long as that is inside of the stream's
duplicate window. Rows go out in stretches; at most `maxOutstandingAcks` have no answer yet, which
is the back-pressure. A stretch is kept until all of it is answered.

A row with an expectation is refused when it comes again, since servers look at expectations before
ids. It is stored nevertheless if the first message of its subject behind the expected one has its
id: that is the only place where it can be.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from pyspark_jetstream.connection import Connection
from pyspark_jetstream.sink_answers import WRONG_LAST_SEQUENCE, read_answer
from pyspark_jetstream.sink_errors import LostLinkError, SinkError
from pyspark_jetstream.sink_link import Link
from pyspark_jetstream.sink_messages import stored_message
from pyspark_jetstream.sink_plan import Plan
from pyspark_jetstream.sink_rows import Rows, subjects_of
from pyspark_jetstream.sink_task import Task

STRETCH_ROWS_MAX = 1024
STRETCH_BYTES_MAX = 1 << 20
OUTSTANDING_BYTES_MAX = 64 << 20  # a task keeps what has no answer
_NAME = b"Nats-Msg-Id"


@dataclass(frozen=True)
class Stretch:
    """Rows `first` to `last` of the partition, rendered."""

    first: int
    last: int
    frames: bytes
    rows: Rows
    place: int  # of its first row in there


class IdWriter:
    """Writes one partition."""

    def __init__(self, plan: Plan, task: Task, link: Link) -> None:
        self._plan = plan
        self._task = task
        self._link = link
        self._subjects = subjects_of(plan)
        self._stem = f"{task.query}/{task.batch}/{task.partition}/".encode()
        self._unanswered: deque[Stretch] = deque()
        self._next = 0

    def write(self, batches: Iterator[pa.RecordBatch]) -> tuple[int, int]:
        """Returns how many rows there were, and how many of them the stream had already."""
        for batch in batches:
            rows = Rows(self._plan, self._task, self._subjects, batch, self._next)
            place = 0
            while place < rows.count:
                place = self._send(rows, place)
        while self._unanswered:
            self._wait(self._next)
        return self._next, self._link.found

    def _send(self, rows: Rows, place: int) -> int:
        room = self._room()
        frames, following = rows.render(
            place,
            min(room, STRETCH_ROWS_MAX),
            STRETCH_BYTES_MAX,
            number=self._next,
            name=_NAME,
            stem=self._stem,
            reply=self._link.reply,
        )
        last = self._next + following - place
        stretch = Stretch(self._next, last, frames, rows, place)
        self._next = stretch.last
        self._unanswered.append(stretch)
        try:
            self._link.send(frames, stretch.last - stretch.first)
        except LostLinkError as error:
            self._send_again(str(error))
        return following

    def _room(self) -> int:
        """How many rows may go out now; waits until a whole stretch may, since a small one costs
        as much as a large one."""
        rows_max = self._plan.outstanding_acks_max
        wanted = min(rows_max, STRETCH_ROWS_MAX)
        while self._next - self._link.answered + wanted > rows_max:
            self._wait(self._next - rows_max + wanted)
        while sum(len(stretch.frames) for stretch in self._unanswered) > OUTSTANDING_BYTES_MAX:
            self._wait(self._unanswered[0].last)
        return rows_max - (self._next - self._link.answered)

    def _wait(self, until: int) -> None:
        try:
            self._link.wait(until)
        except LostLinkError as error:
            self._send_again(str(error))
            return
        self._forget_answered()
        for number, content in self._link.take_others():
            answer = read_answer(content)
            if answer.code in WRONG_LAST_SEQUENCE and self._is_stored(number):
                self._link.settle(number)
                continue
            if not answer.is_passing:
                raise SinkError(
                    f"row {number} of {self._task} was refused by stream {self._plan.stream}: "
                    f"{answer.text or 'it went to another stream'}"
                )
            self._send_again(answer.text)
            return
        self._forget_answered()

    def _is_stored(self, number: int) -> bool:
        stretch = next(one for one in self._unanswered if one.first <= number < one.last)
        asked = stretch.rows.expectation(stretch.place + number - stretch.first)
        if asked is None:
            return False
        subject, expected, own_id = asked
        wanted = own_id or f"{self._stem.decode()}{number}"
        with Connection(self._plan.connection, patience=True) as connection:
            found = stored_message(
                connection, self._plan.stream, {"seq": expected + 1, "next_by_subj": subject}
            )
        return found is not None and found.header(_NAME.decode()) == wanted

    def _forget_answered(self) -> None:
        while self._unanswered and self._unanswered[0].last <= self._link.answered:
            self._unanswered.popleft()

    def _send_again(self, why: str) -> None:
        """Everything without an answer, on another connection: the ids see to the rest."""
        self._forget_answered()
        while self._unanswered:
            try:
                self._link.reopen(self._unanswered[0].first, why)
                for stretch in self._unanswered:
                    self._link.send(stretch.frames, stretch.last - stretch.first)
                return
            except LostLinkError as error:
                why = str(error)
