"""Subjects of the API and the names in them."""

import pytest

from penstock.consumers.naming import (
    DIGITS,
    Address,
    Way,
    create_address,
    durable_address,
    generated_name,
)
from penstock.consumers.outcome import accepted
from penstock.model.api_errors import ApiError
from penstock.model.consumer_request import ConsumerRequest
from tests.unit.consumers.configs import NUMBER, around, decided, request


def test_addresses() -> None:
    assert create_address("T") == Address(Way.EPHEMERAL, "T")
    assert create_address("T.C") == Address(Way.NAMED, "T", "C")
    assert create_address("T.C.t.*.>") == Address(Way.NAMED, "T", "C", "t.*.>")
    assert durable_address("T.C") == Address(Way.DURABLE, "T", "C")


@pytest.mark.parametrize(
    ("address", "fields", "error"),
    [
        (Address(Way.EPHEMERAL, "U"), {}, 10056),
        (Address(Way.EPHEMERAL, "T"), {"name": "a/b"}, 10127),
        (Address(Way.EPHEMERAL, "T"), {"durable_name": "C"}, 10020),
        (Address(Way.DURABLE, "T", "C"), {}, 10018),
        (Address(Way.DURABLE, "T", "C"), {"durable_name": "D"}, 10017),
        (Address(Way.NAMED, "T", "C"), {"durable_name": "D"}, 10017),
        (Address(Way.NAMED, "T", "a\\b"), {}, 10127),
        (Address(Way.NAMED, "T", "C", "t.x"), {}, 10131),
        (Address(Way.NAMED, "T", "C", "t.x"), {"filter_subjects": ["t.x"]}, 10137),
        (Address(Way.NAMED, "T", "C"), {"num_replicas": 2}, 10074),
    ],
)
def test_a_request_at_odds_with_its_subject(
    address: Address, fields: dict[str, object], error: int
) -> None:
    outcome = accepted(address, request(**fields))
    assert isinstance(outcome, ApiError)
    assert outcome.err_code == error


@pytest.mark.parametrize(
    ("address", "fields", "name"),
    [
        (Address(Way.EPHEMERAL, "T"), {}, ""),
        (Address(Way.EPHEMERAL, "T"), {"name": "C"}, "C"),
        (Address(Way.DURABLE, "T", "C"), {"durable_name": "C", "name": "D"}, "C"),
        (Address(Way.NAMED, "T", "C"), {"name": "D"}, "C"),
        (Address(Way.NAMED, "T", "C", "t.x"), {"filter_subject": "t.x"}, "C"),
    ],
)
def test_the_subject_names_the_consumer(
    address: Address, fields: dict[str, object], name: str
) -> None:
    outcome = accepted(address, request(**fields))
    assert isinstance(outcome, ConsumerRequest)
    assert outcome.config.name == name


def test_generated_names() -> None:
    assert generated_name(0, ()) == "00000000"
    assert generated_name(61, ()) == "0000000z"
    assert generated_name(62**8 - 1, ()) == "zzzzzzzz"
    assert generated_name(62**8 + 10, ()) == "0000000A"
    assert generated_name(0, {"00000000", "00000001"}) == "00000002"
    assert len(set(DIGITS)) == 62


def test_a_name_is_made_up_where_none_is_given() -> None:
    assert decided(request(), around(), "T").name == generated_name(NUMBER, ())
    taken = {"zzzzzzzz": decided(request(), around(), "T").config}
    decision = decided(request(), around(taken), "T")
    assert decision.name == "00000000"
    assert decision.config.name == ""  # as the reference: the configuration is as it was asked
