"""The way out of one consumer: the hub, the stream's store, and the commit gate between them.

A delivery waits until its message is durable, no longer: the position of the consumer is recorded,
but nobody waits for it. What answers an acknowledgement waits for the entry that has it.
"""

import contextlib
import random
import secrets
import string
from collections.abc import Callable, Sequence
from typing import Any

from penstock.consumers.core import Ask, Bounds, Range
from penstock.consumers.retention import Retention
from penstock.kernel.consumers import Delivered, FilterIndex, Ledger
from penstock.server.jetstream.advisories import Advisories
from penstock.server.jetstream.parts import Parts
from penstock.storage.block_store import BlockStore

_OPEN = contextlib.nullcontext()  # no gate
_ALPHABET = string.digits + string.ascii_letters


class ConsumerOutlet:
    """What a consumer has of the server."""

    def __init__(
        self,
        parts: Parts,
        store: BlockStore,
        index: FilterIndex,
        slot: int,
        advisories: Advisories,
        retention: Retention,
    ) -> None:
        self._parts = parts
        self.account = parts.account.name
        self._store = store
        self._index = index
        self.slot = slot
        self._advisories = advisories
        self._retention = retention
        self.ledger: Ledger
        self.on_store_failed: Callable[[OSError], None] = lambda _error: None
        self.replies: list[bytes] = []  # of acknowledgements that are not recorded yet

    def send(self, subject: bytes, headers: bytes, reply: bytes = b"") -> None:
        with self.gated():
            self._parts.publish(subject, b"", headers, reply)

    def answer(self, reply: bytes) -> None:
        self.replies.append(reply)

    def deliver(self, requests: Sequence[Ask], bounds: Bounds, now_ns: int) -> Delivered:
        with self.gated():
            columns = self.ledger.deliver(
                self._parts.hub,
                self._store.blocks,
                self._parts.account.number,
                [*requests],
                ack_pending_max=bounds.ack_pending_max,
                deliveries_max=bounds.deliveries_max,
                bytes_soft=bounds.bytes_soft,
                header=bounds.header,
                now_ns=now_ns,
                arrived=self._index.arrived(self.slot),
            )
        return Delivered(*columns)

    def is_at_end(self, ack_pending_max: int) -> bool:
        arrived = self._index.arrived(self.slot)
        return self.ledger.is_at_end(self._store.blocks, ack_pending_max, arrived)

    def pending(self) -> int:
        return self.ledger.num_pending(self._store.blocks, self._index.arrived(self.slot))

    def next_message(self) -> tuple[int, int] | None:
        return self.ledger.peek(self._store.blocks)

    def is_heard(self, subject: bytes) -> bool:
        return self._parts.hub.listens(self._parts.account.number, subject)

    def advise(self, subject: str, event: str, fields: dict[str, Any]) -> None:
        self._advisories.send(subject, event, fields)

    def measure(self, subject: str, event: str, fields: dict[str, Any]) -> None:
        self._advisories.measure(subject, event, fields)

    def done(self, ranges: list[Range]) -> None:
        try:
            self._retention.done(ranges)
        except OSError as error:  # nobody knows what is still in the store
            self.on_store_failed(error)

    def chance(self) -> int:
        return random.randrange(100)

    def unique(self, length: int) -> str:
        return "".join(secrets.choice(_ALPHABET) for _ in range(length))

    def gated(self) -> contextlib.AbstractContextManager[None]:
        """What is sent inside waits for the messages of the stream."""
        commit, journal = self._parts.commit, self._store.journal
        if commit is None or journal is None:
            return _OPEN
        return commit.gated(journal.entry)

    def gated_by_all(self) -> contextlib.AbstractContextManager[None]:
        """What is sent inside waits for everything that was recorded."""
        return _OPEN if self._store.journal is None else self._parts.gated()
