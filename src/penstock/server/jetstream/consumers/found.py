"""Consumers that were found on disk and are not running yet: what a state said, and what was
written after it, done again in the same order."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from penstock.kernel.consumers import Figures, Ledger
from penstock.model.api_errors import ApiError
from penstock.server.jetstream.consumers.change_file import SavedChange
from penstock.server.jetstream.consumers.lifecycle import Lifecycle
from penstock.server.jetstream.consumers.live_consumer import LiveConsumer
from penstock.server.jetstream.consumers.record import ConsumerRecord
from penstock.server.jetstream.consumers.state_file import SavedConsumer, SavedConsumers
from penstock.storage.journal import Kind

_NUMBER_BYTES = 8  # in front of a ledger's changes


class Found(NamedTuple):
    """One of them."""

    record: ConsumerRecord
    ledger: Ledger
    changes: int = 0


class FoundConsumers:
    """Those of one stream."""

    def __init__(self, lifecycle: Lifecycle, report: Callable[[str], None]) -> None:
        self._lifecycle = lifecycle
        self._report = report
        self._found: dict[int, Found] = {}
        self.numbers_used = 0
        self.is_complete = True  # false if something could not be read

    def restore(self, saved: SavedConsumer) -> None:
        """One that a state has."""
        name = self._lifecycle.stream.config.name
        try:
            record = ConsumerRecord.decode(saved.record)
            ledger = self._lifecycle.ledger_for(record)
            ledger.restore(saved.ledger)
        except (ValueError, ApiError) as error:
            self.is_complete = False
            self._report(f"Stream {name}: a consumer cannot be restored: {error}")
            return
        self._found[record.number] = Found(record, ledger, saved.changes)

    def adopt(self, saved: SavedConsumers) -> None:
        """All of a backup. Raises ValueError."""
        self.numbers_used = saved.numbers_used
        for consumer in saved.consumers:
            self.restore(consumer)
        if not self.is_complete:
            raise ValueError("a consumer cannot be restored")

    def make_again(self, change: SavedChange) -> None:
        """Does what a file of changes says, unless the state has it."""
        if change.number:
            found = self._found.get(change.consumer)
            if found is not None and change.number == found.changes + 1:
                self._found[change.consumer] = found._replace(changes=change.number)
                self._apply(change.consumer, found, change.changes)
        elif not change.record:
            self._found.pop(change.consumer, None)
        elif change.consumer > self.numbers_used:
            self.numbers_used = change.consumer
            self.restore(SavedConsumer(change.record, change.changes))

    def replay(self, kind: Kind, payload: bytes) -> None:
        """Does what an entry of the log says."""
        match kind:
            case Kind.CONSUMER:
                self._describe(ConsumerRecord.decode(payload))
            case Kind.CONSUMER_DELETED:
                self._found.pop(msgspec.json.decode(payload, type=int), None)
            case Kind.CONSUMER_CHANGED:
                number = int.from_bytes(payload[:_NUMBER_BYTES], "little")
                found = self._found.get(number)
                if found is not None:
                    self._apply(number, found, payload[_NUMBER_BYTES:])

    def _apply(self, number: int, found: Found, changes: bytes) -> None:
        """What cannot be understood costs that consumer, and nobody else."""
        try:
            found.ledger.apply(changes)
        except ValueError as error:
            self.is_complete = False
            self._found.pop(number)
            stream, name = self._lifecycle.stream.config.name, found.record.name
            self._report(f"Stream {stream}: consumer {name} cannot be restored: {error}")

    def _describe(self, record: ConsumerRecord) -> None:
        self.numbers_used = max(self.numbers_used, record.number)
        found = self._found.get(record.number)
        if found is None:
            self._found[record.number] = Found(record, self._lifecycle.ledger_for(record))
            return
        filters = [pattern.encode() for pattern in record.config.filters]
        found.ledger.configure(filters, record.config.headers_only)
        self._found[record.number] = found._replace(record=record)

    def attach_all(self) -> list[LiveConsumer]:
        """Everybody who was found; they do not listen yet."""
        lives = []
        sequence_last = self._lifecycle.stream.sequence_last
        for found in self._found.values():
            figures = Figures(*found.ledger.figures())
            has_lost = figures.delivered_consumer > 0 and figures.delivered_stream > sequence_last
            if figures.cursor > sequence_last + 1 and has_lost:
                # Messages that it was delivered are gone: what comes in their place is new.
                found.ledger.start(min(figures.floor_stream, sequence_last) + 1, [])
            live = self._lifecycle.make(found.record, found.ledger)
            live.changes = found.changes
            lives.append(live)
        self._found = {}
        return lives
