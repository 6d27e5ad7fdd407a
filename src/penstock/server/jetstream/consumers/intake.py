"""The consumers of a backup, on their way in: checked like those that a client asks for, and kept
until the stream is complete.

As the reference: an ephemeral consumer comes back too, and goes if nobody uses it for a while; one
that was to begin at a sequence, and has begun nowhere, begins there. Each may be there once only.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from penstock.consumers.defaults import with_threshold
from penstock.consumers.draft import Limits, Surroundings
from penstock.consumers.ledger_state import LedgerState
from penstock.consumers.outcome import decide
from penstock.model.api_errors import ApiError
from penstock.model.consumer_config import AckPolicy, ConsumerConfig
from penstock.model.consumer_request import ConsumerRequest
from penstock.model.limits import MIB, SEQUENCE_BEYOND
from penstock.model.stream_config import Retention, StreamConfig
from penstock.server.jetstream.consumers.archived import ArchivedConsumer
from penstock.server.jetstream.consumers.record import ConsumerRecord
from penstock.server.jetstream.consumers.state_file import SavedConsumer, SavedConsumers
from penstock.storage.archive import ArchiveError
from penstock.streams.bounds import NAME_BYTES_MAX

BYTES_MAX = 256 * MIB  # of all of them, about: that is a million of pending messages
_ROW_BYTES, _CONSUMER_BYTES = 200, 4000


class Taken(NamedTuple):
    """One that was accepted."""

    name: str
    config: ConsumerConfig
    created_ns: int
    state: LedgerState


class Intake:
    """The consumers of one backup."""

    def __init__(self, stream: StreamConfig, limits: Limits) -> None:
        self._stream = stream
        self._limits = limits
        self._taken: dict[str, Taken] = {}
        self._configs: dict[str, ConsumerConfig] = {}
        self._saved: list[SavedConsumer] = []
        self._bytes = 0
        self.may_be_later = False  # than the messages: what is not there then was not delivered

    def take(self, archived: ArchivedConsumer) -> None:
        """Raises ArchiveError if there may be no such consumer."""
        config, state = archived.config, archived.state
        is_durable = bool(config.durable_name)
        if not is_durable:  # its name is the one that it was found under
            config = msgspec.structs.replace(config, durable_name=archived.name)
        around = Surroundings(stream=self._stream, consumers=self._configs, limits=self._limits)
        if config.durable_name in self._configs:
            raise ArchiveError(f'consumer "{archived.name}" is there twice')
        decision = decide(ConsumerRequest(config=config), around, 0)
        if isinstance(decision, ApiError):
            reason = f"{decision.description} ({decision.err_code})"
            raise ArchiveError(f'consumer "{archived.name}": {reason}')
        config = decision.config
        if not is_durable:
            config = msgspec.structs.replace(config, durable_name="", name=decision.name)
            config = with_threshold(config, is_durable=False)
        if config.ack_policy is AckPolicy.NONE and state.pending:
            raise ArchiveError(f'consumer "{archived.name}": nothing can be pending')
        self._bytes += _ROW_BYTES * (len(state.pending) + len(state.deliveries)) + _CONSUMER_BYTES
        if self._bytes > BYTES_MAX:
            raise ArchiveError("too much is pending")
        self._configs[decision.name] = config
        self._taken[decision.name] = Taken(decision.name, config, archived.created_ns, state)

    def settle(self, sequence_last: int, now_ns: int) -> Iterator[None]:
        """The stream is complete, and ends there. In steps."""
        is_queue = self._stream.retention is Retention.WORKQUEUE
        for name, config, created_ns, told in self._taken.values():
            state = _bounded(told, sequence_last) if self.may_be_later else told
            if state.delivered.stream > sequence_last:
                raise ArchiveError(f'consumer "{name}" is beyond the end of the stream')
            # Whatever a work queue still has, nobody acknowledged: no floor says otherwise.
            spared_below = sequence_last + 1 if is_queue else 0
            number = len(self._saved) + 1
            record = ConsumerRecord(number, name, created_ns or now_ns, config, spared_below)
            self._saved.append(SavedConsumer(record.encode(), _begun(config, state).encode()))
            yield

    def saved(self, mark: int) -> SavedConsumers:
        """All of them, as of an entry of the log."""
        return SavedConsumers(mark, len(self._saved), self._saved)

    def written(self, mark: int) -> bytes:
        """The file of those that are to be in one; empty if there are none at all."""
        configs = [taken.config for taken in self._taken.values()]
        rows = zip(self._saved, configs, strict=True)
        written = [row for row, config in rows if not config.mem_storage]
        return self.saved(mark)._replace(consumers=written).encode() if configs else b""


def _bounded(state: LedgerState, last: int) -> LedgerState:
    return LedgerState(
        state.delivered._replace(stream=min(state.delivered.stream, last)),
        state.floor._replace(stream=min(state.floor.stream, last)),
        [row for row in state.pending if row.sequence <= last],
        {sequence: count for sequence, count in state.deliveries.items() if sequence <= last},
    )


def _begun(config: ConsumerConfig, state: LedgerState) -> LedgerState:
    before = min(config.opt_start_seq, SEQUENCE_BEYOND) - 1
    if state.delivered.consumer or state.delivered.stream >= before:
        return state
    place = state.delivered._replace(stream=before)
    return state._replace(delivered=place, floor=place)


def name_of(encoded: bytes) -> str:
    """A consumer's name in an archive."""
    if not 0 < len(encoded) <= NAME_BYTES_MAX:
        raise ArchiveError("a consumer has no name, or a long one")
    try:
        return encoded.decode()
    except UnicodeDecodeError:
        raise ArchiveError("a consumer's name is no text") from None
