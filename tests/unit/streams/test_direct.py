"""Direct gets: what goes out for which request. The reference's side is in the parity tests."""

import json
from collections.abc import Sequence
from itertools import islice
from typing import Any

import pytest

from penstock.model.stream_config import Source, StreamConfig
from penstock.storage.store import Record
from penstock.streams.direct import SUBJECTS_ANSWERED_MAX, Answer, answer, direct_subjects
from penstock.streams.stream import Stream
from tests.unit.streams.configs import create
from tests.unit.streams.model_store import ModelStore

GET = b"$JS.API.DIRECT.GET.ORDERS"
NOT_FOUND = (b"NATS/1.0 404 Message Not Found\r\n\r\n", b"")
NO_RESULTS = (b"NATS/1.0 404 No Results\r\n\r\n", b"")
EMPTY = (b"NATS/1.0 408 Empty Request\r\n\r\n", b"")
MALFORMED = (b"NATS/1.0 408 Malformed Request\r\n\r\n", b"")
BAD = (b"NATS/1.0 408 Bad Request\r\n\r\n", b"")
WITH_HEADERS = b"NATS/1.0\r\nNats-Msg-Id: 7\r\n\r\n"


@pytest.fixture
def stream() -> Stream:
    """Six messages, a second apart; the third was removed, the fifth has headers."""
    made = Stream(create(name="ORDERS", subjects=["o.>"]), ModelStore(), 0)
    for number in range(1, 7):
        subject = b"o.paid" if number % 2 else b"o.new"
        publish(made, subject, WITH_HEADERS if number == 5 else b"")
    made.store.remove(3, erase=True)
    return made


def publish(stream: Stream, subject: bytes, headers: bytes = b"") -> None:
    number = stream.sequence_last + 1
    stream.publish(subject, headers, b"m%d" % number, number * 1_000_000_000)


def asked(stream: Stream, subject: bytes = GET, **fields: Any) -> list[Answer]:
    return [*answer(stream, subject, b"", json.dumps(fields).encode() if fields else b"")]


def payloads(answers: list[Answer]) -> list[bytes]:
    """What came, without the end."""
    assert answers[-1][0].startswith(b"NATS/1.0 204 EOB\r\n")
    return [payload for _, payload in answers[:-1]]


def end(pending: int, last: int, up_to: int | None = None) -> Answer:
    lines = f"Nats-Num-Pending: {pending}\r\nNats-Last-Sequence: {last}\r\n"
    if up_to is not None:
        lines += f"Nats-UpTo-Sequence: {up_to}\r\n"
    return f"NATS/1.0 204 EOB\r\n{lines}\r\n".encode(), b""


def test_a_message_says_where_it_is_stored(stream: Stream) -> None:
    headers = (
        b"NATS/1.0\r\nNats-Stream: ORDERS\r\nNats-Subject: o.new\r\nNats-Sequence: 2\r\n"
        b"Nats-Time-Stamp: 1970-01-01T00:00:02Z\r\n\r\n"
    )
    assert asked(stream, seq=2) == [(headers, b"m2")]


def test_its_own_headers_come_first(stream: Stream) -> None:
    [(headers, _)] = asked(stream, seq=5)
    assert headers.startswith(b"NATS/1.0\r\nNats-Msg-Id: 7\r\nNats-Stream: ORDERS\r\n")
    assert headers.endswith(b"Z\r\n\r\n") and headers.count(b"\r\n\r\n") == 1


def test_without_headers_there_is_only_the_payload(stream: Stream) -> None:
    assert asked(stream, seq=5, no_hdr=True) == [(b"", b"m5")]
    assert asked(stream, seq=3, no_hdr=True) == [NOT_FOUND]


@pytest.mark.parametrize(
    ("fields", "payload"),
    [
        ({"last_by_subj": "o.paid"}, b"m5"),
        ({"next_by_subj": "o.paid", "seq": 2}, b"m5"),
        ({"start_time": "1970-01-01T00:00:02.5Z"}, b"m4"),
        ({"start_time": "1970-01-01T00:00:02.5Z", "next_by_subj": "o.paid"}, b"m5"),
    ],
)
def test_other_ways_to_one_message(stream: Stream, fields: dict[str, Any], payload: bytes) -> None:
    assert [payload for _, payload in asked(stream, **fields)] == [payload]


def test_the_subject_may_be_part_of_the_request_subject(stream: Stream) -> None:
    assert asked(stream, GET + b".o.paid") == asked(stream, last_by_subj="o.paid")
    assert asked(stream, GET + b".o.paid", no_hdr=True) == [(b"", b"m5")]
    assert asked(stream, GET + b".o.sent") == [NOT_FOUND]
    assert asked(stream, GET + b".o.\xff") == [NOT_FOUND]
    assert asked(stream, GET + b".o.paid", seq=1) == [BAD]


def test_leader_gets_are_answered_alike(stream: Stream) -> None:
    leader = b"$JS.API.DIRECT_LEADER.GET.ORDERS"
    assert asked(stream, leader, seq=2) == asked(stream, seq=2)
    assert asked(stream, leader + b".o.paid") == asked(stream, GET + b".o.paid")


@pytest.mark.parametrize(
    ("payload", "status"),
    [
        (b"", EMPTY),
        (b"{}", EMPTY),
        (b'{"batch":5,"no_hdr":true}', EMPTY),
        (b" ", MALFORMED),
        (b"[]", MALFORMED),
        (b'{"seq":-1}', MALFORMED),
        (b'{"seq":1,"last_by_subj":"o"}', BAD),
        (b'{"last_by_subj":"o","batch":1}', BAD),
        (b'{"next_by_subj":"o","multi_last":["o"]}', BAD),
        (b'{"seq":9}', NOT_FOUND),
        (b'{"seq":9,"batch":2}', NOT_FOUND),
        (b'{"multi_last":["o.sent"]}', NO_RESULTS),
        (b'{"multi_last":["","o..new"]}', NO_RESULTS),
        (b'{"multi_last":[">"],"up_to_time":"1970-01-01T00:00:01Z"}', NO_RESULTS),
    ],
)
def test_statuses(stream: Stream, payload: bytes, status: Answer) -> None:
    assert [*answer(stream, GET, b"", payload)] == [status]


def test_a_level_above_ours_is_refused_before_anything_else(stream: Stream) -> None:
    headers = b"NATS/1.0\r\nNats-Required-Api-Level: 6\r\n\r\n"
    refused = [(b"NATS/1.0 412 Required Api Level\r\n\r\n", b"")]
    assert [*answer(stream, GET, headers, b"")] == refused
    assert [*answer(stream, GET, headers.replace(b"6", b"5"), b"")] == [EMPTY]


def test_a_batch_steps_over_holes_and_ends_with_what_is_left(stream: Stream) -> None:
    answers = asked(stream, seq=2, batch=2)
    assert payloads(answers) == [b"m2", b"m4"]
    assert answers[0][0].endswith(b"Nats-Num-Pending: 3\r\nNats-Last-Sequence: 0\r\n\r\n")
    assert answers[1][0].endswith(b"Nats-Num-Pending: 2\r\nNats-Last-Sequence: 2\r\n\r\n")
    assert answers[-1] == end(2, 4)


def test_a_batch_with_a_filter(stream: Stream) -> None:
    answers = asked(stream, next_by_subj="o.new", batch=10)
    assert payloads(answers) == [b"m2", b"m4", b"m6"]
    assert answers[-1] == end(0, 6)


def test_a_batch_without_headers_does_not_count_down(stream: Stream) -> None:
    """As the reference."""
    assert asked(stream, seq=1, batch=2, no_hdr=True) == [(b"", b"m1"), (b"", b"m2"), end(5, 2)]


def test_the_message_that_reaches_max_bytes_is_the_last(stream: Stream) -> None:
    each = len(b"o.paid" + b"m1")
    assert len(payloads(asked(stream, seq=1, batch=9, max_bytes=each))) == 1
    assert len(payloads(asked(stream, seq=1, batch=9, max_bytes=each + 1))) == 2
    unbounded = answer(stream, GET, b"", b'{"seq":1,"batch":9}', bytes_max=each)
    assert len(payloads([*unbounded])) == 1


def test_a_batch_is_made_as_it_is_taken(stream: Stream) -> None:
    answers = answer(stream, GET, b"", b'{"seq":1,"batch":9}')
    assert [payload for _, payload in islice(answers, 2)] == [b"m1", b"m2"]
    stream.store.remove(4, erase=True)
    publish(stream, b"o.paid")
    assert payloads([*answers]) == [b"m5", b"m6"]


def test_messages_that_came_meanwhile_are_left(stream: Stream) -> None:
    answers = answer(stream, GET, b"", b'{"seq":6,"batch":9}')
    assert next(answers)[1] == b"m6"
    publish(stream, b"o.paid")
    assert [*answers] == [end(1, 6)]


def test_the_last_of_each_subject(stream: Stream) -> None:
    answers = asked(stream, multi_last=["o.*", "o.new"])
    assert payloads(answers) == [b"m5", b"m6"]
    assert answers[0][0].endswith(b"Nats-Num-Pending: 1\r\nNats-Last-Sequence: 0\r\n\r\n")
    assert answers[-1] == end(0, 6, up_to=6)


@pytest.mark.parametrize(
    ("fields", "expected", "last"),
    [
        ({"up_to_seq": 4}, [b"m1", b"m4"], end(0, 4, up_to=4)),
        ({"up_to_seq": 99}, [b"m5", b"m6"], end(0, 6, up_to=99)),
        ({"up_to_time": "1970-01-01T00:00:02Z"}, [b"m1"], end(0, 1, up_to=1)),
        ({"up_to_time": "1970-01-01T00:00:03Z"}, [b"m1", b"m2"], end(0, 2, up_to=3)),
        ({"batch": 1}, [b"m5"], end(1, 5, up_to=6)),
        ({"seq": 6}, [b"m6"], end(0, 6, up_to=6)),
        ({"seq": 7}, [], end(0, 0, up_to=6)),
        ({"max_bytes": 1}, [b"m5"], end(1, 5, up_to=6)),
    ],
)
def test_bounds_of_the_last_of_each(
    stream: Stream, fields: dict[str, Any], expected: list[bytes], last: Answer
) -> None:
    answers = asked(stream, multi_last=[">"], **fields)
    assert (payloads(answers), answers[-1]) == (expected, last)


def test_a_message_removed_meanwhile_ends_the_last_of_each(stream: Stream) -> None:
    answers = answer(stream, GET, b"", b'{"multi_last":[">"]}')
    assert next(answers)[1] == b"m5"
    stream.store.remove(6, erase=True)
    assert [*answers] == [NOT_FOUND]


def test_a_pattern_said_many_times_is_looked_up_once(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[bytes] = []
    find = stream.store.last_by_subjects

    def last_by_subjects(patterns: Sequence[bytes], up_to: int) -> list[int]:
        looked_up.extend(patterns)
        return find(patterns, up_to)

    monkeypatch.setattr(stream.store, "last_by_subjects", last_by_subjects)
    assert payloads(asked(stream, multi_last=["o.*", "o.new"] * 1000)) == [b"m5", b"m6"]
    assert looked_up == [b"o.*", b"o.new"]


def test_too_many_subjects() -> None:
    store = ModelStore()
    for number in range(1, SUBJECTS_ANSWERED_MAX + 2):
        store.append(Record(number, number, b"o.%d" % number, b"", b""))
    stream = Stream(StreamConfig(name="ORDERS"), store, 0)
    too_many = [(b"NATS/1.0 413 Too Many Results\r\n\r\n", b"")]
    assert asked(stream, multi_last=["o.>"], batch=1) == too_many
    answers = asked(stream, multi_last=["o.>"], up_to_seq=SUBJECTS_ANSWERED_MAX)
    assert len(payloads(answers)) == SUBJECTS_ANSWERED_MAX


PLACES = ("$JS.API.DIRECT.GET.T", "$JS.API.DIRECT.GET.T.>")
LEADER_PLACES = ("$JS.API.DIRECT_LEADER.GET.T", "$JS.API.DIRECT_LEADER.GET.T.>")
ORIGIN_PLACES = ("$JS.API.DIRECT.GET.O", "$JS.API.DIRECT.GET.O.>")


@pytest.mark.parametrize(
    ("fields", "subjects"),
    [
        ({}, ()),
        ({"allow_direct": True}, PLACES),
        ({"read_consistency": "weak"}, PLACES + LEADER_PLACES),
        ({"read_consistency": "strong"}, PLACES + LEADER_PLACES),
    ],
)
def test_where_a_stream_answers(fields: dict[str, Any], subjects: tuple[str, ...]) -> None:
    assert direct_subjects(create(subjects=["t"], **fields)) == subjects


def test_a_mirror_answers_for_its_origin_but_does_not_lead_it() -> None:
    origin = create(name="O", subjects=["o"])
    mirror = {"name": "O"}
    assert direct_subjects(create(origin, mirror=mirror)) == ()
    for level in ("weak", "strong"):
        config = create(origin, mirror=mirror, read_consistency=level)
        assert direct_subjects(config) == PLACES + ORIGIN_PLACES + LEADER_PLACES
    by_hand = StreamConfig(name="T", mirror=Source(name="O"), mirror_direct=True)
    assert direct_subjects(by_hand) == ORIGIN_PLACES
