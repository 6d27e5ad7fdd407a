"""The session machine: frames in, effects out, no socket in sight."""

import pytest

from penstock.kernel.hub import Fault, Frame, Verb
from penstock.model.errors import Reason
from penstock.wire.connect import Connect
from penstock.wire.effects import (
    Answered,
    Authenticate,
    Close,
    Introduce,
    Publish,
    Send,
    Settle,
    Subscribe,
    Unsubscribe,
    Warn,
)
from penstock.wire.session import Session

PLAIN = b'{"verbose":false,"pedantic":false,"headers":true,"protocol":1}'


def frame(
    verb: Verb,
    subject: bytes = b"",
    reply: bytes = b"",
    payload: bytes = b"",
    *,
    header_bytes: int = 0,
    number: int = 0,
) -> Frame:
    return Frame(verb, 1, header_bytes, subject, reply, payload, number)


def connected(argument: bytes = PLAIN) -> Session:
    session = Session(auth_required=False, headers_offered=True)
    (effect,) = session.apply(frame(Verb.CONNECT, payload=argument))
    assert isinstance(effect, Authenticate)
    list(session.admit(effect.connect))
    return session


def test_somebody_at_a_terminal_is_verbose_and_pedantic_before_connect() -> None:
    session = Session(auth_required=False, headers_offered=True)
    assert tuple(session.apply(frame(Verb.SUBSCRIBE, b"a", payload=b"1"))) == (
        Subscribe(b"a", None, b"1"),  # +OK follows once it was accepted
    )
    assert tuple(session.apply(frame(Verb.PUBLISH, b"a"))) == (Send(b"+OK\r\n"), Publish())
    assert not session.bulk


def test_a_client_that_wants_no_ok_and_no_checks_goes_through_the_bulk_lane() -> None:
    assert connected().bulk
    assert not connected(b'{"verbose":true,"pedantic":false}').bulk
    assert not connected(b'{"verbose":false,"pedantic":true}').bulk


def test_nothing_but_connect_is_heard_before_authentication() -> None:
    session = Session(auth_required=True, headers_offered=True)
    assert tuple(session.apply(frame(Verb.PING))) == (Close(Reason.AUTHENTICATION_FAILURE),)
    unknown = frame(Verb.FAULT, number=Fault.UNKNOWN_OPERATION)
    assert tuple(session.apply(unknown)) == (Close(Reason.AUTHENTICATION_FAILURE),)
    assert tuple(session.apply(frame(Verb.CONNECT, payload=b"{}"))) == (Authenticate(Connect()),)


def test_being_admitted_settles_the_switches_and_says_ok_when_asked_to() -> None:
    session = Session(auth_required=True, headers_offered=True)
    assert tuple(session.admit(Connect(verbose=True))) == (Settle(), Send(b"+OK\r\n"))
    assert tuple(session.admit(Connect(verbose=False))) == (Settle(),)


def test_the_first_pong_after_connect_is_followed_by_info_with_the_account() -> None:
    session = connected()
    assert tuple(session.apply(frame(Verb.PING))) == (Send(b"PONG\r\n"), Introduce())
    assert tuple(session.apply(frame(Verb.PING))) == (Send(b"PONG\r\n"),)


def test_an_old_client_gets_no_second_info() -> None:
    session = connected(b'{"verbose":false,"protocol":0}')
    assert tuple(session.apply(frame(Verb.PING))) == (Send(b"PONG\r\n"),)


def test_a_second_connect_is_refused() -> None:
    (effect,) = connected().apply(frame(Verb.CONNECT, payload=PLAIN))
    assert effect == Close(Reason.SECOND_CONNECT)


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        (b"", Reason.PROTOCOL_VIOLATION),
        (b"{", Reason.PROTOCOL_VIOLATION),
        (b"[]", Reason.PROTOCOL_VIOLATION),
        (b'{"verbose":"yes"}', Reason.PROTOCOL_VIOLATION),
        (b'{"a":' + b"[" * 2000, Reason.PROTOCOL_VIOLATION),
        (b'{"protocol":18446744073709551616}', Reason.PROTOCOL_VIOLATION),
    ],
)
def test_a_bad_connect_closes(argument: bytes, reason: Reason) -> None:
    session = Session(auth_required=False, headers_offered=True)
    (effect,) = session.apply(frame(Verb.CONNECT, payload=argument))
    assert isinstance(effect, Close)
    assert effect.reason is reason


@pytest.mark.parametrize(
    ("connect", "reason"),
    [
        (Connect(protocol=99), Reason.BAD_CLIENT_PROTOCOL),
        (Connect(protocol=-1), Reason.BAD_CLIENT_PROTOCOL),
        (Connect(no_responders=True), Reason.NO_RESPONDERS_REQUIRES_HEADERS),
    ],
)
def test_what_a_client_asks_for_is_checked_after_who_it_is(
    connect: Connect, reason: Reason
) -> None:
    session = Session(auth_required=True, headers_offered=True)
    assert tuple(session.admit(connect)) == (Close(reason),)
    assert not session.authorized


def test_connect_is_read_as_leniently_as_the_reference_does() -> None:
    assert connected(b'{"Verbose":false,"PEDANTIC":false,"name":"\xff"}').bulk
    assert not connected(b"null").bulk


def test_null_in_connect_is_as_good_as_absent() -> None:
    assert connected(b'{"verbose":false,"pedantic":false,"name":null}').bulk


@pytest.mark.parametrize("subject", [b"a..b", b"a.*", b"a.>", b".a", b"a."])
def test_a_pedantic_publisher_hears_of_a_bad_subject_and_stays(subject: bytes) -> None:
    session = connected(b'{"verbose":false,"pedantic":true}')
    assert tuple(session.apply(frame(Verb.PUBLISH, subject))) == (
        Warn(Reason.INVALID_PUBLISH_SUBJECT),
        Publish(),
    )
    assert tuple(session.apply(frame(Verb.PUBLISH, b"a.b"))) == (Publish(),)


def test_headers_from_a_client_that_announced_none_close_it() -> None:
    session = connected(b'{"verbose":false,"pedantic":false,"headers":false}')
    (effect,) = session.apply(frame(Verb.PUBLISH_WITH_HEADERS, b"a", header_bytes=0))
    assert isinstance(effect, Close)


@pytest.mark.parametrize("pattern", [b"a..b", b"a.>.b", b"", b"."])
def test_a_bad_pattern_is_a_warning(pattern: bytes) -> None:
    effects = tuple(connected().apply(frame(Verb.SUBSCRIBE, pattern, payload=b"1")))
    assert effects == (Warn(Reason.INVALID_SUBJECT),)


@pytest.mark.parametrize(
    ("maximum", "parsed"),
    [(b"", 0), (b"5", 5), (b"-5", 0), (b"x", 0), (b"1_0", 0), ("٣".encode(), 0), (b"9" * 10, 0)],
)
def test_unsubscribe_takes_a_maximum_of_plain_digits(maximum: bytes, parsed: int) -> None:
    effects = tuple(connected().apply(frame(Verb.UNSUBSCRIBE, reply=maximum, payload=b"7")))
    assert effects == (Unsubscribe(b"7", parsed),)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault.UNKNOWN_OPERATION, Reason.UNKNOWN_OPERATION),
        (Fault.CONTROL_LINE_TOO_LONG, Reason.CONTROL_LINE_TOO_LONG),
        (Fault.BAD_ARGUMENTS, Reason.PROTOCOL_VIOLATION),
        (Fault.PAYLOAD_TOO_LARGE, Reason.PAYLOAD_TOO_LARGE),
    ],
)
def test_every_fault_of_the_decoder_closes_with_its_reason(fault: Fault, reason: Reason) -> None:
    assert tuple(connected().apply(frame(Verb.FAULT, number=fault))) == (Close(reason),)


def test_verbs_of_a_server_are_ignored_and_err_closes() -> None:
    session = connected()
    assert not tuple(session.apply(frame(Verb.INFO, payload=b"{}")))
    assert not tuple(session.apply(frame(Verb.OK)))
    assert tuple(session.apply(frame(Verb.PONG))) == (Answered(),)
    (effect,) = session.apply(frame(Verb.ERR, payload=b"'x'"))
    assert isinstance(effect, Close)
