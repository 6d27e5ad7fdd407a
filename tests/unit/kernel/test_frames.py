"""Frames by example: what the hub makes of a client's bytes."""

import pytest

from penstock.kernel.hub import Fault, Frame, Hub, Verb
from tests.properties.hub_walk import frames_of, small_hub


def read(hub: Hub, connection: int, data: bytes) -> list[Frame]:
    hub.begin(1)
    assert hub.feed(connection, data) == len(data)
    return frames_of(hub)


def read_one(data: bytes) -> Frame:
    hub = small_hub()
    (frame,) = read(hub, hub.open(0, False), data)
    return frame


@pytest.mark.parametrize(
    ("data", "verb", "fields"),
    [
        (b"PUB a 2\r\nhi\r\n", Verb.PUBLISH, (0, b"a", b"", b"hi")),
        (b"pub\ta  r\t02 \nhi\r\n", Verb.PUBLISH, (0, b"a", b"r", b"hi")),
        (b"PUB a 0\r\n\r\n", Verb.PUBLISH, (0, b"a", b"", b"")),
        (b"PUB a 4\r\n\r\n\r\n\r\n", Verb.PUBLISH, (0, b"a", b"", b"\r\n\r\n")),
        (b"HPUB a r 3 5\r\nHHHhi\r\n", Verb.PUBLISH_WITH_HEADERS, (3, b"a", b"r", b"HHHhi")),
        (b"HPUB a 5 5\r\nHHHHH\r\n", Verb.PUBLISH_WITH_HEADERS, (5, b"a", b"", b"HHHHH")),
        (b"SUB a.* 7\r\n", Verb.SUBSCRIBE, (0, b"a.*", b"", b"7")),
        (b"SUB a.* q 7\r\n", Verb.SUBSCRIBE, (0, b"a.*", b"q", b"7")),
        (b"UNSUB 7\r\n", Verb.UNSUBSCRIBE, (0, b"", b"", b"7")),
        (b"UNSUB 7 5\r\n", Verb.UNSUBSCRIBE, (0, b"", b"5", b"7")),
        (b'CONNECT {"a": 1}\r\n', Verb.CONNECT, (0, b"", b"", b'{"a": 1}')),
        (b"PING\r\n", Verb.PING, (0, b"", b"", b"")),
        (b"PING and more\n", Verb.PING, (0, b"", b"", b"")),
        (b"-ERR 'no'\r\n", Verb.ERR, (0, b"", b"", b"'no'")),
    ],
)
def test_frames(data: bytes, verb: Verb, fields: tuple[int, bytes, bytes, bytes]) -> None:
    frame = read_one(data)
    assert (frame.verb, frame[2:6]) == (verb, fields)


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"\x16\x03\x01", Fault.UNKNOWN_OPERATION),  # TLS on a plain port: at its first byte
        (b"GET / HTTP/1.1\r\n", Fault.UNKNOWN_OPERATION),
        (b"\r\n", Fault.UNKNOWN_OPERATION),
        (b"MSG a 1 0\r\n\r\n", Fault.UNKNOWN_OPERATION),
        (b"PUB\r\n", Fault.UNKNOWN_OPERATION),
        (b"PUB a 2\r\nhi!", Fault.UNKNOWN_OPERATION),  # the payload is longer than it said
        (b"PUB a 2\r\nhi\n", Fault.UNKNOWN_OPERATION),
        (b"PUB a 2\r\nhi\r!", Fault.UNKNOWN_OPERATION),
        (b"PUB a\r\n", Fault.BAD_ARGUMENTS),
        (b"PUB a b c 1\r\n", Fault.BAD_ARGUMENTS),
        (b"PUB a -1\r\n", Fault.BAD_ARGUMENTS),
        (b"PUB a +1\r\n", Fault.BAD_ARGUMENTS),
        (b"PUB a 1_0\r\n", Fault.BAD_ARGUMENTS),
        ("PUB a \u0661\r\n".encode(), Fault.BAD_ARGUMENTS),
        (b"PUB a 0000000001\r\n", Fault.BAD_ARGUMENTS),  # ten digits
        (b"HPUB a 3 2\r\n", Fault.BAD_ARGUMENTS),
        (b"SUB a\r\n", Fault.BAD_ARGUMENTS),
        (b"SUB a q 1 2\r\n", Fault.BAD_ARGUMENTS),
        (b"UNSUB \r\n", Fault.BAD_ARGUMENTS),
        (b"PUB a 4001\r\n", Fault.PAYLOAD_TOO_LARGE),
        (b"PUB a 999999999\r\n", Fault.PAYLOAD_TOO_LARGE),
        (b"SUB " + b"a" * 63 + b" 1\r\n", Fault.CONTROL_LINE_TOO_LONG),
        (b"CONNECT " + b"a" * 66, Fault.CONTROL_LINE_TOO_LONG),  # no need to wait for its end
    ],
)
def test_faults(data: bytes, fault: Fault) -> None:
    frame = read_one(data)
    assert (frame.verb, frame.number) == (Verb.FAULT, fault)


def test_limits_are_inclusive() -> None:
    assert read_one(b"SUB " + b"a" * 62 + b" 1\r\n").verb == Verb.SUBSCRIBE
    assert read_one(b"PUB a 4000\r\n" + b"x" * 4000 + b"\r\n").payload == b"x" * 4000


def test_nothing_is_read_after_a_fault() -> None:
    hub = small_hub()
    connection = hub.open(0, False)
    frames = read(hub, connection, b"PING\r\nnonsense\r\nPING\r\n")
    assert [frame.verb for frame in frames] == [Verb.PING, Verb.FAULT]
    hub.begin(2)
    assert hub.feed(connection, b"PING\r\n") == 0


def test_a_client_that_must_connect_first_is_refused_at_its_first_byte() -> None:
    hub = small_hub()
    (frame,) = read(hub, hub.open(0, True), b"P")
    assert (frame.verb, frame.number) == (Verb.FAULT, Fault.UNKNOWN_OPERATION)
    assert read(hub, hub.open(0, True), b"c") == []


def test_a_large_payload_grows_outside_the_vector() -> None:
    """Far from complete it is only kept; the read that completes it finds it."""
    hub = small_hub(read_bytes_max=100)
    connection = hub.open(0, False)
    assert read(hub, connection, b"PUB a 1098\r\n") == []
    for _ in range(10):
        assert read(hub, connection, b"x" * 100) == []
    (frame,) = read(hub, connection, b"y" * 98 + b"\r\n")
    assert frame.payload == b"x" * 1000 + b"y" * 98


def test_a_hold_takes_back_what_follows() -> None:
    hub = small_hub()
    one, two = hub.open(0, False), hub.open(0, False)
    hub.begin(1)
    hub.feed(one, b"CONNECT {}\r\nPUB a 1\r\nx\r\nPI")
    hub.feed(two, b"PING\r\n")
    hub.hold_after(0)
    assert hub.frame(1) is None
    assert [frame.verb for frame in frames_of(hub)] == [Verb.CONNECT, Verb.PING]
    hub.begin(2)
    assert hub.feed(one, b"NG\r\n") == 0
    assert hub.release(one)
    assert not hub.release(one)
    frames = read(hub, one, b"NG\r\n")
    assert [frame.verb for frame in frames] == [Verb.PUBLISH, Verb.PING]
