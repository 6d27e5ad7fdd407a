"""What only messages tell is written before they go, and not once more than that."""

import pytest

from penstock.storage.carried import Carried
from penstock.storage.store import Limits, StoreState


@pytest.fixture
def written() -> list[int]:
    return []


@pytest.fixture
def carried(written: list[int]) -> Carried:
    found = Carried()

    def write() -> None:
        assert found.since is not None
        written.append(found.since)
        found.since = None

    found.write = write
    return found


def state(messages: int, size: int = 0) -> StoreState:
    return StoreState(messages, size, 1, 0, messages, 0, 0, 0)


def test_nothing_is_written_for_messages_that_tell_nothing_new(
    carried: Carried, written: list[int]
) -> None:
    carried.let_go(9)
    carried.by(10)
    carried.by(20)
    carried.let_go(9)
    carried.let_go_some([])
    carried.let_go_some([9, 3])
    assert not written
    carried.let_go_some([3, 12])
    carried.let_go(20)
    assert written == [10]


@pytest.mark.parametrize(
    ("limits", "added", "is_written"),
    [
        (Limits(0, 0, 0), 5, False),
        (Limits(100, 0, 0), 0, False),
        (Limits(91, 0, 0), 0, False),
        (Limits(90, 0, 0), 0, True),
        (Limits(100, 0, 0), 9, False),
        (Limits(100, 0, 0), 10, True),
        (Limits(0, 1000, 0), 0, False),
        (Limits(0, 999, 0), 0, True),
        (Limits(0, 2000, 0), 1, True),  # who knows how large it is
        (Limits(0, 0, 1), 0, True),
    ],
)
def test_limits_that_may_reach_it(
    carried: Carried, written: list[int], limits: Limits, added: int, *, is_written: bool
) -> None:
    carried.by(10)
    carried.let_go_by(limits, state(100, 1000), added)
    assert bool(written) is is_written
