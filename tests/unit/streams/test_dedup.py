"""The duplicate window."""

from penstock.streams.dedup import DedupWindow


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
