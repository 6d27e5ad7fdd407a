"""Validity and matching: the kernel against the definition."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import hub as kernel
from tests.properties import model_subjects as model

TOKENS = st.sampled_from([b"a", b"b", b"cc", b"*", b">", b"", b"*a", b"a>", b"\xff", b"a b"])
SUBJECTS = st.lists(TOKENS, min_size=1, max_size=5).map(b".".join)
NOISE = st.binary(max_size=12) | st.text(". *>\t\r\n\x0c\x0bab", max_size=8).map(str.encode)


@given(SUBJECTS | NOISE)
def test_validity(subject: bytes) -> None:
    assert kernel.is_valid_pattern(subject) == model.is_valid_pattern(subject)
    assert kernel.is_valid_literal(subject) == model.is_valid_literal(subject)


@given(SUBJECTS.filter(model.is_valid_pattern), SUBJECTS)
def test_one_pattern_and_one_subject(pattern: bytes, subject: bytes) -> None:
    index = kernel.SubjectIndex()
    assert index.insert(pattern, 7)
    assert index.find(subject) == ([7] if model.matches(pattern, subject) else [])


ACTIONS = st.lists(st.tuples(st.booleans(), SUBJECTS, st.integers(0, 3)), max_size=30)


@given(ACTIONS, st.lists(SUBJECTS, min_size=1, max_size=5))
def test_an_index_is_a_list_of_patterns(
    actions: list[tuple[bool, bytes, int]], subjects: list[bytes]
) -> None:
    index = kernel.SubjectIndex()
    rows: list[tuple[bytes, int]] = []
    for adds, pattern, number in actions:
        row = (pattern, number)
        if adds:
            assert index.insert(pattern, number) == model.is_valid_pattern(pattern)
            rows += [row] if model.is_valid_pattern(pattern) else []
        else:
            assert index.remove(pattern, number) == (row in rows)
            if row in rows:
                rows.remove(row)
        assert len(index) == len(rows)
        for subject in subjects:
            found = [number for pattern, number in rows if model.matches(pattern, subject)]
            assert sorted(index.find(subject)) == sorted(found), subject
