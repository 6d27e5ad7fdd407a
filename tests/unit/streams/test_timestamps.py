"""Moments keep their nanoseconds and have one spelling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.timestamps import canonical, rfc3339, unix_ns

YEAR_9999_NS = 253_402_300_799_999_999_999


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("2024-01-01T00:00:00.100Z", "2024-01-01T00:00:00.1Z"),
        ("2024-01-01T00:00:00.000Z", "2024-01-01T00:00:00Z"),
        ("2024-01-01T00:00:00.1234567899Z", "2024-01-01T00:00:00.123456789Z"),
        ("2024-01-01T00:00:00-00:00", "2024-01-01T00:00:00Z"),
        ("2024-01-01T00:00:00+02:30", "2024-01-01T00:00:00+02:30"),
        ("2024-02-29T23:59:59Z", "2024-02-29T23:59:59Z"),
        ("2023-02-29T00:00:00Z", None),
        ("2024-01-01T24:00:00Z", None),
        ("2024-01-01T00:00:60Z", None),
        ("2024-01-01T00:00:00", None),
        ("2024-01-01T00:00:00+24:00", None),
        ("2024-01-01 00:00:00Z", None),
        ("٢٠٢٤-01-01T00:00:00Z", None),
        ("", None),
    ],
)
def test_canonical(text: str, kept: str | None) -> None:
    assert canonical(text) == kept


def test_unix_ns() -> None:
    assert unix_ns("1970-01-01T00:00:00.000000001Z") == 1
    assert unix_ns("1970-01-01T02:00:00+02:00") == 0
    assert unix_ns("1969-12-31T23:59:59.5Z") == -500_000_000


@given(st.integers(min_value=-62_135_596_800_000_000_000, max_value=YEAR_9999_NS))
def test_there_and_back(time_ns: int) -> None:
    text = rfc3339(time_ns)
    assert canonical(text) == text
    assert unix_ns(text) == time_ns
