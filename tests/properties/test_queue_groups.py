"""Queue groups are spread evenly: with a fixed seed the shares of many messages are bounded.

10,000 draws over 4 members have a standard deviation of 43, so 20 to 30 percent is 11 of them away
and 24 to 26 percent still more than 2; the wide bound is asserted for every seed, the narrow one
for the sum of them.
"""

from collections import Counter
from itertools import pairwise

import pytest

from penstock.kernel.hub import Hub
from tests.properties.deliveries import read_deliveries
from tests.properties.hub_walk import open_client, small_hub, walk

MEMBERS = 4
MESSAGES = 10_000
TURN = 500


def spread(hub: Hub, members: list[int], publisher: int) -> Counter[int]:
    """How many of the messages each member got; nobody else may get any."""
    for _ in range(MESSAGES // TURN):
        hub.begin(1)
        data = b"PUB work 1\r\nx\r\n" * TURN
        assert hub.feed(publisher, data) == len(data)
        walk(hub, lambda *_: pytest.fail("a publish was not in the bulk lane"))
    return Counter({member: len(read_deliveries(hub.take(member))) for member in members})


@pytest.mark.parametrize("seed", [1, 2, 0xDEADBEEF, 2**64 - 1])
def test_members_share_evenly(seed: int) -> None:
    hub = small_hub(seed=seed)
    publisher = open_client(hub)
    members = [open_client(hub) for _ in range(MEMBERS)]
    patterns = [b"work", b"*", b">", b"work"]
    for member, pattern in zip(members, patterns, strict=True):
        assert hub.subscribe(member, pattern, b"workers", b"1")
    shares = spread(hub, members, publisher)
    assert shares.total() == MESSAGES
    assert all(0.2 * MESSAGES < shares[member] < 0.3 * MESSAGES for member in members), shares


def test_neighbours_do_not_take_turns() -> None:
    """Random, not round robin: after a member's message the next is anybody's."""
    hub = small_hub(seed=7)
    publisher = open_client(hub)
    members = [open_client(hub) for _ in range(MEMBERS)]
    for member in members:
        assert hub.subscribe(member, b"work", b"workers", b"1")
    order = []
    for _ in range(2000):
        hub.begin(1)
        hub.feed(publisher, b"PUB work 1\r\nx\r\n")
        walk(hub, lambda *_: pytest.fail("a publish was not in the bulk lane"))
        order += [number for number, member in enumerate(members) if hub.take(member)]
    assert len(order) == 2000
    pairs = Counter(pairwise(order))
    assert len(pairs) == MEMBERS**2
    assert all(70 < times < 190 for times in pairs.values()), pairs  # 125 expected


def test_a_member_that_left_has_no_share() -> None:
    hub = small_hub()
    publisher = open_client(hub)
    members = [open_client(hub) for _ in range(MEMBERS)]
    for member in members:
        assert hub.subscribe(member, b"work", b"workers", b"1")
    spread(hub, members, publisher)
    assert hub.unsubscribe(members[0], b"1", 0)
    assert hub.close(members[1])
    shares = spread(hub, members, publisher)
    assert shares[members[0]] == shares[members[1]] == 0
    assert shares.total() == MESSAGES
    assert all(0.45 * MESSAGES < shares[member] < 0.55 * MESSAGES for member in members[2:])
