"""What a stream gets without asking, and what pedantic mode says about it."""

from typing import Any

import pytest

from penstock.model.stream_config import Republish
from tests.unit.streams.configs import SECOND, create, refusal


def test_a_stream_with_a_name_only() -> None:
    config = create()
    assert config.subjects == ("T",)
    assert (config.max_msgs, config.max_bytes, config.max_msg_size) == (-1, -1, -1)
    assert (config.max_msgs_per_subject, config.max_consumers) == (-1, -1)
    assert config.num_replicas == 1
    assert config.duplicate_window == 120 * SECOND
    assert config.metadata == {"_nats.req.level": "0"}


@pytest.mark.parametrize(
    ("fields", "window_ns"),
    [
        ({}, 120 * SECOND),
        ({"max_age": 10 * SECOND}, 10 * SECOND),
        ({"max_age": 600 * SECOND}, 120 * SECOND),
        ({"max_age": 10 * SECOND, "duplicate_window": SECOND}, SECOND),
        ({"mirror": {"name": "O"}}, 0),
        ({"sources": [{"name": "O"}]}, 0),
    ],
)
def test_the_duplicate_window(fields: dict[str, Any], window_ns: int) -> None:
    assert create(**fields).duplicate_window == window_ns


def test_copies_of_other_streams_take_no_subject_of_their_own() -> None:
    assert create(mirror={"name": "O"}).subjects == ()
    assert create(sources=[{"name": "O"}]).subjects == ()


def test_a_mirror_answers_direct_reads_if_its_origin_does() -> None:
    for answers in (True, False):
        origin = create(name="O", allow_direct=answers)
        assert create(origin, mirror={"name": "O"}).mirror_direct is answers
        assert create(origin, mirror={"name": "O"}, mirror_direct=True).mirror_direct is answers


def test_markers_bring_what_they_need() -> None:
    config = create(subject_delete_marker_ttl=SECOND, deny_purge=True)
    assert config.allow_msg_ttl and config.allow_rollup_hdrs and not config.deny_purge


def test_republish_of_everything_follows_the_transform() -> None:
    transform = {"src": "T", "dest": "x"}
    config = create(subject_transform=transform, republish={"dest": ">", "headers_only": True})
    assert config.republish == Republish(src="x", dest="x", headers_only=True)
    assert create(republish={"dest": "r"} | {"src": "T"}).republish == Republish(src="T", dest="r")


@pytest.mark.parametrize(
    ("fields", "answer"),
    [
        ({"max_bytes": -5}, (10157, "pedantic mode: max_bytes must be set to -1")),
        (
            {"max_age": SECOND},
            (10157, "pedantic mode: duplicate window cannot be bigger than max age"),
        ),
        (
            {"subject_delete_marker_ttl": SECOND},
            (10052, "subject delete marker cannot be set if message TTLs are disabled"),
        ),
        (
            {"republish": {"dest": "r.>"}},
            (10157, "pedantic mode: republish source can not be empty"),
        ),
    ],
)
def test_pedantic_refuses_what_would_be_adjusted(
    fields: dict[str, Any], answer: tuple[int, str]
) -> None:
    create(**fields)
    assert refusal(pedantic=True, **fields) == answer
