"""The rows of one Arrow batch, as the kernel renders them: columns in, frames out.

No row becomes a Python object. Columns that are texts cross as they are; numbers become texts all
at once. What a row may not be is found before anything of its stretch is sent, and told with its
place.
"""

from collections.abc import Sequence
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from penstock.kernel.publishes import Publishes, PublishSubjects, Reason
from pyspark_jetstream.rows import NEVER
from pyspark_jetstream.sink_digest import Digest
from pyspark_jetstream.sink_errors import SinkError
from pyspark_jetstream.sink_plan import BATCH_MODE, Plan
from pyspark_jetstream.sink_schema import (
    DATA,
    EXPECTED,
    HEADERS,
    INCREMENT,
    MSG_ID,
    SUBJECT,
    TTL,
)
from pyspark_jetstream.sink_task import Task

Column: TypeAlias = tuple[bytes | None, bytes, bytes, int, int]
Lists: TypeAlias = tuple[bytes | None, bytes, int, int, int]
Headers: TypeAlias = tuple[Lists, Column, Lists | None, Column]

# What the server acts on has a column of its own, or belongs to how the sink writes.
_RESERVED = frozenset({"nats-msg-id", "nats-ttl", "nats-incr", "nats-required-api-level"})
_RESERVED_STEMS = ("nats-expected-", "nats-batch-")
_LINES = (
    (TTL, b"Nats-TTL"),
    (INCREMENT, b"Nats-Incr"),
    (EXPECTED, b"Nats-Expected-Last-Subject-Sequence"),
)


def subjects_of(plan: Plan) -> PublishSubjects:
    """The subjects rows may have: those of the stream, but not the ledger's."""
    reserved = [f"{plan.ledger}.>".encode()] if plan.mode == BATCH_MODE else []
    return PublishSubjects([pattern.encode() for pattern in plan.patterns], reserved)


class Rows:
    """One Arrow batch of a task; `first` is the number of its first row in the partition."""

    def __init__(
        self, plan: Plan, task: Task, subjects: PublishSubjects, batch: pa.RecordBatch, first: int
    ) -> None:
        self.count = batch.num_rows
        self.first = first
        self._plan = plan
        self._task = task
        self._subjects = subjects
        self._arrays = {name: batch.column(name) for name in plan.columns}
        self._check_ids()
        self._stored = {name: _as_stored(name, array) for name, array in self._arrays.items()}
        texts = {name: self._texts(name) for name in (SUBJECT, DATA, MSG_ID)}
        self._publishes = Publishes(
            self.count, texts[SUBJECT], texts[DATA], texts[MSG_ID], self._lines(), self._headers()
        )

    def render(
        self,
        first: int,
        rows_max: int,
        bytes_max: int,
        *,
        number: int,
        name: bytes,
        stem: bytes = b"",
        reply: bytes = b"",
        lines: bytes = b"",
    ) -> tuple[bytes, int]:
        """The frames of a stretch, and the row behind it.

        `name` is the header with the row's number, counted from `number` on, behind `stem`.
        """
        frames, following, reason = self._publishes.render(
            self._subjects,
            (first, rows_max, bytes_max),
            self._plan.subject.encode(),
            reply,
            lines,
            name,
            stem,
            number,
            self._plan.message_bytes_max,
        )
        if reason:
            raise SinkError(self._refusal(following, Reason(reason)))
        return frames, following

    def expectation(self, row: int) -> tuple[str, int, str] | None:
        """Of one row: its subject, the sequence it expects there, and its own id if it has one."""
        values = {name: array[row].as_py() for name, array in self._arrays.items()}
        expected = values.get(EXPECTED)
        if expected is None:
            return None
        return values.get(SUBJECT) or self._plan.subject, expected, values.get(MSG_ID) or ""

    def digest(self, before: Digest, first: int, last: int) -> Digest:
        """Carried on over rows `first` to `last`."""
        columns = {name: array[first:last] for name, array in self._stored.items()}
        return before.over(columns, self._plan.subject)

    def _texts(self, name: str) -> Column | None:
        return _column(self._arrays[name]) if name in self._arrays else None

    def _lines(self) -> list[tuple[bytes, Column]]:
        """The columns that are a header each, without those that have no value here."""
        lines = []
        if TTL in self._arrays:
            self._check_ttl()
        for name, header in _LINES:
            if (text := self._stored.get(name)) is not None and text.null_count < self.count:
                lines.append((header, _column(text)))
        if (array := self._arrays.get(INCREMENT)) is not None and array.null_count:
            row = pc.index(pc.is_null(array), True).as_py()
            raise SinkError(f"{self._place(row)}: its incr is null; 0 adds nothing")
        return lines

    def _check_ids(self) -> None:
        """Servers take one without a text for none at all, and would store its row again."""
        if (array := self._arrays.get(MSG_ID)) is None:
            return
        is_empty = pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(array)), 0)
        if (row := pc.index(is_empty, True).as_py()) >= 0:
            raise SinkError(f"{self._place(row)}: its msg_id is empty; null is for the sink's own")

    def _check_ttl(self) -> None:
        array = self._arrays[TTL]
        if self._plan.takes_ttl or array.null_count == self.count:
            return
        row = pc.index(pc.is_valid(array), True).as_py()
        raise SinkError(
            f"{self._place(row)}: it has a ttl, and {self._plan.stream} lacks allow_msg_ttl: "
            f"nats stream edit {self._plan.stream} --allow-msg-ttl; or drop the column ttl"
        )

    def _headers(self) -> Headers | None:
        maps = self._arrays.get(HEADERS)
        if maps is None or maps.null_count == self.count:
            return None
        self._check_names(maps.keys)
        values = maps.items
        lists: Lists | None = None
        if not pa.types.is_string(values.type) and not pa.types.is_large_string(values.type):
            lists = _lists(values, len(values.values))
            values = values.values
        return _lists(maps, len(maps.keys)), _column(maps.keys), lists, _column(values)

    def _check_names(self, names: pa.Array) -> None:
        for name in pc.unique(names).to_pylist():
            low = (name or "").lower()
            if low in _RESERVED or low.startswith(_RESERVED_STEMS):
                raise SinkError(
                    f"the column headers has {name}, which a server acts on: use the columns "
                    f"{MSG_ID}, {TTL}, {INCREMENT}, {EXPECTED}, or leave it out with map_filter"
                )
            if low == "nats-rollup" and self._plan.mode == BATCH_MODE:
                raise SinkError(
                    "the column headers has Nats-Rollup, which could remove the ledger; "
                    "leave it out with map_filter, or use sinkMode msgid"
                )

    def _refusal(self, row: int, reason: Reason) -> str:
        column = self._arrays.get(SUBJECT)
        subject = None if column is None else column[row].as_py()
        subject = self._plan.subject if subject is None else subject
        patterns = ", ".join(self._plan.patterns)
        words = {
            Reason.NO_SUBJECT: "its subject is empty"
            if subject == "" and self._plan.subject
            else "it has no subject, and there is no option subject",
            Reason.BAD_SUBJECT: f"{subject!r} cannot be published to",
            Reason.FOREIGN_SUBJECT: f"{subject!r} is none of {self._plan.stream}'s: {patterns}",
            Reason.RESERVED_SUBJECT: f"{subject!r} is one of the ledger's",
            Reason.BAD_HEADER: "a header has a line break, or a name that cannot be one",
            Reason.TOO_LARGE: f"it has more than {self._plan.message_bytes_max} bytes, which is "
            "what the stream and its server take (max_msg_size, max_payload)",
        }
        return f"{self._place(row)}: {words[reason]}"

    def _place(self, row: int) -> str:
        return f"row {self.first + row} of {self._task}"


def _as_stored(name: str, array: pa.Array) -> pa.Array:
    """A column with the texts that become a part of messages."""
    if name == TTL:
        return _lifetimes(array)
    if name == INCREMENT:
        return _signed(array)
    return pc.cast(array, pa.string()) if name == EXPECTED else array


def _column(array: pa.Array) -> Column:
    """The buffers of a column of texts, with offsets of 32 bits."""
    if not (pa.types.is_binary(array.type) or pa.types.is_string(array.type)):
        array = pc.cast(array, pa.binary())
    validity, offsets, content = array.buffers()
    bits = None if validity is None or array.null_count == 0 else validity.to_pybytes()
    return bits, _bytes(offsets, array), _bytes(content), array.offset, len(array)


def _lists(array: pa.Array, values: int) -> Lists:
    buffers: Sequence[pa.Buffer | None] = array.buffers()
    bits = None if buffers[0] is None or array.null_count == 0 else buffers[0].to_pybytes()
    return bits, _bytes(buffers[1], array), array.offset, len(array), values


def _bytes(buffer: pa.Buffer | None, array: pa.Array | None = None) -> bytes:
    if buffer is not None and buffer.size:
        return bytes(buffer.to_pybytes())
    return b"" if array is None else bytes(4)  # an array of nothing may have no offsets


def _signed(array: pa.Array) -> pa.Array:
    """Increments as counters want them: with a sign."""
    text = array if pa.types.is_string(array.type) else pc.cast(array, pa.string())
    has_sign = pc.or_(pc.starts_with(text, "+"), pc.starts_with(text, "-"))
    return pc.if_else(has_sign, text, pc.binary_join_element_wise("+", text, ""))


def _lifetimes(array: pa.Array) -> pa.Array:
    """Seconds as texts; what a read gives for one that stays is `never`."""
    if pa.types.is_string(array.type):
        return array
    text = pc.cast(array, pa.string())
    return pc.if_else(pc.equal(array, NEVER), "never", text)
