"""Where consumers start, and where they may be set back to."""

import pytest

from penstock.consumers.resetting import reset_sequence
from penstock.consumers.start import Start, start_of
from penstock.model.api_errors import ApiError
from penstock.model.consumer_config import ConsumerConfig, DeliverPolicy
from penstock.model.timestamps import rfc3339
from penstock.storage.store import Record
from tests.unit.streams.model_store import ModelStore


def store_of(*subjects: str) -> ModelStore:
    store = ModelStore()
    for sequence, subject in enumerate(subjects, 1):
        store.append(Record(sequence, sequence * 10, subject.encode(), b"", b""))
    return store


def config(policy: str, **fields: object) -> ConsumerConfig:
    return ConsumerConfig(deliver_policy=DeliverPolicy(policy), **fields)  # type: ignore[arg-type]


FIVE = ("a", "b", "a", "c", "b")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (config("all"), Start(1)),
        (config("new"), Start(6)),
        (config("last"), Start(5)),
        (config("last", filter_subject="a"), Start(3)),
        (config("last", filter_subjects=("a", "c")), Start(4)),
        (config("last", filter_subject="x"), Start(1)),
        (config("by_start_sequence", opt_start_seq=3), Start(3)),
        (config("by_start_sequence", opt_start_seq=20), Start(20)),
        (config("by_start_time", opt_start_time=rfc3339(25)), Start(3)),
        (config("by_start_time", opt_start_time=rfc3339(99)), Start(6)),
        (config("last_per_subject", filter_subject=">"), Start(6, (3, 4, 5))),
        (config("last_per_subject", filter_subject="x"), Start(5)),
    ],
)
def test_start(asked: ConsumerConfig, expected: Start) -> None:
    assert start_of(asked, store_of(*FIVE), -1) == expected


@pytest.mark.parametrize("policy", ["all", "new", "last", "last_per_subject"])
def test_an_empty_stream(policy: str) -> None:
    assert start_of(config(policy, filter_subject="a"), store_of(), -1) == Start(1)


def test_one_message_for_each_subject_needs_no_list() -> None:
    asked = config("last_per_subject", filter_subject=">")
    assert start_of(asked, store_of(*FIVE), 1) == Start(1)


def test_not_before_the_first() -> None:
    store = store_of(*FIVE)
    store.remove_below(4)
    assert start_of(config("all"), store, -1) == Start(4)
    assert start_of(config("by_start_sequence", opt_start_seq=2), store, -1) == Start(4)


@pytest.mark.parametrize(
    ("asked", "sequence", "expected"),
    [
        (config("all"), 0, 3),
        (config("all"), 9, 9),
        (config("new"), 0, 3),
        (config("new"), 4, "not allowed"),
        (config("by_start_sequence", opt_start_seq=4), 4, 4),
        (config("by_start_sequence", opt_start_seq=4), 3, "below start seq"),
        (config("by_start_time", opt_start_time=rfc3339(25)), 3, 3),
        (config("by_start_time", opt_start_time=rfc3339(25)), 2, "below start time"),
    ],
)
def test_reset(asked: ConsumerConfig, sequence: int, expected: int | str) -> None:
    try:
        answer: int | str = reset_sequence(asked, sequence, 2, store_of(*FIVE))
    except ApiError as error:
        answer = error.shown()["description"].removeprefix("invalid reset: ")
    assert answer == expected
