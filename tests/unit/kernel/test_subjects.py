"""Subjects by example: what is valid, and what matches what."""

import pytest

from penstock.kernel.hub import SubjectIndex, is_valid_literal, is_valid_pattern


@pytest.mark.parametrize(
    ("subject", "pattern", "literal"),
    [
        (b"orders.new", True, True),
        (b"orders.*", True, False),
        (b"orders.>", True, False),
        (b">", True, False),
        (b"orders*", True, True),  # a star inside a token is a letter like any other
        (b"ord>ers.x", True, True),
        ("bestellung.größe".encode(), True, True),
        (b"\xff\x00", True, True),  # bytes, not text
        (b"orders.>.new", False, False),
        (b"orders..new", False, False),
        (b".orders", False, False),
        (b"orders.", False, False),
        (b"", False, False),
        (b"or ders", False, False),
        (b"or\tders", False, False),
    ],
)
def test_what_is_valid(subject: bytes, pattern: bool, literal: bool) -> None:
    assert is_valid_pattern(subject) == pattern
    assert is_valid_literal(subject) == literal


@pytest.mark.parametrize(
    ("pattern", "subject", "heard"),
    [
        (b"a.b", b"a.b", True),
        (b"a.b", b"a.B", False),
        (b"a.*", b"a.b", True),
        (b"a.*", b"a", False),
        (b"a.*", b"a.b.c", False),
        (b"*.b", b"a.b", True),
        (b"a.>", b"a.b.c", True),
        (b"a.>", b"a", False),  # one token at least
        (b">", b"a", True),
        (b"a.*", b"a.*", True),  # what is published is literal
        (b"a.b", b"a.*", False),
        (b"a.*", b"a.", False),  # an empty token is heard by nobody
        (b">", b"a..b", False),
    ],
)
def test_what_matches(pattern: bytes, subject: bytes, heard: bool) -> None:
    index = SubjectIndex()
    assert index.insert(pattern, 1)
    assert index.find(subject) == ([1] if heard else [])


def test_an_index_counts_and_forgets() -> None:
    index = SubjectIndex()
    assert index.insert(b"a.>", 1)
    assert index.insert(b"a.>", 1)  # twice is two
    assert not index.insert(b"a..b", 2)
    assert len(index) == 2
    assert index.remove(b"a.>", 1)
    assert not index.remove(b"a.*", 1)
    assert index.find(b"a.b") == [1]
    assert index.remove(b"a.>", 1)
    assert not index.remove(b"a.>", 1)
    assert len(index) == 0
