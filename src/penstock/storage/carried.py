"""What only messages tell: before they go, it is written down.

A stream without a log learns how far it has read its sources from the messages themselves, until a
file says it too. That file follows a little later; but limits, acknowledgements and expiry may
remove the messages at once. So a store says what is about to go, and if the file is behind, it is
written first. It is behind from some message on: a long stream loses others, and waits for nothing.
"""

from collections.abc import Callable, Sequence

from penstock.storage.store import Limits, StoreState


class Carried:
    """What the messages of one store carry that is in no file yet."""

    def __init__(self) -> None:
        self.since: int | None = None  # messages from that sequence on do; none: none does
        self.write: Callable[[], None] = lambda: None  # messages and file; may raise OSError

    def by(self, sequence: int) -> None:
        """A message tells something new."""
        if self.since is None:
            self.since = sequence

    def let_go(self, up_to: int) -> None:
        """Messages are about to go, none of them behind that sequence."""
        if self.since is not None and self.since <= up_to:
            self.write()

    def let_go_some(self, sequences: Sequence[int]) -> None:
        """These are."""
        if self.since is not None:
            self.let_go(max(sequences, default=0))

    def let_go_by(self, limits: Limits, state: StoreState, added: int = 0) -> None:
        """Those that limits may remove are, once so many more messages are there."""
        last = state.sequence_last + added
        is_large = limits.bytes > 0 and (added > 0 or state.bytes > limits.bytes)
        if limits.subject_messages or is_large:
            self.let_go(last)
        elif 0 < limits.messages < state.messages + added:
            self.let_go(last - limits.messages)
