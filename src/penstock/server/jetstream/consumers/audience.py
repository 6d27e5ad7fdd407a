"""The audience of one stream: who wants what, and who is to be woken.

Stored messages are counted for all consumers at once, through the kernel's index of filters; only
those that wait are woken, once in a turn.
"""

from penstock.consumers.retention import Follower
from penstock.kernel.hub import Hub
from penstock.kernel.storage import Copies
from penstock.server.jetstream.consumers.live_consumer import LiveConsumer
from penstock.server.jetstream.consumers.removed_messages import RemovedMessages
from penstock.server.jetstream.consumers.roster import Roster
from penstock.server.jetstream.consumers.turn_end import Stirred, TurnEnd
from penstock.storage.block_store import BlockStore
from penstock.streams.audience import ConsumerBounds


class ConsumerAudience:
    """The stream's view of its consumers."""

    def __init__(
        self, turn_end: TurnEnd, roster: Roster, store: BlockStore, stirred: Stirred
    ) -> None:
        self._turn_end = turn_end
        self._roster = roster
        self._stirred = stirred
        self._woken: set[int] = set()
        self.followers: list[Follower] = []  # streams that copy this one
        self.removed = RemovedMessages(store, roster, lambda: turn_end.stir(stirred))

    @property
    def count(self) -> int:
        return len(self._roster)

    @property
    def wants_everything(self) -> bool:
        return self._roster.has_unfiltered or any(
            follower.wants_everything for follower in self.followers
        )

    def wants(self, subject: bytes) -> bool:
        return bool(self._roster.wanted.find(subject)) or any(
            follower.wants(subject) for follower in self.followers
        )

    def wanted(self, hub: Hub, start: int, end: int) -> int:
        return self._roster.wanted.matched(hub, start, end)

    def stored_run(self, hub: Hub, start: int, end: int, first: int) -> None:
        if len(self._roster):
            self._wake(self._roster.index.count_run(hub, start, end, first))

    def stored(self, subject: bytes, sequence: int) -> None:
        if len(self._roster):
            self._wake(self._roster.index.count_message(subject, sequence))

    def stored_copies(self, copies: Copies) -> None:
        if len(self._roster):
            self._wake(self._roster.index.count_copies(copies))

    def purging(self) -> None:
        self.removed.catch_up(self._turn_end.now_ns())

    def purged(self, pattern: str) -> None:
        self.removed.purged(pattern)

    def bounds(self) -> tuple[ConsumerBounds, ...]:
        return tuple(
            ConsumerBounds(core.name, core.config.inactive_threshold, core.config.max_ack_pending)
            for core in self._roster.cores()
        )

    def _wake(self, slots: list[int]) -> None:
        if slots:
            self._woken.update(slots)
            self._turn_end.stir(self._stirred)

    def take_woken(self) -> list[LiveConsumer]:
        """Those to be woken, in a steady order."""
        woken, self._woken = self._woken, set()
        lives = (self._roster.at(slot) for slot in sorted(woken))
        return [live for live in lives if live is not None]
