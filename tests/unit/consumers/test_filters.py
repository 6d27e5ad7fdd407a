"""Many filters against many: the walk agrees with comparing each with each, and has an end."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.consumers.filters import STEPS_MAX, are_nested, meet
from penstock.streams.subjects import collide, is_subset, is_valid
from tests.unit.consumers.configs import WORKQUEUE, around, config, decided, refusal, request

TOKENS = st.sampled_from(("a", "b", "*", ">"))
PATTERNS = st.lists(TOKENS, min_size=1, max_size=4).map(".".join).filter(is_valid)
LISTS = st.lists(PATTERNS, max_size=5).map(tuple)
CROSSING = tuple(".".join(tokens) for tokens in itertools.product("a*", repeat=12))


@settings(deadline=None)
@given(LISTS, st.integers(0, 5))
def test_nested(filters: tuple[str, ...], count: int) -> None:
    expected = any(
        is_subset(inner, outer)
        for (at, inner), (other, outer) in itertools.product(enumerate(filters), repeat=2)
        if at != other and at < count
    )
    assert are_nested(filters, count) is expected


@settings(deadline=None)
@given(LISTS, LISTS)
def test_meet(ours: tuple[str, ...], theirs: tuple[str, ...]) -> None:
    expected = any(collide(our, their) for our, their in itertools.product(ours, theirs))
    assert meet(ours, theirs) is expected


def test_plain_filters_may_be_many() -> None:
    plain = tuple(f"t.{number % 100}.{number}" for number in range(20_000))
    assert not are_nested(plain, len(plain))
    assert are_nested((*plain, "t.*.19999"), len(plain))
    assert not meet(plain, (f"u.{pattern}" for pattern in plain))
    assert meet(plain, ("x", "t.5.*"))


def test_crossing_filters_may_not_be_too_many() -> None:
    apart = [f"{pattern}.{number}" for number, pattern in enumerate(CROSSING)]
    assert STEPS_MAX < 3**12  # the pairs of prefixes that agree
    error = (10052, "consumer subject filters are too many to be compared with each other")
    assert refusal(request(filter_subjects=apart), around()) == error


def test_a_work_queue_with_many_consumers() -> None:
    explicit = {"ack_policy": "explicit"}
    made = config(around(stream=WORKQUEUE), filter_subject="t.x", **explicit)
    others = {
        f"C{number}": config(around(stream=WORKQUEUE), filter_subject=f"t.{number}", **explicit)
        for number in range(1000)
    }
    where = around({"C": made} | others, stream=WORKQUEUE)
    decided(request(filter_subjects=[f"t.y.{at}" for at in range(1000)], **explicit), where, "T.D")
    taken = request(filter_subjects=["t.y", "t.999"], **explicit)
    assert refusal(taken, where, "T.D")[0] == 10100
