"""Messages that were there when a read was planned and are not any more.

As with Spark's Kafka source it is a failure (`failOnDataLoss`), unless one says that it is none.
Gaps inside of a stream are legal: deletes, lifetimes and limits for each subject make them. What is
not: the stream's first message passed the start of what was to be read, its last one is before
that, or the stream is not the same one any more.
"""

import logging
from typing import Protocol

from pyspark_jetstream.options import ReadOptions
from pyspark_jetstream.ranges import Range
from pyspark_jetstream.stream_facts import StreamFacts

_HINT = "failOnDataLoss=false goes on with what is there"
_LOG = logging.getLogger(__name__)


class DataLossError(Exception):
    """What was to be read is not there any more."""


class Progress(Protocol):
    """How a reader has come along."""

    doubtful_from: int | None  # the first sequence that was asked for and did not come


def check_start(options: ReadOptions, facts: StreamFacts, start: int, created: str) -> int:
    """The sequence to start from; that is another one if it is no failure that it is gone."""
    if created and created != facts.created:
        problem = f"it was created anew at {facts.created}"
        return _lost(options, facts.name, start, problem, facts.first)
    if start < facts.first:
        problem = f"its first message is {facts.first} now"
        return _lost(options, facts.name, start, problem, facts.first)
    if start > facts.end:
        problem = f"its last message is {facts.last}"
        return _lost(options, facts.name, start, problem, facts.end)
    return start


def check_read(options: ReadOptions, part: Range, facts: StreamFacts, progress: Progress) -> None:
    """After a range was read: whether it was removed under the reader."""
    if facts.created != part.created:
        problem = f"it was created anew at {facts.created} while it was read"
        _lost(options, part.stream, part.start, problem, 0)
    doubtful = progress.doubtful_from
    if doubtful is not None and facts.first > doubtful:
        problem = f"its first message became {facts.first} while it was read"
        _lost(options, part.stream, part.start, problem, 0)


def _lost(options: ReadOptions, stream: str, start: int, problem: str, instead: int) -> int:
    told = f"stream {stream} was to be read from {start} on, but {problem}"
    if options.fail_on_data_loss:
        raise DataLossError(f"{told}; {_HINT}")
    _LOG.warning("%s", told)
    return instead
