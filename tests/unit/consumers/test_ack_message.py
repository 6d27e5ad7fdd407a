"""What acknowledgements say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.consumers.ack_message import (
    NOWHERE,
    Delivery,
    Verb,
    delay_of,
    parse_ack,
    parse_subject,
    reason_of,
)


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (b"", (Verb.ACK, b"")),
        (b"+ACK", (Verb.ACK, b"")),
        (b"+OK", (Verb.ACK, b"")),
        (b"+ACK ", (Verb.NOTHING, b"")),
        (b"+ack", (Verb.NOTHING, b"")),
        (b"+WPI", (Verb.PROGRESS, b"")),
        (b"+WPI ", (Verb.NOTHING, b"")),
        (b"-NAK", (Verb.NAK, b"")),
        (b"-NAK 1s", (Verb.NAK, b" 1s")),
        (b"+NXT5", (Verb.NEXT, b"5")),
        (b"+TERM why", (Verb.TERM, b" why")),
    ],
)
def test_payloads(payload: bytes, expected: tuple[Verb, bytes]) -> None:
    assert parse_ack(payload) == expected


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (b"$JS.ACK.T.C.1.22.3.4.5", Delivery(22, 3, 1)),
        (b"$JS.ACK._.hash.T.C.1.22.3.4.5", Delivery(22, 3, 1)),
        (b"$JS.ACK._.hash.T.C.1.22.3.4.5.more", Delivery(22, 3, 1)),
        (b"$JS.ACK.T.C.x.22.-3.4.5", Delivery(22, NOWHERE, NOWHERE)),
        (b"$JS.ACK.T.C.1.\xd9\xa3.3.4.5", Delivery(NOWHERE, 3, 1)),
        (b"$JS.ACK.T.C.1.22.3.4", None),
        (b"$JS.ACK.T.C.1.22.3.4.5.6", None),
    ],
)
def test_subjects(subject: bytes, expected: Delivery | None) -> None:
    assert parse_subject(subject) == expected


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        (b"", None),
        (b"  ", None),
        (b" 200ms", 200_000_000),
        (b'{"delay":5}', 5),
        (b' {"Delay": 5, "other": 1}', 5),
        (b"{}", 0),
        (b'{"delay":null}', 0),
        (b'{"delay":"5"}', None),
        (b'{"delay":1.5}', None),
        (b'{"delay":9223372036854775808}', None),
        (b"{", None),
        (b"soon", None),
        (b"-1s", -1_000_000_000),
    ],
)
def test_delays(rest: bytes, expected: int | None) -> None:
    assert delay_of(rest) == expected


def test_reasons_are_trimmed() -> None:
    assert reason_of(b"  no such thing \n") == "no such thing"


@given(st.binary(), st.binary())
def test_no_input_raises(subject: bytes, payload: bytes) -> None:
    parse_subject(b"$JS.ACK.T.C." + subject)
    _, rest = parse_ack(payload)
    delay_of(rest)
    reason_of(rest)
