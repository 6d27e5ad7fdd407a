"""The stream API and the publish path over sockets: both servers are asked the same."""

import base64
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parity import (
    loopback_cases,
    publish_cases,
    publish_header_cases,
    stream_api_cases,
    stream_content_cases,
)
from tests.parity.numbered import Pub
from tests.parity.publish_cases import (
    EXPECTED_ID,
    EXPECTED_LAST,
    EXPECTED_STREAM,
    EXPECTED_SUBJECT,
    EXPECTED_SUBJECT_SUBJECT,
    ID,
    ROLLUP,
)
from tests.parity.servers import PENSTOCK, REFERENCE, Server
from tests.parity.stream_api_cases import Scenarios, info, made
from tests.parity.streams_peer import Api, Pair, Peer, Pipelined, Step

MIXES, MIXES_EACH = 60, 12
CIRCLE_SECONDS_MAX = 50.0  # for some thousand copies
HEADERS_BYTES_MAX = 65_535
COPY_BYTES_MAX = 150  # what a copy adds to its headers

Servers = tuple[Server, Server]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    theirs, ours = (tmp_path_factory.mktemp(name) for name in ("theirs", "ours"))
    with (
        Server(REFERENCE, ("-js", "-sd", str(theirs))) as reference,
        Server(PENSTOCK, ("-js", "-sd", str(ours))) as penstock,
    ):
        yield reference, penstock
        assert "Traceback" not in penstock.log


@pytest.fixture
def pair(servers: Servers) -> Iterator[Pair]:
    reference, penstock = servers
    found = Pair(Peer(reference), Peer(penstock))
    found.clear()
    yield found
    found.close()


def cases(scenarios: Scenarios) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "steps", [pytest.param(steps, id=name) for name, steps in scenarios.items()]
    )


@cases(stream_api_cases.ALL | stream_content_cases.ALL)
def test_stream_api(pair: Pair, steps: list[Step]) -> None:
    pair.play(steps)


@cases(publish_cases.ALL | publish_header_cases.ALL)
def test_publish(pair: Pair, steps: list[Step]) -> None:
    pair.play(steps)


@cases(loopback_cases.ALL)
def test_loopback(pair: Pair, steps: list[Step]) -> None:
    pair.play(steps)


def test_copies_in_a_circle_end_when_their_headers_are_full(pair: Pair) -> None:
    counts = []
    for peer in (pair.reference, pair.ours):
        peer.play(made(republish={"src": "t.>", "dest": "u.>"}))
        peer.play(made("U", republish={"src": "u.>", "dest": "t.>"}))
        peer.play(Pub("t.a"))
        deadline = time.monotonic() + CIRCLE_SECONDS_MAX
        while header_bytes_last(peer) < HEADERS_BYTES_MAX - COPY_BYTES_MAX:
            assert time.monotonic() < deadline
        states = [peer.ask(f"STREAM.INFO.{name}")["state"] for name in ("T", "U")]
        counts.append([state["messages"] for state in states])
    (theirs, their_copies), (ours, our_copies) = counts
    assert theirs - their_copies in (0, 1)
    assert ours - our_copies in (0, 1)
    assert abs(theirs - ours) <= 3  # the length of a moment varies


def header_bytes_last(peer: Peer) -> int:
    """Of the longest headers of the two streams."""
    sizes = [0]
    for name in ("T", "U"):
        answer = peer.ask(f"STREAM.MSG.GET.{name}", {"last_by_subj": ">"})
        if "message" in answer:
            sizes.append(len(base64.b64decode(answer["message"].get("hdrs", ""))))
    return max(sizes)


CONFIGS: list[dict[str, Any]] = [
    {},
    {"storage": "memory"},
    {"allow_rollup_hdrs": True},
    {"allow_rollup_hdrs": True, "max_msgs": 3},
    {"max_msg_size": 120},
    {"discard": "new", "max_msgs": 4},
    {"discard": "new", "max_bytes": 600},
    {"discard": "new", "max_bytes": 400, "storage": "memory", "max_msgs_per_subject": 2},
    {
        "discard": "new",
        "max_msgs_per_subject": 2,
        "discard_new_per_subject": True,
        "allow_rollup_hdrs": True,
    },
    {"retention": "interest", "allow_rollup_hdrs": True},
    {"retention": "workqueue", "max_msgs": 5},
    {"subject_transform": {"src": "t.*", "dest": "n.{{wildcard(1)}}"}},
]
HEADERS: list[dict[str, str]] = [
    {ID: "a"},
    {ID: "b"},
    {EXPECTED_STREAM: "T"},
    {EXPECTED_STREAM: "U"},
    {EXPECTED_LAST: "2"},
    {EXPECTED_LAST: "x"},
    {EXPECTED_SUBJECT: "1"},
    {EXPECTED_SUBJECT: "0"},
    {EXPECTED_SUBJECT_SUBJECT: "t.b"},
    {EXPECTED_ID: "a"},
    {ROLLUP: "sub"},
    {ROLLUP: "all"},
    {ROLLUP: "bad"},
    {"Nats-TTL": "1"},
    {"Nats-TTL": "bad"},
    {"Nats-Incr": "+1"},
    {"Nats-Incr": "bad"},
    {"Nats-Batch-Id": "x"},
    {"Nats-Schedule": "x"},
    {"Nats-Scheduler": "x"},
    {"Nats-Stream-Source": "x"},
    {"Nats-Marker-Reason": "x"},
    {"Nats-X": "y" * 70_000},
    {"X": "y" * 70_000},
    {"A": "b"},
]


def mixed(chance: random.Random) -> Pub:
    """Several headers at once, so that the order of the checks decides."""
    headers: dict[str, str] = {}
    for part in chance.sample(HEADERS, chance.choice((0, 0, 1, 1, 2, 3))):
        headers |= part
    return Pub(chance.choice(("t.a", "t.b")), b"x" * chance.choice((0, 1, 60, 130)), headers)


@pytest.mark.parametrize("seed", range(0, MIXES, MIXES_EACH))
def test_precedence(pair: Pair, seed: int) -> None:
    for number in range(seed, seed + MIXES_EACH):
        chance = random.Random(number)
        steps: list[Step] = [made(**chance.choice(CONFIGS))]
        steps += [mixed(chance) for _ in range(10)]
        steps.append(Pipelined([mixed(chance) for _ in range(15)]))
        steps.append(info(deleted_details=True, subjects_filter=">"))
        pair.play(steps)
        pair.clear()


def test_unknown_subjects_further_down(pair: Pair) -> None:
    for subject in stream_api_cases.UNKNOWN_DEEP_SUBJECTS:
        step = Api(subject, "{}", silent=True)
        assert pair.reference.play(step) is None
        assert "503" in str(pair.ours.play(Api(subject, "{}")))


def test_what_is_counted(pair: Pair) -> None:
    for peer in (pair.reference, pair.ours):
        before = api_counts(peer)
        peer.ask("STREAM.INFO.X")
        peer.ask("STREAM.NAMES")
        peer.play(Api("X", silent=True))
        total, errors = api_counts(peer)
        assert (total - before[0], errors - before[1]) == (3, 1)


def test_the_first_request_finds_nothing_counted(tmp_path: Path) -> None:
    for implementation in (REFERENCE, PENSTOCK):
        with Server(implementation, ("-js", "-sd", str(tmp_path / implementation.name))) as server:
            peer = Peer(server)
            assert [api_counts(peer), api_counts(peer)] == [(0, 0), (1, 0)]
            peer.close()


def api_counts(peer: Peer) -> tuple[int, int]:
    message = peer.request("$JS.API.INFO", b"")
    assert message is not None
    counts = json.loads(message.payload)["api"]
    return counts["total"], counts["errors"]
