"""The duplicate window."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.storage.store import HeaderColumn
from penstock.streams.dedup import DedupWindow
from tests.unit.streams.model_store import packed


def test_an_id_is_known_as_long_as_the_window() -> None:
    window = DedupWindow(100)
    window.remember([b"a"], 7, now_ns=1000)
    assert window.find(b"a", 1100) == 7
    assert window.find(b"a", 1101) is None
    assert len(window) == 0


def test_a_run_is_new_only_if_every_id_is_and_none_comes_twice() -> None:
    window = DedupWindow(100)
    window.remember([b"a", b"b"], 1, now_ns=0)
    assert window.all_new([b"c", b"d"], 0)
    assert not window.all_new([b"c", b"b"], 0)
    assert not window.all_new([b"c", b"c"], 0)


def test_ids_of_a_run_get_rising_sequences_and_empty_ones_none() -> None:
    window = DedupWindow(100)
    window.remember([b"a", b"", b"c"], 5, now_ns=0)
    assert (window.find(b"a", 0), window.find(b"c", 0), window.find(b"", 0)) == (5, 7, None)


def test_an_id_that_comes_again_after_the_window_starts_a_new_one() -> None:
    window = DedupWindow(100)
    window.remember([b"a"], 1, now_ns=0)
    assert window.find(b"a", 150) is None
    window.remember([b"a"], 2, now_ns=150)
    assert window.find(b"a", 250) == 2


def test_without_a_window_nothing_is_remembered() -> None:
    window = DedupWindow(0)
    window.remember([b"a"], 1, now_ns=0)
    assert window.find(b"a", 0) is None


def test_ids_of_stored_messages_have_times_of_their_own() -> None:
    window = DedupWindow(100)
    window.remember_column(packed([(3, 1000, b"a"), (5, 1050, b""), (9, 1060, b"b")]))
    assert (window.find(b"a", 1100), window.find(b"b", 1100)) == (3, 9)
    assert (window.find(b"a", 1101), window.find(b"b", 1160)) == (None, 9)
    assert window.newest() == (9, b"b")


def test_of_two_messages_with_one_id_the_later_counts_and_stays() -> None:
    window = DedupWindow(100)
    window.remember_column(packed([(1, 1000, b"a"), (2, 1000, b"b"), (3, 1090, b"a")]))
    assert window.find(b"a", 1100) == 3
    assert window.find(b"a", 1190) == 3
    assert (window.find(b"b", 1190), window.find(b"a", 1191)) == (None, None)


def test_an_empty_window_has_no_newest_id() -> None:
    assert DedupWindow(100).newest() == (0, b"")


def test_a_column_that_does_not_fit_together_is_refused() -> None:
    column = packed([(1, 0, b"abc")])
    with pytest.raises(ValueError, match="do not fit"):
        DedupWindow(100).remember_column(column._replace(values=b"ab"))
    with pytest.raises(ValueError, match="do not fit"):
        DedupWindow(100).remember_column(column._replace(sequences=b""))
    with pytest.raises(ValueError, match="do not fit"):
        DedupWindow(100).remember_column(HeaderColumn(b"", b"1234", b"", b"", None))


IDS = st.binary(max_size=3)


@given(st.lists(st.one_of(st.lists(IDS, max_size=5), st.integers(0, 60))))
def test_the_window_is_a_list_of_what_came_lately(steps: list[list[bytes] | int]) -> None:
    window, now_ns, came = DedupWindow(100), 1000, list[tuple[bytes, int, int]]()

    def known(message_id: bytes) -> int | None:
        found = [n for other, n, time_ns in came if other == message_id and time_ns >= now_ns - 100]
        return found[-1] if found else None

    for step in steps:
        if isinstance(step, int):
            now_ns += step
            continue
        is_new = len(set(step)) == len(step) and all(known(one) is None for one in step)
        assert window.all_new(step, now_ns) == is_new
        first = len(came) + 1
        window.remember(step, first, now_ns)
        came += [(one, n, now_ns if one else -1) for n, one in enumerate(step, first)]
        assert [window.find(one, now_ns) for one in step] == [known(one) for one in step]
