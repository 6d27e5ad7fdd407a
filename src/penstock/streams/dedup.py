"""The duplicate window: message ids of the last while, and the sequences they got.

Ids leave by age; the clock is the time of the messages, so replicas agree. A rejected message's id
is never remembered, because ids are noted after the message was stored. The ids themselves are in
the kernel: there may be millions.
"""

from collections.abc import Sequence

from penstock.kernel.storage import RecentIds
from penstock.storage.store import HeaderColumn


class DedupWindow:
    """Message ids by time."""

    def __init__(self, window_ns: int) -> None:
        self.window_ns = window_ns
        self.ids = RecentIds()

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, message_id: bytes, now_ns: int) -> int | None:
        """The sequence of an earlier message with this id."""
        return self.ids.find(message_id, now_ns - self.window_ns)

    def all_new(self, message_ids: Sequence[bytes], now_ns: int) -> bool:
        """True if none of them is known and none appears twice."""
        return self.ids.are_new(message_ids, now_ns - self.window_ns)

    def stretches(self, message_ids: Sequence[bytes], now_ns: int) -> list[tuple[bool, int, int]]:
        """Cuts a run into stretches that are all new, and such that are all known or repeated."""
        if self.all_new(message_ids, now_ns):
            return [(True, 0, len(message_ids))]
        found: list[tuple[bool, int, int]] = []
        seen: set[bytes] = set()
        for at, message_id in enumerate(message_ids):
            is_new = message_id not in seen and self.find(message_id, now_ns) is None
            if message_id:
                seen.add(message_id)
            if found and found[-1][0] == is_new:
                found[-1] = (is_new, found[-1][1], at + 1)
            else:
                found.append((is_new, at, at + 1))
        return found

    def remember(self, message_ids: Sequence[bytes], sequence_first: int, now_ns: int) -> None:
        """Notes ids of messages stored under rising sequences."""
        if self.window_ns > 0:
            self.ids.remember(message_ids, sequence_first, now_ns)

    def remember_column(self, ids: HeaderColumn) -> None:
        """Notes ids of messages that are stored already, each with its own time."""
        if self.window_ns > 0:
            self.ids.remember_column(ids.sequences, ids.times_ns, ids.ends, ids.values)

    def newest(self) -> tuple[int, bytes]:
        """The sequence and the id of the message noted last."""
        return self.ids.newest() or (0, b"")
