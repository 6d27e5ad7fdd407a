"""Pull consumers over sockets: both servers are asked the same."""

import json

from penstock.model.timestamps import unix_ns
from tests.parity import consumer_pull_cases, consumer_pull_limit_cases
from tests.parity.consumer_steps import Steps, fetched, set_up
from tests.parity.consumers_peer import ConsumerPair, ConsumerPeer, cases


@cases(consumer_pull_cases.ALL | consumer_pull_limit_cases.ALL)
def test_pull(consumers: ConsumerPair, steps: Steps) -> None:
    consumers.play(steps)


def test_a_delivery_names_the_moment_of_storing(consumers: ConsumerPair) -> None:
    """The scenarios leave it out, since it is another one for each server."""
    for peer in (consumers.reference, consumers.ours):
        assert isinstance(peer, ConsumerPeer)
        peer.script([*set_up(1), *fetched(1)])
        answer = peer.request("$JS.API.STREAM.MSG.GET.T", b'{"seq":1}')
        assert answer is not None
        stored = json.loads(answer.payload)["message"]["time"]
        assert int(peer.delivered["T", "C", 1][0].split(".")[-2]) == unix_ns(stored)
