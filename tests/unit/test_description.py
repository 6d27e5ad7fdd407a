"""A stream's description: what was written comes back, and nothing else is taken for one."""

import json

import pytest

from penstock.model.stream_config import StreamConfig
from penstock.server.jetstream.description import Description

WRITTEN = Description(7, StreamConfig(name="A", subjects=("a.>",), max_msgs=5), 1_000)


def test_what_was_written_comes_back() -> None:
    assert Description.decode(WRITTEN.encode()) == WRITTEN
    assert Description.unsealed(WRITTEN.sealed()) == WRITTEN


@pytest.mark.parametrize("at", range(0, len(WRITTEN.sealed()), 7))
def test_a_flipped_bit_is_noticed(at: int) -> None:
    content = bytearray(WRITTEN.sealed())
    content[at] ^= 1
    with pytest.raises(ValueError, match="checksum"):
        Description.unsealed(bytes(content))


@pytest.mark.parametrize(
    "fields",
    [
        {"number": "7"},
        {"number": None},
        {"created_ns": 1.5},
        {"config": 5},
        {"config": {"name": "A", "of_a_later_version": 1}},
        {"config": {"name": "A", "max_age": "long"}},
    ],
)
def test_what_another_version_wrote_is_not_guessed(fields: dict[str, object]) -> None:
    data = json.dumps(json.loads(WRITTEN.encode()) | fields).encode()
    with pytest.raises(ValueError, match=r"."):
        Description.decode(data)


def test_nothing_is_no_description() -> None:
    for content in (b"", b"\n", b"{}", b"null", b"{"):
        with pytest.raises(ValueError, match=r"."):
            Description.unsealed(content)
        with pytest.raises(ValueError, match=r"."):
            Description.decode(content)
