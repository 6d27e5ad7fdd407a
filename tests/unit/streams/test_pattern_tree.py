"""The tree of patterns answers as comparing each with each does."""

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.streams import subjects
from penstock.streams.pattern_tree import PatternTree

TOKENS = st.sampled_from(["a", "b", "*", ">"])
PATTERNS = st.lists(TOKENS, min_size=1, max_size=4).map(".".join).filter(subjects.is_valid)


@settings(deadline=None)
@given(st.lists(PATTERNS, min_size=1, max_size=6), PATTERNS)
def test_as_each_with_each(patterns: list[str], pattern: str) -> None:
    expected = sum(subjects.collide(pattern, other) for other in patterns) >= 2
    assert PatternTree(patterns).collides_twice(pattern) == expected
