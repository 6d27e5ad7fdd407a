"""The duplicate window: message ids of the last while, and the sequences they got.

Ids leave by age; the clock is the time of the messages, so replicas agree. A rejected message's id
is never remembered, because ids are noted after the message was stored.
"""

from collections import deque
from collections.abc import Sequence


class DedupWindow:
    """Message ids by time."""

    def __init__(self, window_ns: int) -> None:
        self.window_ns = window_ns
        self._sequences: dict[bytes, int] = {}
        self._by_age: deque[tuple[int, bytes]] = deque()

    def __len__(self) -> int:
        return len(self._sequences)

    def find(self, message_id: bytes, now_ns: int) -> int | None:
        """The sequence of an earlier message with this id."""
        self._forget_old(now_ns)
        return self._sequences.get(message_id)

    def all_new(self, message_ids: Sequence[bytes], now_ns: int) -> bool:
        """True if none of them is known and none appears twice."""
        self._forget_old(now_ns)
        distinct = set(message_ids)
        return len(distinct) == len(message_ids) and self._sequences.keys().isdisjoint(distinct)

    def remember(self, message_ids: Sequence[bytes], sequence_first: int, now_ns: int) -> None:
        """Notes ids of messages stored under rising sequences."""
        if self.window_ns <= 0:
            return
        for sequence, message_id in enumerate(message_ids, sequence_first):
            if message_id:
                self._sequences[message_id] = sequence
                self._by_age.append((now_ns, message_id))

    def _forget_old(self, now_ns: int) -> None:
        cut_ns = now_ns - self.window_ns
        while self._by_age and self._by_age[0][0] < cut_ns:
            _, message_id = self._by_age.popleft()
            self._sequences.pop(message_id, None)
