"""Rules that a single server's API cannot provoke, and the ones that are our own."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.consumers.draft import Draft
from penstock.consumers.outcome import Decision
from penstock.consumers.validation import (
    CHECKS,
    PLACE_CHECKS,
    names_are_one,
    replicas_suit_stream,
)
from penstock.model.api_errors import ApiError
from penstock.model.consumer_config import ConsumerConfig
from penstock.model.stream_config import Retention
from tests.unit.consumers.configs import STREAM, WORKQUEUE, answer, around, config, refusal, request


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"ack_policy": "flow_control", "deliver_subject": "d"}, "ack_policy flow_control"),
        ({"direct": True, "deliver_subject": "d"}, "direct"),
        ({"sourcing": True}, "sourcing"),
    ],
)
def test_what_is_not_built_is_refused_by_name(fields: dict[str, Any], name: str) -> None:
    assert refusal(request(**fields), around()) == (10052, f"{name} is not supported")


class Crowd(Mapping[str, ConsumerConfig]):
    """Consumers that are found by name; nobody may go through all of them."""

    def __getitem__(self, name: str) -> ConsumerConfig:
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("one more consumer costs more, the more there are")

    def __len__(self) -> int:
        return 100_000


def test_one_more_consumer_does_not_look_at_all_others() -> None:
    found = answer(request(durable_name="C", filter_subject="t.1"), around(Crowd()))
    assert isinstance(found, Decision), found


def test_names_are_short() -> None:
    for fields in ({}, {"durable_name": "x" * 256}):
        error = (10102, "consumer name is too long, maximum allowed is 255")
        assert refusal(request(**fields), around(), "T." + "x" * 256) == error


@pytest.mark.parametrize(
    ("retention", "replicas", "error"),
    [
        (Retention.LIMITS, 0, None),
        (Retention.LIMITS, 1, None),
        (Retention.LIMITS, 3, None),
        (Retention.LIMITS, 4, 10126),
        (Retention.LIMITS, -1, 10133),
        (Retention.INTEREST, 0, None),
        (Retention.INTEREST, 3, None),
        (Retention.INTEREST, 1, 10134),
        (Retention.WORKQUEUE, 1, 10134),
    ],
)
def test_replicas_beside_those_of_the_stream(
    retention: Retention, replicas: int, error: int | None
) -> None:
    stream = msgspec.structs.replace(STREAM, num_replicas=3, retention=retention)
    asked = ConsumerConfig(num_replicas=replicas)
    found = replicas_suit_stream(Draft(asked, asked, False, around(stream=stream)))
    assert (found and found.err_code) == error


def test_two_names_are_one() -> None:
    for fields, error in (({"name": "C", "durable_name": "D"}, 10132), ({"name": "C"}, None)):
        asked = ConsumerConfig(**fields)
        found = names_are_one(Draft(asked, asked, False, around()))
        assert (found and found.err_code) == error


def test_each_message_of_a_work_queue_has_one_consumer() -> None:
    explicit = {"ack_policy": "explicit"}
    first = config(around(stream=WORKQUEUE), filter_subject="t.a", **explicit)
    second = config(around(stream=WORKQUEUE), filter_subject="t.b", **explicit)
    where = around({"C": first, "D": second}, stream=WORKQUEUE)
    assert refusal(request(**explicit), where)[0] == 10099  # an update that drops the filter
    assert refusal(request(filter_subject="t.*", **explicit), where)[0] == 10100
    assert refusal(request(**explicit), where, "T.E")[0] == 10099
    assert isinstance(answer(request(filter_subject="t.c", **explicit), where), Decision)


def test_every_rule_is_asked() -> None:
    """A check that stands in no table is one that nobody asks."""
    text = Path(__file__).parents[3] / "src/penstock/consumers/validation.py"
    defined = set(re.findall(r"^def ([a-z]\w+)\(draft: Draft\)", text.read_text(), re.MULTILINE))
    assert defined == {check.__name__ for check in (*CHECKS, *PLACE_CHECKS)}


TEXTS = st.sampled_from(("", "C", "a.b", "a..b", "t.x", "t.*", ">", "é", "5%", "x" * 300, "a b"))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.sampled_from((-(2**63), -1, 0, 1, 5, 2**63 - 1, 2**64 - 1))
    | TEXTS
    | st.sampled_from(("all", "explicit", "new", "last", "overflow", "2024-01-01T00:00:00+05:00")),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from(ConsumerConfig.__struct_fields__), VALUES, max_size=5),
    st.sampled_from((STREAM, WORKQUEUE)),
    st.booleans(),
)
def test_any_values_get_an_answer(fields: dict[str, Any], stream: Any, pedantic: bool) -> None:
    where = around({"C": config()}, stream=stream)
    try:
        outcome = answer(request(pedantic=pedantic, **fields), where)
    except ApiError as error:
        assert error.err_code == 10025
    else:
        assert isinstance(outcome, ApiError | Decision)
