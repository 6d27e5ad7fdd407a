"""What the trace log shows of a frame."""

import pytest

from penstock.kernel.hub import Frame, Verb
from penstock.wire.trace import describe


@pytest.mark.parametrize(
    ("frame", "shown"),
    [
        (Frame(Verb.PING, 1, 0, b"", b"", b"", 0), "[PING]"),
        (Frame(Verb.PUBLISH, 1, 0, b"a", b"r", b"hi", 0), "[PUB a r 2] b'hi'"),
        (Frame(Verb.SUBSCRIBE, 1, 0, b"a.*", b"q", b"7", 0), "[SUB a.* q 7]"),
        (Frame(Verb.UNSUBSCRIBE, 1, 0, b"", b"5", b"7", 0), "[UNSUB 7 5]"),
        (Frame(Verb.SUBSCRIBE, 1, 0, b"\xff", b"", b"1", 0), "[SUB \\xff 1]"),
    ],
)
def test_a_frame_reads_as_its_line(frame: Frame, shown: str) -> None:
    assert describe(frame) == shown


@pytest.mark.parametrize(
    "argument",
    [
        b'{"user":"a","pass":"s3cret"}',
        b'{"auth_token": "s3cret","verbose":false}',
        b'{"PASS":"s3\\"s3cret"}',
        b'{"sig":"s3cret","jwt":"s3cret"}',
        b'{"pass":"s3cret',
    ],
)
def test_secrets_are_never_shown(argument: bytes) -> None:
    shown = describe(Frame(Verb.CONNECT, 1, 0, b"", b"", argument, 0))
    assert "s3cret" not in shown
    assert "[REDACTED]" in shown
