"""Which checks a message meets depends on its headers; what they say must not."""

import itertools

import pytest

from penstock.kernel.storage import Blocks
from penstock.model.api_errors import ApiError
from penstock.storage.block_store import BlockStore
from penstock.streams import admission
from penstock.streams.admission import Check, Duplicate, Message, Stored, admit
from penstock.streams.stream import Stream
from tests.unit.streams.configs import create

LINES = {
    b"Nats-Incr": (b"+1", b"x", b""),
    b"Nats-Expected-Stream": (b"T", b"OTHER", b""),
    b"Nats-TTL": (b"1", b"x", b""),
    b"Nats-Expected-Last-Subject-Sequence": (b"0", b"1", b"x", b""),
    b"Nats-Expected-Last-Subject-Sequence-Subject": (b"t.b", b""),
    b"Nats-Expected-Last-Sequence": (b"1", b"7", b""),
    b"Nats-Schedule": (b"@at", b""),
    b"Nats-Scheduler": (b"me", b""),
    b"Nats-Stream-Source": (b"me", b""),
    b"Nats-Msg-Id": (b"known", b"new", b""),
    b"Nats-Expected-Last-Msg-Id": (b"known", b"other", b""),
    b"Nats-Rollup": (b"sub", b"x", b""),
    b"Nats-Batch-Id": (b"one", b""),
    b"Nats-Unknown": (b"one",),
    b"Other": (b"one",),
}
VALUES = [(name, value) for name, values in LINES.items() for value in values]
KNOWN = b"NATS/1.0\r\nNats-Msg-Id: known\r\n\r\n"


def seen(**fields: object) -> Stored:
    stream = Stream(create(subjects=["t.>"], **fields), BlockStore(Blocks.in_memory("T"), None), 0)
    stream.publish(b"t.a", b"" if "allow_msg_counter" in fields else KNOWN, b"x", 1)
    return stream.view(b"t.a")


def answered(checks: list[Check], stored: Stored, message: Message) -> object:
    for check in checks:
        if (refusal := check(stored, message)) is not None:
            return refusal.shown() if isinstance(refusal, ApiError) else refusal
    return None


STREAMS = [
    seen(),
    seen(allow_rollup_hdrs=True, allow_msg_ttl=True),
    seen(allow_msg_counter=True),
    seen(discard="new", max_msgs=1),
]


@pytest.mark.parametrize("stored", STREAMS, ids=range(len(STREAMS)))
def test_checks_that_are_left_out_have_nothing_to_say(stored: Stored) -> None:
    every = [check for _, check in (*admission._ALWAYS, *admission._KEPT)]
    for pair in (*((one,) for one in VALUES), *itertools.permutations(VALUES, 2)):
        lines = b"".join(b"%s: %s\r\n" % one for one in pair)
        message = Message(b"t.a", b"NATS/1.0\r\n" + lines + b"\r\n", b"", 2)
        found = admit(stored, message)
        shown = found.shown() if isinstance(found, ApiError) else found
        assert shown == answered(every, stored, message), lines


def test_every_check_that_reads_headers_is_asked_for_by_them() -> None:
    named = {name for names, _ in (*admission._ALWAYS, *admission._KEPT) for name in names}
    assert named - {b"Nats-Schedule-Next"} == LINES.keys() - {b"Nats-Unknown", b"Other"}


@pytest.mark.parametrize("hidden", [b"Nats-Foo\r\nNats-Msg-Id: known", b"Nats-Msg-Id:known"])
def test_a_header_behind_a_line_without_a_colon_counts(hidden: bytes) -> None:
    message = Message(b"t.a", b"NATS/1.0\r\n" + hidden + b"\r\n\r\n", b"", 2)
    assert admit(seen(), message) == Duplicate(1)
