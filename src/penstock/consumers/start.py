"""Where a new consumer starts: the sequence it looks at first, and what it takes before.

`last_per_subject` first takes a list, the last message of each subject as of now, and goes on
behind the last message there was.
"""

from typing import NamedTuple

from penstock.model.consumer_config import ConsumerConfig, DeliverPolicy
from penstock.model.limits import SEQUENCE_BEYOND
from penstock.model.timestamps import unix_ns
from penstock.storage.store import Lookup


class Start(NamedTuple):
    """The first sequence to look at; if there is a list, that is where to go on behind it."""

    cursor: int
    listed: tuple[int, ...] = ()

    @property
    def before(self) -> int:
        """The sequence in front of everything that will be delivered."""
        return (self.listed[0] if self.listed else self.cursor) - 1


def start_of(config: ConsumerConfig, store: Lookup, messages_per_subject_max: int) -> Start:
    state = store.state()
    first, last = state.sequence_first, state.sequence_last
    if config.opt_start_seq:
        return Start(max(min(config.opt_start_seq, SEQUENCE_BEYOND), first))
    if not last and first <= 1:
        return Start(1)
    if config.deliver_policy is DeliverPolicy.LAST_PER_SUBJECT and messages_per_subject_max != 1:
        listed = store.last_by_subjects([pattern.encode() for pattern in config.filters], last)
        if listed:
            return Start(last + 1, tuple(listed))
        return Start(max(first, min(last, last + 1)))
    return Start(max(first, min(_sequence_of(config, store, first, last), last + 1)))


def _sequence_of(config: ConsumerConfig, store: Lookup, first: int, last: int) -> int:
    match config.deliver_policy:
        case DeliverPolicy.LAST:
            found = [store.last_matching(pattern.encode(), last) for pattern in config.filters]
            return max((sequence or 0 for sequence in found), default=last)
        case DeliverPolicy.BY_START_TIME:
            assert config.opt_start_time is not None, "validation wants one"
            return store.sequence_at(unix_ns(config.opt_start_time))
        case DeliverPolicy.NEW:
            return last + 1
        case _:
            return first
