"""Deliver policies and filters over sockets: both servers are asked the same."""

from tests.parity import consumer_deliver_cases
from tests.parity.consumer_steps import Steps
from tests.parity.consumers_peer import ConsumerPair, cases


@cases(consumer_deliver_cases.ALL)
def test_deliver_policy(consumers: ConsumerPair, steps: Steps) -> None:
    consumers.play(steps)
