"""Stream configurations: the reference's answers, and those of our pure functions.

penstock's functions are asked what the reference is asked, about the same streams; the answers
are equal field by field: the whole configuration echoed back, or code, err_code and description
(for bad JSON only its beginning, since the rest describes the reference's own structs).
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.model.api_errors import ApiError
from penstock.model.stream_config import Storage, StreamConfig, shown
from penstock.model.stream_request import parse_stream_request
from penstock.streams.resources import AccountLimits, ServerResources, Surroundings
from penstock.streams.updates import ConsumerBounds, UpdateState, check_update
from penstock.streams.validation import check_create
from penstock.streams.versioning import shown_metadata
from tests.parity import stream_config_cases as cases
from tests.parity.asked import Asked
from tests.parity.servers import REFERENCE, Server

MEMORY_BYTES_MAX = 1 << 20
STORAGE_BYTES_MAX = 1 << 30
MIXES, MIXES_EACH = 400, 20
CREATE, UPDATE = "CREATE", "UPDATE"

CONFIG = """
jetstream {{
  store_dir: "{directory}", max_memory_store: {memory}, max_file_store: {storage} {more}
}}
accounts {{
  A {{ jetstream: {limits}, users: [{{user: a, password: a}}] }}
}}
"""


class Ours:
    """The streams that the reference has, kept with our functions."""

    def __init__(self, limits: AccountLimits, window_max_ns: int = 0, strict: bool = True) -> None:
        self.streams: dict[str, StreamConfig] = {}
        self.state = UpdateState()  # of the stream that is updated
        self._strict = strict
        self._limits = limits
        self._window_max_ns = window_max_ns

    def answer(self, verb: str, name: str, payload: bytes) -> dict[str, Any]:
        around = Surroundings(streams=self.streams, server=self._server(), limits=self._limits)
        try:
            request = parse_stream_request(payload, self._strict)
        except ApiError as error:
            return error.shown()
        if verb == CREATE:
            outcome = check_create(name, request, around)
        else:
            outcome = check_update(name, request, self.state, around)
        if isinstance(outcome, ApiError):
            return outcome.shown()
        self.streams[name] = outcome
        return shown(outcome) | {"metadata": shown_metadata(outcome.metadata)}

    def delete(self, name: str) -> None:
        self.streams.pop(name, None)

    def _server(self) -> ServerResources:
        reserved = dict.fromkeys(Storage, 0)
        for config in self.streams.values():
            reserved[config.storage] += max(0, config.max_bytes)
        return ServerResources(
            memory_bytes_max=MEMORY_BYTES_MAX,
            storage_bytes_max=STORAGE_BYTES_MAX,
            memory_bytes_reserved=reserved[Storage.MEMORY],
            storage_bytes_reserved=reserved[Storage.FILE],
            duplicate_window_max_ns=self._window_max_ns,
        )


Pair = tuple[Asked, Ours]


def started(path: Path, ours: Ours, limits: str = "enabled", more: str = "") -> Iterator[Pair]:
    config = CONFIG.format(
        directory=path, memory=MEMORY_BYTES_MAX, storage=STORAGE_BYTES_MAX, limits=limits, more=more
    )
    with Server(REFERENCE, config=config) as server:
        reference = Asked(server, user="a", password="a")
        yield reference, ours
        reference.close()


@pytest.fixture(scope="module")
def neighbourhood(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Both with the neighbours in place."""
    for pair in started(tmp_path_factory.mktemp("reference"), Ours(AccountLimits())):
        for body in cases.NEIGHBOURS:
            assert_same(pair, CREATE, body["name"], body)
        yield pair


def payload_of(body: cases.Body) -> bytes:
    return (body if isinstance(body, str) else json.dumps(body)).encode()


def ask_both(
    pair: Pair, verb: str, name: str, body: cases.Body
) -> tuple[dict[str, Any], dict[str, Any]]:
    payload = payload_of(body)
    reference, ours = pair
    return reference.answer(verb, name, payload), ours.answer(verb, name, payload)


def assert_same(pair: Pair, verb: str, name: str, body: cases.Body) -> None:
    theirs, ours = ask_both(pair, verb, name, body)
    assert comparable(ours) == comparable(theirs), f"{verb} {str(body)[:300]}"


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    if answer.get("err_code") != 10025:
        return answer
    return answer | {"description": answer["description"][: len("invalid JSON: ")]}


def forget(pair: Pair) -> None:
    for one in pair:
        one.delete("T")


def label(value: object) -> str:
    return str(value)[:70]


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
def test_create(neighbourhood: Pair, body: cases.Body) -> None:
    try:
        assert_same(neighbourhood, CREATE, "T", body)
    finally:
        forget(neighbourhood)


@pytest.mark.parametrize("name", ["a/b", "a\\b", "x" * 256, "é" * 128, "x" * 255], ids=label)
@pytest.mark.parametrize("verb", [CREATE, UPDATE])
def test_names(neighbourhood: Pair, verb: str, name: str) -> None:
    assert_same(neighbourhood, verb, name, {"name": name})
    for one in neighbourhood:
        one.delete(name)


@pytest.mark.parametrize("case", cases.UPDATES, ids=label)
def test_update(neighbourhood: Pair, case: cases.Case) -> None:
    try:
        for step, body in enumerate(case):
            assert_same(neighbourhood, UPDATE if step else CREATE, "T", body)
    finally:
        forget(neighbourhood)


def mixed(seed: int) -> cases.Body:
    """Several settings at once, so that the order of the rules decides."""
    chance = random.Random(seed)
    fields = chance.sample(cases.MIX, chance.randint(2, 5))
    return cases.t(**{name: value for part in fields for name, value in part.items()})


@pytest.mark.parametrize("seed", range(0, MIXES, MIXES_EACH))
def test_precedence_at_create(neighbourhood: Pair, seed: int) -> None:
    for number in range(seed, seed + MIXES_EACH):
        assert_same(neighbourhood, CREATE, "T", mixed(number))
        forget(neighbourhood)


@pytest.mark.parametrize("seed", range(0, MIXES, MIXES_EACH))
def test_precedence_at_update(neighbourhood: Pair, seed: int) -> None:
    for number in range(seed, seed + MIXES_EACH):
        chance = random.Random(number)
        assert_same(neighbourhood, CREATE, "T", cases.t(**chance.choice(cases.STARTS)))
        for step in range(3):
            assert_same(neighbourhood, UPDATE, "T", mixed(number * 3 + step))
        forget(neighbourhood)


def test_update_of_a_stream_that_is_not_there(neighbourhood: Pair) -> None:
    for body in (cases.t(), cases.t(num_replicas=3), cases.t(name="U"), cases.t(max_age=1)):
        assert_same(neighbourhood, UPDATE, "T", body)


@pytest.mark.parametrize("case", cases.TWICE, ids=label)
def test_create_again(neighbourhood: Pair, case: cases.Case) -> None:
    try:
        for body in case:
            assert_same(neighbourhood, CREATE, "T", body)
    finally:
        forget(neighbourhood)


@pytest.mark.parametrize("different", cases.OURS, ids=lambda different: different.why)
def test_ours(neighbourhood: Pair, different: cases.Different) -> None:
    try:
        for step, body in enumerate(different.case):
            theirs, ours = ask_both(neighbourhood, UPDATE if step else CREATE, "T", body)
        assert theirs.get("err_code", 0) == different.reference, theirs
        assert ours.get("err_code", 0) == different.ours, ours
    finally:
        forget(neighbourhood)


def test_limits_below_what_a_consumer_has(neighbourhood: Pair) -> None:
    reference, ours = neighbourhood
    consumer = {"durable_name": "C", "ack_policy": "explicit", "max_ack_pending": 50}
    asked = json.dumps({"stream_name": "T", "config": consumer}).encode()
    try:
        assert_same(neighbourhood, CREATE, "T", cases.t())
        assert "error" not in reference.ask("CONSUMER.DURABLE.CREATE.T.C", asked)
        ours.state = UpdateState(consumers=(ConsumerBounds("C", 0, 50),))
        for limit in (60, 50, 49):
            body = cases.t(consumer_limits={"max_ack_pending": limit})
            assert_same(neighbourhood, UPDATE, "T", body)
            assert_same(neighbourhood, UPDATE, "T", body | {"subjects": ["o.x"]})
    finally:
        ours.state = UpdateState()
        forget(neighbourhood)


def test_republish_without_destination_stays_without(neighbourhood: Pair) -> None:
    """Ours: the reference makes it `>` on an update, and each message its own echo, for ever."""
    body = cases.t(republish={"src": "T", "dest": ""})
    try:
        assert_same(neighbourhood, CREATE, "T", body)
        theirs, ours = ask_both(neighbourhood, UPDATE, "T", cases.t(republish={"dest": ""}))
        assert theirs["republish"] == {"src": ">", "dest": ">"}
        assert ours["republish"] == {"src": ">", "dest": ""}
    finally:
        forget(neighbourhood)


LIMITS = AccountLimits(
    memory_bytes_max=10_000,
    storage_bytes_max=100_000,
    streams_max=2,
    consumers_max=5,
    memory_stream_bytes_max=6_000,
    storage_stream_bytes_max=60_000,
    max_bytes_required=True,
)
LIMITS_TEXT = """{ max_memory: 10000, max_file: 100000, max_streams: 2, max_consumers: 5,
  memory_max_stream_bytes: 6000, disk_max_stream_bytes: 60000, max_bytes_required: true }"""


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Both with an account that may use little, on a server that is not as usual."""
    ours = Ours(LIMITS, window_max_ns=60 * cases.SECOND, strict=False)
    more = ', strict: false, limits { duplicate_window: "1m" }'
    yield from started(tmp_path_factory.mktemp("limited"), ours, LIMITS_TEXT, more)


@pytest.mark.parametrize(
    "case",
    [
        [cases.t()],
        [cases.t(max_bytes=100)],
        [cases.t(max_bytes=100, pedantic=True)],
        [cases.t(max_bytes=100, duplicate_window=61 * cases.SECOND)],
        [cases.t(max_bytes=60_001)],
        [cases.t(max_bytes=6_001, storage="memory")],
        [cases.t(max_bytes=100_001)],
        [cases.t(max_bytes=100_001, storage="file")],
        [cases.t(max_bytes=100, max_consumers=6)],
        [cases.t(max_bytes=50_001), cases.t(max_bytes=50_000), cases.t(max_bytes=60_000)],
        [cases.t(max_bytes=5_000, storage="memory"), cases.t(max_bytes=5_001, storage="memory")],
        [cases.t(max_bytes=100), cases.t(max_bytes=100, max_consumers=6), cases.t()],
        [cases.t(max_bytes=100, foo=1, consumer_limits={"bar": [1, 2]})],
        [cases.t(max_bytes=100, foo=1, max_msgs="5")],
    ],
    ids=label,
)
def test_limits(limited: Pair, case: cases.Case) -> None:
    other = {"name": "OTHER", "subjects": ["z"], "max_bytes": 50_000}
    assert_same(limited, CREATE, "OTHER", other)
    try:
        for step, body in enumerate(case):
            assert_same(limited, UPDATE if step else CREATE, "T", body)
    finally:
        forget(limited)
        for one in limited:
            one.delete("OTHER")


def test_too_many_streams(limited: Pair) -> None:
    for name in ("A", "B", "C", "A"):
        body = {"name": name, "max_bytes": 10}
        assert_same(limited, CREATE, name, body)
    for one in limited:
        one.delete("A")
        one.delete("B")
