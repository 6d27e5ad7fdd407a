"""Open batches alone: bounds, idle ones, and the stream as the checks of a batch see it."""

import tempfile
from typing import Any

import pytest

from penstock.kernel.storage import Blocks, Log
from penstock.storage.block_store import BlockStore
from penstock.storage.journal import Journal
from penstock.storage.store import Record, SubjectState
from penstock.streams.admission import Message
from penstock.streams.batch_checks import Overlay
from penstock.streams.batch_commit import commit
from penstock.streams.batches import Arrived, Batch, BatchLimits, Reason, Room, Staging
from penstock.streams.stream import Stream
from tests.unit.streams.configs import SECOND, create


def part(batch: str, place: int, payload: bytes = b"", commit: str = "") -> Arrived:
    lines = [f"Nats-Batch-Id: {batch}", f"Nats-Batch-Sequence: {place}"]
    lines += [f"Nats-Batch-Commit: {commit}"] if commit else []
    return Arrived(b"t.a", "\r\n".join(["NATS/1.0", *lines, "", ""]).encode(), payload)


def staging(**limits: int) -> tuple[Staging, Room]:
    room = Room(BatchLimits(**limits))
    return Staging(room), room


def test_the_defaults_are_those_of_the_spec() -> None:
    limits = BatchLimits()
    assert (limits.open_max, limits.total_max, limits.messages_max) == (50, 1000, 1000)
    assert limits.idle_ns == 10 * SECOND


def test_idle_batches_are_given_up_in_the_order_they_fell_silent() -> None:
    found, room = staging()
    for second, batch in enumerate(("a", "b", "c")):
        found.take(part(batch, 1), second * SECOND)
    found.take(part("a", 2), 5 * SECOND)
    assert found.next_ns() == 11 * SECOND
    assert found.expire(11 * SECOND - 1) == []
    assert found.expire(11 * SECOND) == [b"b"]
    assert found.expire(20 * SECOND) == [b"c", b"a"]
    assert found.next_ns() is None
    assert (room.open, room.bytes) == (0, 0)


def test_a_batch_is_bounded_in_bytes() -> None:
    found, room = staging(bytes_max=10_000)
    assert found.take(part("a", 1, b"x" * 4000), 0).error is None
    assert found.take(part("a", 2, b"x" * 4000), 0).error is None
    verdict = found.take(part("a", 3, b"x" * 4000), 0)
    assert verdict.abandoned is Reason.INCOMPLETE
    assert verdict.error is not None
    assert verdict.error.err_code == 10199
    assert "10000 bytes" in verdict.error.description
    assert (len(found), room.open, room.bytes) == (0, 0, 0)


def test_all_batches_together_are_bounded_in_bytes() -> None:
    found, room = staging(total_bytes_max=10_000)
    other = Staging(room)
    assert found.take(part("a", 1, b"x" * 4000), 0).error is None
    assert other.take(part("a", 1, b"x" * 4000), 0).error is None
    refused = other.take(part("b", 1, b"x" * 4000), 0)
    assert refused.abandoned is None
    assert refused.error is not None
    assert refused.error.err_code == 10210
    refused = found.take(part("a", 2, b"x" * 4000), 0)
    assert refused.abandoned is Reason.INCOMPLETE
    assert refused.error is not None
    assert refused.error.err_code == 10210
    assert other.take(part("a", 2, b"x" * 4000), 0).error is None
    assert room.open == 1


def test_the_end_of_a_batch_needs_no_room() -> None:
    found, _ = staging(bytes_max=5000)
    found.take(part("a", 1, b"x" * 4000), 0)
    verdict = found.take(part("a", 2, b"x" * 4000, "eob"), 0)
    assert verdict.complete is not None
    assert len(verdict.complete) == 1


@pytest.fixture
def stream() -> Stream:
    """With two messages on t.a."""
    config = create(storage="memory", subjects=["t.>"], allow_atomic=True, allow_rollup_hdrs=True)
    found = Stream(config, BlockStore(Blocks.in_memory("T"), None), 0)
    for payload in (b"1", b"2"):
        found.publish(b"t.a", b"", payload, 5)
    return found


def test_checks_see_the_messages_of_their_batch_as_the_latest(stream: Stream) -> None:
    """What a counter needs: the last message of a subject, in the batch or before it."""
    overlay = Overlay(stream.view(b"t.a"))
    store, before = overlay, stream.store
    assert store.last_matching(b"t.a", 9) == 2
    overlay.add(Message(b"t.b", b"", b"3", 7))
    overlay.add(Message(b"t.a", b"", b"4", 7))
    overlay.add(Message(b"t.b", b"", b"5", 7))
    assert overlay.sequence_last == 5
    assert store.last_matching(b"t.a", 5) == 4
    assert store.last_matching(b"t.a", 3) == 2
    assert store.last_matching(b"t.*", 5) == 5
    assert store.last_matching(b"t.c", 5) is None
    assert store.load(4) == Record(4, 7, b"t.a", b"", b"4")
    assert store.load(2) == before.load(2)
    assert store.load(6) is None
    assert store.subject_state(b"t.a") == SubjectState(3, 1, 4)
    assert store.subject_state(b"t.b") == SubjectState(2, 3, 5)
    assert store.subject_state(b"t.c") is None
    assert store.state().messages == 5
    assert store.state().bytes == before.state().bytes + 3 * (3 + 1 + 16)
    assert before.state().messages == 2


@pytest.mark.parametrize(
    ("fields", "calls_before"), [({}, 0), ({"republish": {"src": "t.>", "dest": "c.>"}}, 1)]
)
def test_a_store_that_fails_in_the_middle_has_no_entry_of_the_batch(
    fields: dict[str, Any], calls_before: int
) -> None:
    """The stream stops then, and a restart finds nothing of it. Both ways: all messages with one
    call, and one after the other."""
    with tempfile.TemporaryDirectory(prefix="batch-") as root:
        log = Log(root, "log", 1)
        blocks, *_ = Blocks.open(root, "blocks", "T", None)
        store = BlockStore(blocks, Journal(log, 1))
        config = create(subjects=["t.>"], allow_atomic=True, max_msgs=100, **fields)
        stream = Stream(config, store, 0)
        batch = Batch(b"b")
        for place in (1, 2, 3):
            batch.add(part("b", place))
        evict, calls = store.evict, []

        def failing(limits: object) -> int:
            calls.append(limits)
            if len(calls) > calls_before:
                raise OSError("read x.blk: failed")
            return evict(limits)  # type: ignore[arg-type]

        store.evict = failing  # type: ignore[method-assign,assignment]
        with pytest.raises(OSError, match="failed"):
            commit(stream, batch, 1)
        assert log.last() == 0
        store.append(Record(9, 1, b"t.a", b"", b""))  # and no later entry is drawn into it
        assert log.last() == 1


PLAIN = b"NATS/1.0\r\nNats-Batch-Id: b\r\nNats-Batch-Sequence: 1\r\n"


@pytest.mark.parametrize(
    ("more", "is_plain"),
    [
        (b"", True),
        (b"A: b\r\n", True),
        (b"Nats-Batch-Commit: 1\r\n", True),
        (b"nats-msg-id: 1\r\n", True),  # names are compared exactly
        (b"Nats-Msg-Id: 1\r\n", False),
        (b"Nats-TTL: 1\r\n", False),
        (b"A: b\r\nNats-Expected-Stream: T\r\n", False),
        (b"X: " + b"y" * 65_400 + b"\r\n", False),
    ],
)
def test_a_message_is_plain_if_only_its_batch_matters(more: bytes, is_plain: bool) -> None:
    assert Arrived(b"t.a", PLAIN + more + b"\r\n", b"").is_plain is is_plain


def test_a_batch_is_what_was_put_to_it() -> None:
    def held() -> list[Arrived]:
        return [Arrived(*row[2:]) for row in batch.messages.rows()]

    batch = Batch(b"b")
    messages = [part("b", place, b"%d" % place) for place in (1, 2, 3)]
    for message in messages:
        batch.add(message)
    assert (len(batch), batch.is_plain, held()) == (3, True, messages)
    assert batch.message_bytes_max == len(messages[0].headers) + 1
    assert batch.take_last() == messages[2]
    assert held() == messages[:2]
    batch.add(part("b", 3, commit="1")._replace(headers=PLAIN + b"Nats-TTL: 1\r\n\r\n"))
    assert (len(batch), batch.is_plain) == (3, False)
