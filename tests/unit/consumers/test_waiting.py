"""The queue of pull requests."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.consumers.pull_request import Preference, PullRequest
from penstock.consumers.waiting import Fate, Waiter, Waiting, fate_of


def waiter(name: str, now_ns: int = 0, **fields: object) -> Waiter:
    return Waiter(name.encode(), PullRequest(**fields), now_ns)  # type: ignore[arg-type]


def order(waiting: Waiting) -> str:
    return b"".join(waiter.inbox for waiter in waiting).decode()


def queue(names: str, **fields: object) -> Waiting:
    waiting = Waiting()
    for name in names:
        waiting.add(waiter(name, **fields))
    return waiting


def test_served_in_turn() -> None:
    waiting = queue("abc", batch=2)
    for expected in ("bca", "cab", "abc", "bc", "c", ""):
        head = waiting.head
        assert head is not None
        head.left -= 1
        head.delivered += 1
        waiting.requeue(by_priority=False)
        assert order(waiting) == expected


@given(st.lists(st.integers(0, 9), max_size=12))
def test_priorities_keep_the_order_of_arrival(priorities: list[int]) -> None:
    waiting = Waiting()
    for number, priority in enumerate(priorities):
        name = chr(ord("a") + number)
        waiting.add(waiter(name, preference=Preference(priority=priority)), by_priority=True)
    expected = sorted(range(len(priorities)), key=lambda number: priorities[number])
    assert order(waiting) == "".join(chr(ord("a") + number) for number in expected)


@given(st.data())
def test_rotation_is_the_same_as_one_by_one(data: st.DataObject) -> None:
    """The kernel serves the first few in turn; the queue must look as if they had been popped."""
    lefts = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    names = "abcdef"[: len(lefts)]
    one, other = queue(names), queue(names)
    for waiting in (one, other):
        for each, left in zip(waiting, lefts, strict=True):
            each.left = left
    count = data.draw(st.integers(0, sum(lefts)))
    for _ in range(count):
        head = one.head
        assert head is not None
        head.left -= 1
        head.delivered += 1
        one.requeue(by_priority=False)
    # All at once: whose turn is next, and what everybody got.
    by_inbox = {each.inbox: each for each in other}
    served = other.first(len(lefts))
    turn = list(served)
    for _ in range(count):
        each = turn.pop(0)
        by_inbox[each.inbox].left -= 1
        each.delivered += 1
        if each.left > 0:
            turn.append(each)
    index = served.index(turn[0]) if turn else len(served)
    other.rotate(served, index)
    assert order(other) == order(one)


def test_how_many_in_a_row() -> None:
    assert queue("a", batch=5).run_length(by_priority=False) == 5
    assert queue("ab", batch=5).run_length(by_priority=False) == 1
    waiting = Waiting()
    for name, priority in (("a", 1), ("b", 2)):
        waiting.add(
            waiter(name, batch=5, preference=Preference(priority=priority)), by_priority=True
        )
    assert waiting.run_length(by_priority=True) == 5
    waiting.add(waiter("c", preference=Preference(priority=1)), by_priority=True)
    assert waiting.run_length(by_priority=True) == 1


def test_due_is_never_late() -> None:
    waiting = Waiting()
    waiting.add(waiter("a", expires_ns=100))
    waiting.add(waiter("b", expires_ns=50, heartbeat_ns=20))
    assert waiting.due_ns == 20
    assert waiting.is_due(20)
    second = waiting.first(2)[1]
    second.heartbeat_at_ns = 40
    assert not waiting.is_due(20)
    assert waiting.due_ns == 40


def test_those_that_do_not_wait_are_counted() -> None:
    waiting = queue("ab", no_wait=True)
    waiting.add(waiter("c"))
    assert waiting.impatient == 2
    gone = waiting.look(lambda each: Fate.UNHEARD if each.inbox == b"a" else Fate.STAYS)
    assert [(each.inbox, fate) for each, fate in gone] == [(b"a", Fate.UNHEARD)]
    assert waiting.impatient == 1
    waiting.drop(waiting.first(1)[0])
    assert waiting.impatient == 0
    assert order(waiting) == "c"


def test_fates() -> None:
    def fate(each: Waiter, *, at_end: bool = True, heard: bool = True) -> Fate:
        return fate_of(each, 100, at_end, lambda _inbox: heard)

    assert fate(waiter("a")) is Fate.STAYS
    assert fate(waiter("a"), heard=False) is Fate.UNHEARD
    assert fate(waiter("a", expires_ns=100)) is Fate.EXPIRED
    assert fate(waiter("a", expires_ns=101)) is Fate.STAYS
    assert fate(waiter("a", no_wait=True)) is Fate.EMPTY
    assert fate(waiter("a", no_wait=True), at_end=False) is Fate.STAYS
    patient = waiter("a", no_wait=True, expires_ns=200)
    assert fate(patient) is Fate.STAYS
    patient.delivered = 1
    assert fate(patient) is Fate.EMPTY
