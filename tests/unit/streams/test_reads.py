"""Finding messages, on a stream with two subjects and a hole."""

import pytest

from penstock.model.api_errors import ApiError
from penstock.storage.store import Record
from penstock.streams.read_request import INT64_MAX, INT64_MIN, parse_read_request
from penstock.streams.reads import Wanted, find, start_of, walk
from tests.unit.streams.model_store import ModelStore


@pytest.fixture
def store() -> ModelStore:
    """Five messages, ten nanoseconds apart; the third was removed."""
    made = ModelStore()
    for number, subject in enumerate((b"o.new", b"o.paid", b"o.new", b"o.new", b"o.paid"), 1):
        made.append(Record(number, number * 10, subject, b"", b""))
    made.remove(3, erase=True)
    return made


@pytest.mark.parametrize(
    ("wanted", "sequence"),
    [
        (Wanted(sequence=2), 2),
        (Wanted(sequence=3), None),
        (Wanted(sequence=6), None),
        (Wanted(last_of=b"o.new"), 4),
        (Wanted(last_of=b"*.paid"), 5),
        (Wanted(last_of=b"o.sent"), None),
        (Wanted(next_of=b"o.paid"), 2),
        (Wanted(next_of=b"o.paid", sequence=3), 5),
        (Wanted(next_of=b"o.*", sequence=3), 4),
        (Wanted(next_of=b"o.new", sequence=5), None),
        (Wanted(time_ns=20), 2),
        (Wanted(time_ns=21), 4),  # the third is gone
        (Wanted(time_ns=51), None),
        (Wanted(time_ns=-1), 1),
        (Wanted(time_ns=21, next_of=b"o.paid"), 5),
    ],
)
def test_find(store: ModelStore, wanted: Wanted, sequence: int | None) -> None:
    record = find(store, wanted)
    assert (record and record.sequence) == sequence


def test_the_last_of_everything_is_the_last_sequence_even_if_it_was_removed(
    store: ModelStore,
) -> None:
    found = find(store, Wanted(last_of=b">"))
    assert found is not None and found.sequence == 5
    store.remove(5, erase=True)
    assert find(store, Wanted(last_of=b">")) is None
    found = find(store, Wanted(last_of=b"o.>"))
    assert found is not None and found.sequence == 4


@pytest.mark.parametrize("pattern", [b"o..new", b"o.>.new", b".", b"o.new."])
def test_what_is_no_pattern_matches_nothing(store: ModelStore, pattern: bytes) -> None:
    assert find(store, Wanted(last_of=pattern)) is None
    assert find(store, Wanted(next_of=pattern)) is None
    assert not [*walk(store, pattern, 1, 5)]


def test_walk(store: ModelStore) -> None:
    assert [record.sequence for record in walk(store, b"o.new", 1, 5)] == [1, 4]
    assert [record.sequence for record in walk(store, b">", 2, 4)] == [2, 4]


def test_walk_sees_what_was_removed_meanwhile(store: ModelStore) -> None:
    walking = walk(store, b">", 1, 5)
    assert next(walking).sequence == 1
    store.remove(2, erase=True)
    assert next(walking).sequence == 4


def test_start(store: ModelStore) -> None:
    assert start_of(store, Wanted(next_of=b"o.new")) == 1
    assert start_of(store, Wanted(sequence=4)) == 4
    assert start_of(store, Wanted(time_ns=99)) == 6


def test_request_in_our_names() -> None:
    payload = b'{"Seq":7,"next_by_subj":"o.>","batch":null,"start_time":"1970-01-01T00:00:01Z"}'
    request = parse_read_request(payload, strict=True)
    assert request.wanted() == Wanted(7, b"", b"o.>", 1_000_000_000)
    assert request.given() == {"seq", "next_by_subj", "start_time"}


def test_only_what_asks_for_something_is_given() -> None:
    payload = b'{"seq":0,"batch":-1,"max_bytes":-1,"multi_last":[],"last_by_subj":"","no_hdr":true}'
    assert not parse_read_request(payload, strict=True).given()
    epoch = parse_read_request(b'{"start_time":"1970-01-01T00:00:00Z"}', strict=True)
    assert epoch.given() == {"start_time"}


def test_an_unknown_field_passes_only_where_reading_is_lenient() -> None:
    assert parse_read_request(b'{"seq":1,"foo":{}}', strict=False).sequence == 1
    with pytest.raises(ApiError, match="foo"):
        parse_read_request(b'{"seq":1,"foo":{}}', strict=True)


@pytest.mark.parametrize(
    "payload",
    [
        *(b"[]", b"{", b"7", b'{"seq":-1}', b'{"seq":1.0}', b'{"seq":true}', b'{"no_hdr":1}'),
        *(b'{"seq":%d}' % 2**64, b'{"seq":%s}' % (b"1" * 5000), b'{"batch":%d}' % 2**63),
        *(b'{"start_time":0}', b'{"up_to_time":"today"}', b'{"multi_last":"o"}'),
        b'{"multi_last":' + b"[" * 20_000,
    ],
)
def test_improper_requests(payload: bytes) -> None:
    with pytest.raises(ApiError) as refusal:
        parse_read_request(payload, strict=False)
    assert refusal.value.err_code == 10025


def test_moments_no_message_can_have_are_the_ends_of_time() -> None:
    payload = b'{"start_time":"0001-01-01T00:00:00Z","up_to_time":"9999-12-31T00:00:00Z"}'
    request = parse_read_request(payload, strict=True)
    assert (request.time_ns, request.up_to_ns) == (INT64_MIN, INT64_MAX)
