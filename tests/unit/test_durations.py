"""Go's duration text, with the corners Go itself tests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.durations import duration_ns


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("2s", 2_000_000_000),
        ("500ms", 500_000_000),
        ("1h30m", 5_400_000_000_000),
        ("1.5s", 1_500_000_000),
        (".5s", 500_000_000),
        ("1.s", 1_000_000_000),
        ("0.1s", 100_000_000),
        ("1h2m3s4ms5us6ns", 3_723_004_005_006),
        ("1µs", 1_000),
        ("-2s", -2_000_000_000),
        ("+2s", 2_000_000_000),
        ("2562047h47m16.854775807s", 2**63 - 1),
        ("2562047h47m16.854775808s", None),
        ("99999999999999999999h", None),
        ("", None),
        ("-", None),
        ("2", None),
        ("s", None),
        (".s", None),
        ("2x", None),
        ("2s3", None),
        ("2 s", None),
        ("٢s", None),
    ],
)
def test_durations(text: str, expected: int | None) -> None:
    assert duration_ns(text) == expected


@given(st.integers(0, 2**63 - 1))
def test_nanoseconds_round_trip(value_ns: int) -> None:
    seconds, rest_ns = divmod(value_ns, 1_000_000_000)
    assert duration_ns(f"{seconds}.{rest_ns:09}s") == value_ns
    assert duration_ns(f"{seconds}s{rest_ns}ns") == value_ns


@given(st.text())
def test_any_text_is_a_duration_or_not(text: str) -> None:
    assert duration_ns(text) is None or isinstance(duration_ns(text), int)
