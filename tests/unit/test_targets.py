"""Numbers of targets."""

from penstock.routing.targets import Targets
from tests.properties.hub_walk import small_hub


class Taker:
    def __init__(self) -> None:
        self.runs: list[tuple[int, int]] = []

    def take(self, start: int, end: int) -> None:
        self.runs.append((start, end))


def test_a_number_is_not_used_again_in_the_turn_it_was_given_back() -> None:
    """A turn may hold runs for a consumer that is deleted in it; the next one gets its own only."""
    targets = Targets(small_hub(accounts=1))
    first, second, third = Taker(), Taker(), Taker()
    number = targets.add(first)
    targets.remove(number)
    other = targets.add(second)
    assert other != number
    targets.take(number, 0, 1)
    targets.take(other, 1, 2)
    assert (first.runs, second.runs) == ([], [(1, 2)])
    targets.begin_turn()
    assert targets.add(third) == number
