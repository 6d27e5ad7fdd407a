"""Streams that keep messages for their consumers, over sockets: both servers are asked the same."""

from tests.parity import consumer_interest_cases, consumer_workqueue_cases
from tests.parity.consumer_steps import Steps
from tests.parity.consumers_peer import ConsumerPair, cases


@cases(consumer_workqueue_cases.ALL | consumer_interest_cases.ALL)
def test_retention(consumers: ConsumerPair, steps: Steps) -> None:
    consumers.play(steps)
