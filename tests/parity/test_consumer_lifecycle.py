"""The consumer API and what changes a living consumer, over sockets: both servers are asked."""

from tests.parity import (
    consumer_advisory_cases,
    consumer_change_cases,
    consumer_lifecycle_cases,
)
from tests.parity.consumer_steps import Steps
from tests.parity.consumers_peer import ConsumerPair, cases


@cases(consumer_lifecycle_cases.ALL)
def test_lifecycle(consumers: ConsumerPair, steps: Steps) -> None:
    consumers.play(steps)


@cases(consumer_change_cases.ALL)
def test_changes(consumers: ConsumerPair, steps: Steps) -> None:
    consumers.play(steps)


@cases(consumer_advisory_cases.ALL)
def test_advisories(consumers: ConsumerPair, steps: Steps) -> None:
    consumers.play(steps)


def test_the_end_of_each_consumer_of_a_deleted_stream_is_told(consumers: ConsumerPair) -> None:
    found = consumers.ours.script(consumer_advisory_cases.DELETED_WITH_STREAM)
    told = {(advisory["consumer"], advisory["action"]) for *_, advisory in found[-2]}
    assert told == {("A", "delete"), ("B", "delete")}
    assert found[-1] == []
