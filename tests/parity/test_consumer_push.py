"""Push consumers over sockets: both servers are asked the same."""

from tests.parity import consumer_flow_cases, consumer_push_cases
from tests.parity.consumer_steps import Steps
from tests.parity.consumers_peer import ConsumerPair, cases


@cases(consumer_push_cases.ALL | consumer_flow_cases.ALL)
def test_push(consumers: ConsumerPair, steps: Steps) -> None:
    consumers.play(steps)
