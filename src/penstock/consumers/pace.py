"""How fast messages leave: a limit in bits per second, and the pace they were stored at.

Neither waits: they say from when on the next message may leave.
"""

SECOND_NS = 1_000_000_000
LATE_NS_MAX = 100_000_000  # beyond that it was no timer, but nobody who took messages
GAP_NS_MIN = 1_000_000  # shorter gaps between stored messages are not kept, as the reference


class RateLimit:
    """A bucket of bytes that fills steadily; a message may overdraw it."""

    def __init__(self, bits_per_second: int, burst_bytes: int, now_ns: int) -> None:
        self._bytes_per_second = max(1, bits_per_second // 8)
        self._burst_bytes = burst_bytes
        self._left_bytes = burst_bytes
        self._filled_ns = now_ns

    def room_bytes(self, now_ns: int) -> int:
        """How many bytes may leave now; 0 or less is none."""
        gained = (now_ns - self._filled_ns) * self._bytes_per_second // SECOND_NS
        if gained > 0:
            self._left_bytes = min(self._burst_bytes, self._left_bytes + gained)
            self._filled_ns += gained * SECOND_NS // self._bytes_per_second
        return self._left_bytes

    def sent(self, size: int) -> None:
        self._left_bytes -= size

    def ready_ns(self) -> int:
        """From when on there is room again."""
        missing = max(0, 1 - self._left_bytes)
        return self._filled_ns + -(-missing * SECOND_NS // self._bytes_per_second)


class Replay:
    """Messages leave with the gaps they came in, up to the last one there was at the start."""

    def __init__(self, sequence_last: int) -> None:
        self._sequence_last = sequence_last
        self._stored_ns: int | None = None  # the time of the last message that left
        self._left_ns = 0  # when that should have been

    def is_over(self, sequence: int) -> bool:
        return sequence > self._sequence_last

    def ready_ns(self, stored_ns: int) -> int:
        """From when on a message may leave."""
        gap_ns = 0 if self._stored_ns is None else stored_ns - self._stored_ns
        return self._left_ns + gap_ns if gap_ns > GAP_NS_MIN else 0

    def left(self, stored_ns: int, now_ns: int) -> None:
        """A timer that was late does not make the next gap longer."""
        ready_ns = self.ready_ns(stored_ns)
        self._left_ns = ready_ns if now_ns - ready_ns < LATE_NS_MAX else now_ns
        self._stored_ns = stored_ns
