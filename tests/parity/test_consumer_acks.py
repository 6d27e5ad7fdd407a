"""Acknowledgements and redeliveries over sockets: both servers are told the same."""

from tests.parity import consumer_ack_cases, consumer_redelivery_cases
from tests.parity.consumer_steps import Steps
from tests.parity.consumers_peer import ConsumerPair, cases


@cases(consumer_ack_cases.ALL | consumer_redelivery_cases.ALL)
def test_acks(consumers: ConsumerPair, steps: Steps) -> None:
    consumers.play(steps)
