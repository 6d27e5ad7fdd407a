"""Flow control of push consumers: how many bytes may be on their way to a subscriber.

The server asks for a sign of life when half of the window is out, and stops when all of it is. The
window begins small and doubles with every answer, as the reference's.
"""

WINDOW_BYTES_MAX = 32 << 20
WINDOW_BYTES_FIRST = WINDOW_BYTES_MAX // 16
ID_LENGTH = 4


class FlowControl:
    """The window of one consumer; a request is named by the subject it is answered to."""

    def __init__(self) -> None:
        self.window_bytes = WINDOW_BYTES_FIRST
        self.out_bytes = 0
        self.request = ""  # the one that waits for its answer
        self._asked_bytes = 0  # what was out when it was sent

    @property
    def is_stalled(self) -> bool:
        return self.out_bytes > self.window_bytes

    @property
    def wants_answer(self) -> bool:
        return not self.request and self.out_bytes > self.window_bytes // 2

    @property
    def room_bytes(self) -> int:
        """After how many more bytes something has to be decided; at least one."""
        limit = self.window_bytes if self.request else self.window_bytes // 2
        return max(1, limit - self.out_bytes)

    def sent(self, size: int) -> None:
        self.out_bytes += size
        if self.request and self.out_bytes - self._asked_bytes >= self.window_bytes:
            # A message larger than the window: its answer must make room for the next one.
            self._asked_bytes = self.out_bytes

    def ask(self, request: str) -> None:
        self.request = request
        self._asked_bytes = self.out_bytes

    def answered(self, request: str) -> bool:
        """Returns true if it was the answer that is waited for."""
        if not self.request or request != self.request:
            return False
        self.window_bytes = min(self.window_bytes * 2, WINDOW_BYTES_MAX)
        self.out_bytes = max(0, self.out_bytes - self._asked_bytes)
        self.request = ""
        return True
