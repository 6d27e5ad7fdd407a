"""Subject transforms by example; the reference's answers are in the parity tests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.streams.transforms import MappingError, compiled, fnv1a, spread, validated


@pytest.mark.parametrize(
    ("source", "destination", "subject", "outcome"),
    [
        ("orders.*", "shop.$1.new", "orders.7", "shop.7.new"),
        ("orders.*", "shop.$1.new", "orders.7.8", None),
        ("*.*", "{{wildcard(2)}}.{{wildcard(1)}}", "a.b", "b.a"),
        ("a.>", "b.c.>", "a.x.y", "b.c.x.y"),
        ("a.>", "b.>", "a", None),
        ("", "all.>", "x.y", "all.x.y"),
        ("a.*.>", "$1.>", "a.b.c.d", "b.c.d"),
        ("a", "b", "a", "b"),
        ("a.*", "b.{{partition(10,1)}}", "a.foo", "b.3"),
        ("a.*", "b.{{split(1,-)}}", "a.x-y--z", "b.x.y.z"),
        ("a.*", "b.{{splitfromleft(1,2)}}", "a.12345", "b.12.345"),
        ("a.*", "b.{{splitfromright(1,2)}}", "a.12345", "b.123.45"),
        ("a.*", "b.{{slicefromleft(1,2)}}", "a.12345", "b.12.34.5"),
        ("a.*", "b.{{slicefromright(1,2)}}", "a.12345", "b.1.23.45"),
        ("a.*", "b.{{left(1,2)}}", "a.12345", "b.12"),
        ("a.*", "b.{{right(1,2)}}", "a.12345", "b.45"),
        ("a.*", "b.{{right(1,9)}}", "a.12345", "b.12345"),
        ("a.*", "b.$x", "a.1", "b.$x"),
    ],
)
def test_apply(source: str, destination: str, subject: str, outcome: str | None) -> None:
    transform = compiled(source, destination)
    assert transform is not None
    applied = transform.apply(subject.encode())
    assert (applied and applied.decode()) == outcome


def test_no_destination_is_no_transform() -> None:
    assert compiled("a", "") is None


@pytest.mark.parametrize(
    ("destination", "reason"),
    [
        ("b.*", "invalid subject"),
        ("b.>", "invalid subject"),
        ("b..c", "invalid mapping destination: invalid transform"),
        ("b.$2", "invalid mapping destination: wildcard index out of range in $2: [2]"),
        ("b.{{no(1)}}", "invalid mapping destination: unknown function in {{no(1)}}"),
        (
            "b.{{left(1)}}",
            "invalid mapping destination: not enough arguments passed to the function"
            " in {{left(1)}}",
        ),
        (
            "b.{{left(1,2,3)}}",
            "invalid mapping destination: too many arguments passed to the function"
            " in {{left(1,2,3)}}",
        ),
        (
            "b.{{left(1,x)}}",
            "invalid mapping destination: function argument is invalid or in the wrong format"
            " in {{left(1,x)}}",
        ),
    ],
)
def test_what_makes_no_transform(destination: str, reason: str) -> None:
    with pytest.raises(MappingError) as caught:
        validated("a.*", destination)
    assert str(caught.value) == reason


def test_random_takes_its_chance_from_outside() -> None:
    transform = compiled("a", "b.{{random(5)}}", draw=lambda limit: limit - 1)
    assert transform is not None
    assert transform.apply(b"a") == b"b.4"


def test_random_without_chance_is_even() -> None:
    draw = spread()
    drawn = [draw(5) for _ in range(1000)]
    assert set(drawn) == set(range(5))
    assert all(190 <= drawn.count(number) <= 210 for number in range(5))


def test_the_hash_of_partitions() -> None:
    """Vectors of the hash's authors."""
    assert fnv1a(b"") == 0x811C9DC5
    assert fnv1a(b"a") == 0xE40C292C
    assert fnv1a(b"foobar") == 0xBF9CF968


FUNCTIONS = [f"{{{{{name}(1,2)}}}}" for name in ("left", "right", "slicefromleft", "split")]


@given(st.binary(max_size=30), st.sampled_from(["$1", "{{partition(3)}}", *FUNCTIONS]))
def test_applying_never_fails(subject: bytes, token: str) -> None:
    transform = compiled("*.>", f"b.{token}.>")
    assert transform is not None
    transform.apply(subject)
