"""Messages whose time may be over: the part of a store that knows how long they live.

A message says so itself, in a header that the kernel reads when it is stored and keeps a table of;
age concerns all but those that never end. What is to become of the messages is not decided here.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from penstock.kernel.storage import Blocks
from penstock.storage.store import Store


class Figures(NamedTuple):
    """How many messages have a lifetime, how many of them without an end, and when the next
    one ends."""

    messages: int
    endless: int
    next_end_ns: int | None


class Over(NamedTuple):
    """Messages whose time is over, in the order of sequences."""

    sequences: list[int]
    is_cut: bool  # there are more


class LastOf(NamedTuple):
    """The last message of a subject."""

    sequence: int
    subject: bytes
    headers: bytes


class HasBlocks(Protocol):
    """A store on the kernel's blocks, which may be opened again meanwhile."""

    blocks: Blocks


class Lifetimes:
    """Of the messages of one store."""

    def __init__(self, store: HasBlocks) -> None:
        self._store = store

    def watch(self, *, watched: bool) -> None:
        """Whether anybody wants to know; only then the kernel keeps the table."""
        self._store.blocks.watch_lifetimes(watched)

    def figures(self) -> Figures:
        return Figures(*self._store.blocks.lifetimes())

    def next_over_ns(self, age_max_ns: int | None) -> int | None:
        """Before this moment nothing is over, where messages may have this age."""
        return self._store.blocks.next_over(age_max_ns)

    def over(self, now_ns: int, older_than_ns: int | None, count_max: int) -> Over:
        """Messages that are older than a time, unless they have no end, and messages whose lifetime
        is over: so many at the most, and so many that they are quickly found."""
        return Over(*self._store.blocks.over(now_ns, older_than_ns, count_max))

    def lasts(self, sequences: Sequence[int]) -> list[LastOf]:
        """Without these messages some subjects would have none: the last one of each."""
        return [*map(LastOf._make, self._store.blocks.lasts([*sequences]))]


class TimedStore(Store, Protocol):
    """What a stream needs: a store that knows lifetimes."""

    @property
    def lifetimes(self) -> Lifetimes: ...
