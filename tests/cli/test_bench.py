"""`penstock bench`: both servers are measured by every load, nothing is left behind, and a load
that does not add up is told."""

import contextlib
import random
from pathlib import Path

import pytest

from penstock.bench.connection import Connection
from penstock.bench.errors import BenchError
from penstock.bench.loads import Marks, Publisher, Size, fetch, publish, request, stream
from penstock.bench.spread import Pair, Spread
from tests.cli.run import called, penstock
from tests.crash.wire import Wire
from tests.parity.servers import IMPLEMENTATIONS, Implementation
from tests.server_process import BIN, ServerProcess

LOADS = ["publish", "memory", "durable", "fetch", "request"]
TINY = ("--rounds", "1", "--seconds", "0.02", "--messages", "1000", "--json")
FAILED, USAGE, NO_CONNECTION, NOT_FOUND = 1, 2, 3, 4


@pytest.fixture(params=IMPLEMENTATIONS, ids=lambda one: one.name)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a server that runs, with JetStream."""
    implementation: Implementation = request.param
    server = ServerProcess(implementation.command, ("-js", "-sd", str(tmp_path)))
    request.addfinalizer(server.close)
    return server.url


def streams_at(url: str) -> list[str]:
    with contextlib.closing(Wire(int(url.rpartition(":")[2]))) as wire:
        return wire.request("$JS.API.STREAM.NAMES", b"")["streams"] or []


def test_both_servers_are_measured_by_every_load(tmp_path: Path) -> None:
    reference = BIN / "nats-server"
    ran = penstock("bench", *TINY, "--reference", reference, "--store", tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert [*ran.data["servers"]] == ["reference", "penstock"]
    assert [*ran.data["benchmarks"]] == LOADS
    for found in ran.data["benchmarks"].values():
        assert found["faults"] == []
        assert {name: len(one) for name, one in found["samples"].items()} == {
            "reference": 1,
            "penstock": 1,
        }
        rate = found["figures"]["rate"]
        ours, theirs = rate["penstock"]["median"], rate["reference"]["median"]
        # On a busy machine a server may get nothing done in so short a time.
        assert rate["ratio"] == (ours / theirs if theirs else None)
    assert [*tmp_path.iterdir()] == []


def test_a_server_alone_is_a_table_for_people(tmp_path: Path) -> None:
    flags = (*TINY[2:-1], "--rounds", "2", "--store", str(tmp_path))
    ran = called("bench", "memory", "request", *flags)
    assert ran.code == 0, ran
    rows = [line.split()[0] for line in ran.out.splitlines() if " k/s" in line or " M/s" in line]
    assert rows == ["memory", "request"]
    assert "ratio" not in ran.out
    assert "it was the limit" in ran.out


def test_servers_that_run_are_left_as_they_were(url: str) -> None:
    ran = called("bench", *TINY, "--url", url, "--reference", url)
    assert (ran.code, ran.err) == (0, "")
    assert [*ran.data["benchmarks"]] == [name for name in LOADS if name != "durable"]
    assert streams_at(url) == []


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("speed",), USAGE, "there are: publish, memory, durable, fetch, request"),
        (("--reference", "no-such-program"), NOT_FOUND, "no-such-program is no program"),
        (("--reference", "nats://127.0.0.1:1"), NO_CONNECTION, "no server answers at 127.0.0.1:1"),
        (("--url", "127.0.0.1:1"), NO_CONNECTION, "no server answers at 127.0.0.1:1"),
        (("--url", "nats://127.0.0.1:1", "durable"), USAGE, "durable"),
        (("--store", "/nonexistent"), NOT_FOUND, "/nonexistent is no directory"),
        (("--reference", "false"), FAILED, "cannot be run"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_cannot_be_measured_is_told_in_one_line(
    arguments: tuple[str, ...], code: int, told: str
) -> None:
    ran = called("bench", *arguments)
    assert (ran.code, len(ran.err.splitlines())) == (code, 1), ran
    assert told in ran.err
    assert ran.err.count("penstock:") == 1


def test_a_server_without_jetstream_is_told(tmp_path: Path) -> None:
    with ServerProcess((str(BIN / "nats-server"),)) as server:
        ran = called("bench", "publish", *TINY, "--url", server.url)
    assert ran.code == FAILED
    assert "JetStream must be enabled there" in ran.err


@pytest.mark.parametrize("flags", [("--user", "u", "--pass", "p:@"), ("--auth", "t:@")])
def test_users_and_tokens_are_in_the_url(flags: tuple[str, ...]) -> None:
    with ServerProcess((str(BIN / "nats-server"),), flags) as server:
        who = "u:p%3A%40" if "--user" in flags else "t%3A%40"
        ran = called("bench", "request", *TINY, "--url", f"nats://{who}@127.0.0.1:{server.port}")
        assert ran.code == 0, ran
        refused = called("bench", "request", *TINY, "--url", server.url)
    assert (refused.code, "Authorization" in refused.err) == (NO_CONNECTION, True)


@pytest.mark.parametrize("payload_bytes", [0, 1, 5000])
def test_payloads_of_any_size_are_counted(url: str, payload_bytes: int) -> None:
    size = Size(seconds=0.02, payload_bytes=payload_bytes, messages=500)
    assert publish(url, size, "memory")["rate"] > 0
    assert fetch(url, size)["rate"] > 0
    assert request(url, size)["rate"] > 0


def test_a_stream_that_has_something_else_is_noticed(url: str) -> None:
    with Connection(url) as connection, stream(connection, "memory") as name:
        publisher = Publisher(connection, name, 10)
        publisher.until(lambda: publisher.acknowledged > 0)
        with Connection(url) as other:
            other.request(name, b"of somebody else")
        with pytest.raises(BenchError, match=r"were acknowledged, the stream has"):
            publisher.settle()


def test_a_refused_publish_is_noticed(url: str) -> None:
    with Connection(url) as connection, stream(connection, "memory") as name:
        config = connection.api(f"STREAM.INFO.{name}")["config"]
        full = config | {"max_msgs": 10, "discard": "new"}
        connection.api(f"STREAM.UPDATE.{name}", full)
        publisher = Publisher(connection, name, 10)
        with pytest.raises(BenchError, match="maximum messages exceeded"):
            publisher.until(lambda: False)


def test_marks_are_counted_wherever_the_pieces_end() -> None:
    dice = random.Random(1)
    text = b"MSG a\r\nMSG b\r\nMMSG MS G MSG "
    for _ in range(200):
        marks, found, at = Marks(b"MSG "), 0, 0
        while at < len(text):
            step = dice.randrange(1, 9)
            found += marks.count(text[at : at + step])
            at += step
        assert found == text.count(b"MSG ")


def test_samples_compare_as_medians_and_round_by_round() -> None:
    ours, theirs = Spread((2.0, 9.0, 4.0)), Spread((1.0, 3.0, 2.0))
    assert ours.as_data() == {"median": 4.0, "min": 2.0, "max": 9.0}
    assert (Pair(ours, theirs).ratio, Pair(ours, theirs).round_ratios) == (2.0, Spread((2, 3, 2)))
    assert (Pair(ours, None).ratio, Pair(None, theirs).round_ratios) == (None, None)
    assert Pair(ours, Spread((0.0,))).ratio is None
