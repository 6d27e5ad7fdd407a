"""Atomic batches, slow and obvious: lists and dictionaries, copied before anything is tried."""

import copy
from dataclasses import dataclass, field

ID, EXPECTED = "Nats-Msg-Id", "Nats-Expected-Last-Sequence"
EXPECTED_OF_SUBJECT = "Nats-Expected-Last-Subject-Sequence"
ROLLUP = "Nats-Rollup"
BATCH, PLACE, COMMIT = "Nats-Batch-Id", "Nats-Batch-Sequence", "Nats-Batch-Commit"

Refused = int  # an error code
Stored = tuple[int, int]  # the last sequence, and how many there are


@dataclass(frozen=True)
class Sent:
    """A publish."""

    subject: str
    payload: bytes
    headers: tuple[tuple[str, str], ...] = ()

    def get(self, name: str) -> str:
        return dict(self.headers).get(name, "")


@dataclass
class Limits:
    messages: int = 0
    of_subject: int = 0
    discards_new: bool = False


@dataclass
class Contents:
    """What a stream holds."""

    limits: Limits
    rows: list[tuple[int, str, bytes]] = field(default_factory=list)
    last: int = 0
    ids: set[str] = field(default_factory=set)

    def of(self, subject: str) -> list[int]:
        return [sequence for sequence, found, _ in self.rows if found == subject]

    def store(self, sent: Sent) -> None:
        """Without any check."""
        self.last += 1
        self.rows.append((self.last, sent.subject, sent.payload))
        self.ids |= {sent.get(ID)} - {""}
        limits = self.limits
        if limits.of_subject:
            gone = self.of(sent.subject)[: -limits.of_subject]
            self.rows = [row for row in self.rows if row[0] not in gone]
        if limits.messages:
            self.rows = self.rows[-limits.messages :]
        scope = sent.get(ROLLUP)
        self.rows = [
            row
            for row in self.rows
            if row[0] == self.last or not (scope == "all" or (scope and row[1] == sent.subject))
        ]


class Model:
    """One stream and its open batches."""

    def __init__(self, limits: Limits, messages_max: int, open_max: int) -> None:
        self.contents = Contents(limits)
        self.open: dict[str, list[Sent]] = {}
        self.messages_max = messages_max
        self.open_max = open_max
        self.abandoned: list[str] = []

    def take(self, sent: Sent) -> Refused | Stored | None:
        """None if it waits with its batch."""
        batch, place, commit = sent.get(BATCH), int(sent.get(PLACE)), sent.get(COMMIT)
        waiting = self.open.pop(batch, None)
        count = place - 1 if commit == "eob" else place
        if waiting is None:
            if (code := self.unknown(place, count)) is not None:
                return code
            waiting = []
        if commit not in ("", "1", "eob"):
            return 10200
        if place != len(waiting) + 1 or count == 0 or count > self.messages_max:
            self.abandoned.append(batch)
            return 10176 if place != len(waiting) + 1 or count == 0 else 10199
        if commit != "eob":
            waiting = [*waiting, sent]
        if commit:
            return self.commit(waiting)
        self.open[batch] = waiting
        return None

    def unknown(self, place: int, count: int) -> int | None:
        if place != 1:
            return 10199 if count > self.messages_max else 10176
        return 10210 if len(self.open) >= self.open_max else None

    def commit(self, batch: list[Sent]) -> Refused | Stored:
        before = copy.deepcopy(self.contents)
        written: list[str] = []
        ids = set(before.ids)
        for number, sent in enumerate(batch):
            if (code := self.refused(before, sent, number, written, ids)) is not None:
                return code
            written.append(sent.subject)
            ids |= {sent.get(ID)} - {""}
        for sent in batch:
            self.contents.store(sent)
        return self.contents.last, len(batch)

    def refused(
        self, before: Contents, sent: Sent, number: int, written: list[str], ids: set[str]
    ) -> int | None:
        """The code of the first rule that is broken."""
        expected, of_subject = sent.get(EXPECTED), sent.get(EXPECTED_OF_SUBJECT)
        last_of_subject = max(before.of(sent.subject), default=0)
        is_written, scope, limits = sent.subject in written, sent.get(ROLLUP), before.limits
        size = len(before.rows) + number + 1
        broken = {
            10201: sent.get(ID) and sent.get(ID) in ids,
            10071: expected and int(expected) != before.last + number,
            10164: (expected and number) or (of_subject and is_written),
            -10071: of_subject and int(of_subject) != last_of_subject,
            10111: (scope == "sub" and is_written) or (scope == "all" and number),
            10077: limits.discards_new and 0 < limits.messages < size,
        }
        return next((abs(code) for code, is_broken in broken.items() if is_broken), None)
