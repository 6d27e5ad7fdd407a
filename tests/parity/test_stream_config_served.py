"""Stream configurations over sockets: what test_stream_config asks of our functions, asked of a
running penstock.

Where the reference makes a stream that uses something penstock has not built yet, penstock says
so, by name; the case ends there.
"""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.parity import stream_config_cases as cases
from tests.parity.asked import Asked
from tests.parity.servers import PENSTOCK, REFERENCE, Server
from tests.parity.test_stream_config import (
    CREATE,
    MEMORY_BYTES_MAX,
    STORAGE_BYTES_MAX,
    UPDATE,
    comparable,
    label,
    mixed,
    payload_of,
)

MIXES, MIXES_EACH = 200, 20
CONFIG = """
jetstream {{
  store_dir: "{directory}", max_memory_store: {memory}, max_file_store: {storage} {more}
}}
"""
Pair = tuple[Asked, Asked]


def started(tmp_path_factory: pytest.TempPathFactory, more: str = "") -> Iterator[Pair]:
    configs = [
        CONFIG.format(
            directory=tmp_path_factory.mktemp("served"),
            memory=MEMORY_BYTES_MAX,
            storage=STORAGE_BYTES_MAX,
            more=more,
        )
        for _ in range(2)
    ]
    with (
        Server(REFERENCE, config=configs[0]) as reference,
        Server(PENSTOCK, config=configs[1]) as penstock,
    ):
        theirs, ours = Asked(reference), Asked(penstock)
        yield theirs, ours
        theirs.close()
        ours.close()
        assert "Traceback" not in penstock.log


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Both with the neighbours in place, as far as penstock can have them."""
    for found in started(tmp_path_factory):
        for body in cases.NEIGHBOURS:
            assert is_same(found, CREATE, body["name"], body)
        yield found


def is_same(pair: Pair, verb: str, name: str, body: cases.Body) -> bool:
    """Both say the same."""
    theirs, ours = (asked.answer(verb, name, payload_of(body)) for asked in pair)
    assert comparable(ours) == comparable(theirs), f"{verb} {str(body)[:300]}"
    return True


def play(pair: Pair, case: cases.Case, verbs: tuple[str, str] = (CREATE, UPDATE)) -> None:
    try:
        for step, body in enumerate(case):
            if not is_same(pair, verbs[step > 0], "T", body):
                break
    finally:
        for asked in pair:
            asked.delete("T")


@pytest.mark.parametrize(
    "body",
    cases.WELL_FORMED
    + cases.MALFORMED
    + cases.CONFIGS
    + cases.SUBJECTS
    + cases.MIRRORS
    + cases.SOURCES,
    ids=label,
)
def test_create(pair: Pair, body: cases.Body) -> None:
    play(pair, [body])


@pytest.mark.parametrize("name", ["a/b", "a\\b", "x" * 256, "é" * 128, "x" * 255], ids=label)
@pytest.mark.parametrize("verb", [CREATE, UPDATE])
def test_names(pair: Pair, verb: str, name: str) -> None:
    assert is_same(pair, verb, name, {"name": name})
    for asked in pair:
        asked.delete(name)


@pytest.mark.parametrize("case", cases.UPDATES, ids=label)
def test_update(pair: Pair, case: cases.Case) -> None:
    play(pair, case)


@pytest.mark.parametrize("case", cases.TWICE, ids=label)
def test_create_again(pair: Pair, case: cases.Case) -> None:
    play(pair, case, (CREATE, CREATE))


@pytest.mark.parametrize("seed", range(0, MIXES, MIXES_EACH))
def test_precedence(pair: Pair, seed: int) -> None:
    for number in range(seed, seed + MIXES_EACH):
        play(pair, [mixed(number)])
        start = cases.t(**random.Random(number).choice(cases.STARTS))
        play(pair, [start, *(mixed(number * 3 + step) for step in range(3))])


@pytest.mark.parametrize(
    "different",
    cases.OURS,
    ids=lambda different: different.why,
)
def test_ours(pair: Pair, different: cases.Different) -> None:
    answers: list[dict[str, Any]] = []
    try:
        for step, body in enumerate(different.case):
            verb = UPDATE if step else CREATE
            answers = [asked.answer(verb, "T", payload_of(body)) for asked in pair]
    finally:
        for asked in pair:
            asked.delete("T")
    codes = [answer.get("err_code", 0) for answer in answers]
    assert codes == [different.reference, different.ours]


@pytest.fixture(scope="module")
def lenient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Both on servers that are not as usual."""
    more = ', strict: false, limits { duplicate_window: "1m" }'
    yield from started(tmp_path_factory, more)


@pytest.mark.parametrize(
    "case",
    [
        [cases.t()],
        [cases.t(pedantic=True)],
        [cases.t(duplicate_window=61 * cases.SECOND)],
        [cases.t(foo=1, consumer_limits={"bar": [1, 2]})],
        [cases.t(foo=1, max_msgs="5")],
        [cases.t(), cases.t(foo=1, max_msgs=5)],
        [cases.t(max_bytes=STORAGE_BYTES_MAX)],
        [cases.t(max_bytes=STORAGE_BYTES_MAX + 1)],
        [cases.t(max_bytes=MEMORY_BYTES_MAX + 1, storage="memory")],
        [cases.t(max_bytes=100), cases.t(max_bytes=STORAGE_BYTES_MAX + 1)],
    ],
    ids=label,
)
def test_other_settings(lenient: Pair, case: cases.Case) -> None:
    play(lenient, case)
