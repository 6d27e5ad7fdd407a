"""Patterns compared: checked against all the short subjects there are."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from penstock.streams.subjects import collide, is_literal, is_subset, is_valid, quoted

LITERALS = [
    ".".join(tokens) for size in (1, 2, 3, 4, 5) for tokens in itertools.product("ab", repeat=size)
]
patterns = st.builds(
    lambda tokens, end: ".".join(tokens + end) or "a",
    st.lists(st.sampled_from(["a", "b", "*"]), max_size=4),
    st.sampled_from([[], [">"]]),
)


def matches(pattern: str, subject: str) -> bool:
    head, *tail = pattern.split(".")
    first, *rest = subject.split(".")
    if head == ">":
        return True
    if head not in ("*", first):
        return False
    if not tail or not rest:
        return not tail and not rest
    return matches(".".join(tail), ".".join(rest))


@given(patterns, patterns)
def test_patterns_collide_if_a_subject_matches_both(left: str, right: str) -> None:
    both = any(matches(left, subject) and matches(right, subject) for subject in LITERALS)
    assert collide(left, right) is both
    assert collide(right, left) is both


@given(patterns, patterns)
def test_a_subset_matches_nothing_else(inner: str, outer: str) -> None:
    if is_subset(inner, outer):
        assert all(matches(outer, subject) for subject in LITERALS if matches(inner, subject))
    if is_literal(inner):
        assert is_subset(inner, outer) is matches(outer, inner)


def test_valid_and_literal() -> None:
    assert all(is_valid(pattern) for pattern in ("a", "a.*", "a.>", ">", "*", "$JS.x", "a*.>b"))
    assert not any(is_valid(p) for p in ("", ".", "a.", ".a", "a..b", "a.>.b", "a b", "a.\t", "\n"))
    assert is_literal("a.b*") and not is_literal("a.*") and not is_literal("a..b")


def test_the_empty_filter_meets_only_itself_and_everything() -> None:
    assert collide("", "") and not collide("", "a") and not collide("", "*")
    assert is_subset("", ">") and not is_subset("", "")


def test_quoted() -> None:
    assert quoted('a"b\\c\x01é\u200b') == '"a\\"b\\\\c\\x01é\\u200b"'
