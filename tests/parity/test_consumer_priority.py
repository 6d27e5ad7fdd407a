"""Priority groups over sockets: both servers are asked the same."""

from tests.parity import consumer_priority_cases
from tests.parity.consumer_steps import Steps
from tests.parity.consumers_peer import ConsumerPair, cases


@cases(consumer_priority_cases.ALL)
def test_priority_groups(consumers: ConsumerPair, steps: Steps) -> None:
    consumers.play(steps)
