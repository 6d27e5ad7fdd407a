"""Headers as bytes: what is not touched stays as it is."""

import pytest

from penstock.streams import headers

BLOCK = b"NATS/1.0\r\nA: 1\r\nNats-Msg-Id:x y \r\na: 2\r\nA: 3\r\n\r\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (b"A", b"1"),  # the first of several
        (b"a", b"2"),  # names are compared exactly
        (b"Nats-Msg-Id", b"x y "),  # blanks before the value do not count
        (b"Nats-Msg", None),  # a prefix is another name
        (b"1", None),
    ],
)
def test_find(name: bytes, value: bytes | None) -> None:
    assert headers.find(BLOCK, name) == value


def test_find_in_nothing() -> None:
    assert headers.find(b"", b"A") is None


def test_remove_takes_every_header_of_that_name() -> None:
    assert headers.remove(BLOCK, b"A") == b"NATS/1.0\r\nNats-Msg-Id:x y \r\na: 2\r\n\r\n"
    assert headers.remove(b"NATS/1.0\r\nA: 1\r\n\r\n", b"A") == b""
    assert headers.remove(BLOCK, b"B") == BLOCK


def test_add_puts_a_header_last() -> None:
    assert headers.add(b"", b"A", b"1") == b"NATS/1.0\r\nA: 1\r\n\r\n"
    once = headers.add(b"NATS/1.0\r\nA: 1\r\n\r\n", b"B", b"2")
    assert once == b"NATS/1.0\r\nA: 1\r\nB: 2\r\n\r\n"


@pytest.mark.parametrize("end", [b"\r\n", b""])
def test_what_is_added_begins_a_line_of_its_own(end: bytes) -> None:
    added = headers.add(b"NATS/1.0\r\nA: 1" + end, b"B", b"2")
    assert added == b"NATS/1.0\r\nA: 1\r\nB: 2\r\n\r\n"
    assert headers.add(b"NATS/1.0" + end, b"B", b"2") == b"NATS/1.0\r\nB: 2\r\n\r\n"


def test_put_takes_the_place_of_a_value() -> None:
    block = b"NATS/1.0\r\nA: 1\rx\r\nB:2"
    assert headers.put(block, b"A", b"3") == b"NATS/1.0\r\nA: 3\r\nB:2"
    assert headers.put(block, b"B", b"3") == b"NATS/1.0\r\nA: 1\rx\r\nB:3"
    assert headers.put(block, b"C", b"3") == block + b"\r\nC: 3\r\n\r\n"


@pytest.mark.parametrize(
    ("block", "stored"),
    [
        (b"NATS/1.0\r\nA: b\r\n\r\n", b"NATS/1.0\r\nA: b\r\n\r\n"),
        (b"NATS/1.0 503 Text\r\nA: b\r\n\r\n", b"NATS/1.0\r\nA: b\r\n\r\n"),
        (b"NATS/1.0 503\r\n\r\n", b""),
        (b"NATS/1.0503\r\n\r\n", b""),
        (b"NATS/1.0 \r\n\r\n", b""),
        (b"NATS/1.0\r\n\r\n", b"NATS/1.0\r\n\r\n"),  # no status: nothing is taken away
        (b"NATS/1.0", b"NATS/1.0"),
        (b"NATS/1.0 503 Text", b"NATS/1.0 503 Text"),  # without an end
        (b"NATS/1.0 503\rX\r\n\r\n", b"NATS/1.0\rX\r\n\r\n"),
        (b"NATS/1.1 500\r\n\r\n", b"NATS/1.1 500\r\n\r\n"),
        (b"", b""),
    ],
)
def test_a_status_is_not_stored(block: bytes, stored: bytes) -> None:
    assert headers.without_status(block) == stored
