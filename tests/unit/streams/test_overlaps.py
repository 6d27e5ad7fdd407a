"""Many patterns against many: as comparing each with each, plain ones without a bound, and what
would keep the others waiting is refused in words that say what to do."""

import itertools
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.model.api_errors import ApiError
from penstock.streams import overlaps
from penstock.streams.overlaps import STEPS_MAX, Steps, are_nested, crossing, first_meeting, meet
from penstock.streams.subjects import collide, is_subset, is_valid
from tests.unit.streams.configs import create, refusal, update, update_refusal

TOKENS = st.sampled_from(("a", "b", "*", ">"))
PATTERNS = st.lists(TOKENS, min_size=1, max_size=4).map(".".join).filter(is_valid)
LISTS = st.lists(PATTERNS, max_size=5).map(tuple)
TEXTS = st.text("a*>.", max_size=6)  # patterns or not
SIDE = 1000
ROWS = [f"c.{number}.*.x" for number in range(SIDE)]
COLUMNS = [f"c.*.{number}.y" for number in range(SIDE)]  # each like each row, but for the end
LAID_OUT_TO_CROSS = ROWS + COLUMNS
WORDS = "cross too often to be compared: use fewer wildcards"
TOO_MUCH = (10052, f"subjects of the stream {WORDS}")


@settings(deadline=None)
@given(LISTS, st.integers(0, 5))
def test_nested(patterns: tuple[str, ...], count: int) -> None:
    expected = any(
        is_subset(inner, outer)
        for (at, inner), (other, outer) in itertools.product(enumerate(patterns), repeat=2)
        if at != other and at < count
    )
    assert are_nested(patterns, count, crossing("these")) is expected


@pytest.mark.parametrize("few", [0, overlaps.FEW])
@settings(deadline=None)
@given(ours=st.lists(TEXTS, max_size=5), theirs=st.lists(TEXTS, max_size=5))
def test_meet(few: int, ours: list[str], theirs: list[str]) -> None:
    expected = any(collide(our, their) for our, their in itertools.product(ours, theirs))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlaps, "FEW", few)
        assert meet(ours, theirs, crossing("these")) is expected


@settings(deadline=None)
@example(("b", "a.>"), ["a.>.b"])
@example(("a.>",), ["*.*."])
@given(LISTS, st.lists(TEXTS, max_size=3))
def test_first_meeting(valid: tuple[str, ...], others: list[str]) -> None:
    patterns = [*valid, *others]
    expected = (
        at
        for at, pattern in enumerate(valid)
        if any(collide(pattern, other) for other in patterns[:at] + patterns[at + 1 :])
    )
    assert first_meeting(patterns, len(valid), crossing("these")) == next(expected, None)


def test_plain_patterns_may_be_many() -> None:
    plain = [f"t.{number % 100}.{number}.a.b.c" for number in range(40_000)]
    assert 4 * overlaps.STEPS_FOR_A_NODE * len(plain) > STEPS_MAX  # so the bound is beside that
    every = (*plain, "u.*")
    assert not are_nested(every, len(every), crossing("these"))
    assert are_nested((*plain, "t.*.39999.a.b.c"), len(plain), crossing("these"))
    assert first_meeting(every, len(every), crossing("these")) is None
    assert first_meeting((*every, "u.x"), len(every), crossing("these")) == len(plain)
    assert not meet(plain, [f"u.{number}.*" for number in range(40_000)], crossing("these"))


def test_wildcards_that_do_not_cross_may_be_many() -> None:
    subjects = [f"t.{number}.*.>" for number in range(10_000)]
    made = create(subjects=subjects)
    create(made, name="O", subjects=[f"t.*.{number}" for number in range(10)])
    transforms = [{"src": f"t.{number}.*", "dest": f"d.{number}.$1"} for number in range(10_000)]
    create(subjects=[], mirror={"name": "O", "subject_transforms": transforms})
    create(sources=[{"name": "O", "subject_transforms": transforms}])


def test_each_wildcard_may_cross_a_few_others() -> None:
    create(subjects=ROWS[:200] + COLUMNS[:200])


def test_subjects_that_cross_too_often_are_refused() -> None:
    assert refusal(subjects=LAID_OUT_TO_CROSS) == TOO_MUCH
    assert update_refusal(create(subjects=["c"]), subjects=LAID_OUT_TO_CROSS) == TOO_MUCH
    deep = [".".join(tokens) for tokens in itertools.product("a*", repeat=12)]
    assert refusal(subjects=[f"{pattern}.{at}" for at, pattern in enumerate(deep)]) == TOO_MUCH


def test_what_is_wrong_with_the_first_subject_is_told_before() -> None:
    assert refusal(subjects=["$JS.>", *LAID_OUT_TO_CROSS])[1].endswith("no-ack to be true")
    assert refusal(subjects=["a..b", *LAID_OUT_TO_CROSS]) == (10052, "invalid subject")
    twice = ["a.b", "a.b", *LAID_OUT_TO_CROSS]
    assert refusal(subjects=twice) == (10052, 'subject "a.b" overlaps with "a.b"')


def test_subjects_that_cross_those_of_others_too_often_are_refused() -> None:
    others = create(name="O", subjects=ROWS)
    words = f"subjects of the stream and those of others {WORDS}"
    assert refusal(others, subjects=COLUMNS) == (10052, words)
    assert refusal(others, subjects=[*COLUMNS, "c.7.7.x"]) == (10052, words)
    assert refusal(others, subjects=["c.7.7.x"])[0] == 10065
    create(others, subjects=COLUMNS[:10])


@pytest.mark.parametrize("kind", ["mirror", "sources"])
def test_transforms_that_cross_too_often_are_refused(kind: str) -> None:
    crossing_sources = [".".join(tokens) for tokens in itertools.product("a*", repeat=12)]
    transforms = [{"src": f"{src}.{at}"} for at, src in enumerate(crossing_sources)]
    origin: Any = {"name": "O", "subject_transforms": transforms}
    fields = {kind: origin if kind == "mirror" else [origin]}
    assert refusal(**fields) == (10052, f"subject transforms {WORDS}")


def test_all_sources_of_a_request_have_one_bound() -> None:
    part = [".".join(tokens) for tokens in itertools.product("a*", repeat=8)]
    transforms = [{"src": f"{src}.{at}"} for at, src in enumerate(part)]
    create(sources=[{"name": "O", "subject_transforms": transforms}])
    sources = [{"name": f"O{at}", "subject_transforms": transforms} for at in range(100)]
    assert refusal(sources=sources) == (10052, f"subject transforms {WORDS}")


def test_ways_between_streams_are_counted() -> None:
    """Two sources from each stream to the next are two ways, and they multiply."""
    twice = [{"filter_subject": "a"}, {"filter_subject": "b"}]
    chain = [
        create(name=f"S{at}", sources=[{"name": f"S{at + 1}", **source} for source in twice])
        for at in range(30)
    ]
    create(*chain[-5:], sources=[{"name": "S25", **source} for source in twice])
    words = "sources reach the same streams in too many ways: use fewer sources"
    sources = [{"name": "S0", **source} for source in twice]
    assert refusal(*chain, sources=sources) == (10052, words)


def test_many_sources_of_one_stream_are_two_ways_to_it() -> None:
    filters = [{"filter_subject": f"a.{at}"} for at in range(2000)]
    last = create(name="B", sources=[{"name": "C", **source} for source in filters])
    create(last, sources=[{"name": "B", **source} for source in filters])


def test_two_ways_to_one_stream_may_count_as_a_cycle() -> None:
    """As the reference has it: the second time, `E` is known when `D` is looked at."""
    first = create(name="D", sources=[{"name": "E"}])
    middle = create(name="C", sources=[{"name": "D"}, {"name": "E"}])
    around = (first, middle, create(name="E", subjects=["e"]))
    create(*around, sources=[{"name": "C", "filter_subject": "a"}])
    twice = [{"name": "C", "filter_subject": at} for at in "ab"]
    assert refusal(*around, sources=twice) == (10052, "detected cycle")


def test_sources_that_lead_back_take_only_what_the_subjects_do_not_match() -> None:
    other = create(name="O", subjects=["o.>"], sources=[{"name": "T", "filter_subject": "t.1"}])
    back = [{"name": "O", "filter_subject": f"o.{at}"} for at in range(5)]
    create(other, subjects=["t.>"], sources=back)
    loop = create(name="O", subjects=["t.*"], sources=[{"name": "T", "filter_subject": "t.1"}])
    assert refusal(loop, sources=back) == (10052, "detected cycle")


def test_an_old_stream_that_crosses_too_often_can_still_be_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(overlaps, "STEPS_MAX", 10 * SIDE**2)
    other = create(name="O", subjects=["c.*.*.z"])
    old = create(other, subjects=LAID_OUT_TO_CROSS)
    monkeypatch.undo()
    assert update(old, other, subjects=LAID_OUT_TO_CROSS, max_msgs=5).max_msgs == 5
    assert update_refusal(old, subjects=[*LAID_OUT_TO_CROSS, "d"]) == TOO_MUCH
    assert len(update(old, subjects=ROWS).subjects) == SIDE


def test_steps_that_do_not_grow_end() -> None:
    steps = Steps("enough", grows=False)
    with pytest.raises(ApiError, match="enough"):
        for _ in range(STEPS_MAX):
            meet(ROWS[:10], COLUMNS[:10], steps)
