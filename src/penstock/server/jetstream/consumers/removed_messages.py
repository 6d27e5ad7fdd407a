"""Messages that leave a stream, as its consumers see it.

Limits take them from the front, which is cheap to tell; a deletion or a limit for each subject
takes them anywhere, and the consumers look which of their unsettled ones are gone. A purge is told
separately: nobody is told of single messages then, and positions jump.
"""

from collections.abc import Callable

from penstock.server.jetstream.consumers.roster import Roster
from penstock.storage.block_store import BlockStore
from penstock.streams.subjects import is_subset

EVERYTHING = ("", ">")


class RemovedMessages:
    """What was removed from one stream since its consumers last looked."""

    def __init__(self, store: BlockStore, roster: Roster, stir: Callable[[], None]) -> None:
        self._store = store
        self._roster = roster
        self._stir = stir
        self._in_front = self._anywhere = False
        store.on_removed = self._removed

    def _removed(self, in_front: bool) -> None:
        if len(self._roster):
            self._in_front |= in_front
            self._anywhere |= not in_front
            self._stir()

    def suspect(self) -> None:
        """Anything may be gone."""
        self._anywhere = True

    def catch_up(self, now_ns: int) -> None:
        in_front, self._in_front = self._in_front, False
        anywhere, self._anywhere = self._anywhere, False
        if not (in_front or anywhere):
            return
        first = self._store.state().sequence_first
        for live in self._roster:
            figures = live.consumer.core.figures
            if not figures.ack_pending:
                continue
            if anywhere:
                pending = live.ledger.removed_missing(self._store.blocks)
            else:
                pending = live.ledger.removed(0, first - 1)
            if pending:
                live.consumer.removed(pending, figures.floor_stream, now_ns)
                live.settle()

    def purged(self, pattern: str) -> None:
        """Messages were purged, all or those that match; whoever purges has let `catch_up` come
        first, since a purge tells nobody what else is gone."""
        self._in_front = self._anywhere = False
        state = self._store.state()
        for live in [*self._roster]:
            filters = live.consumer.core.config.filters
            if pattern in EVERYTHING:
                live.ledger.purged(state.sequence_first)
            elif filters and all(is_subset(ours, pattern) for ours in filters):
                found = self._store.next_matching(pattern.encode(), state.sequence_first)
                live.ledger.purged(found or state.sequence_last + 1)
            elif not filters or any(_touches(pattern, ours) for ours in filters):
                live.ledger.purged_missing(self._store.blocks, state.sequence_first)
            else:
                continue
            live.wake()

    def end(self) -> None:
        self._store.on_removed = lambda _in_front: None


def _touches(pattern: str, ours: str) -> bool:
    """Whether one covers the other; what else a purge took is passed over when its turn comes."""
    return is_subset(pattern, ours) or is_subset(ours, pattern)
