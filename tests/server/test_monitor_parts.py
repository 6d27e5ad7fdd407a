"""The parts of the monitoring pages that need no server process."""

import asyncio
import json
import subprocess
import sys

import msgspec
import pytest

from penstock.config.options import Options
from penstock.model.errors import Reason
from penstock.server.app import Server
from penstock.server.log import ServerLog
from penstock.server.monitor import varz
from penstock.server.monitor.durations import duration_text, rtt_text, uptime_text
from penstock.server.monitor.health import Health, HealthQuery, Problem
from penstock.server.monitor.interests import SubjectFilter
from penstock.server.monitor.json_text import ROWS_ENCODED_MAX, RowList
from penstock.server.monitor.query import Query, QueryError

SECOND_NS = 1_000_000_000


class Row(msgspec.Struct):
    number: int
    text: str = "a\nb"
    inner: tuple[int, ...] = (1, 2)


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (999, "999ns"),
        (1_500, "1.5µs"),
        (300_900_000, "300.9ms"),
        (1_978_961, "1.978961ms"),
        (SECOND_NS, "1s"),
        (65 * SECOND_NS, "1m5s"),
        (3600 * SECOND_NS, "1h0m0s"),
        (7200 * SECOND_NS + 250_000_000, "2h0m0.25s"),
        (-1_500_000, "-1.5ms"),
    ],
)
def test_durations_read_like_go(duration_ns: int, text: str) -> None:
    assert duration_text(duration_ns) == text


def test_a_short_round_trip_is_in_whole_microseconds() -> None:
    assert [rtt_text(ns) for ns in (0, 900, 300_999, 1_300_999)] == [
        "0s", "900ns", "300µs", "1.300999ms",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0s"),
        (0.9, "0s"),
        (59, "59s"),
        (65, "1m5s"),
        (3600, "1h0m0s"),
        (2 * 86400 + 1, "2d0h0m1s"),
        (365 * 86400 + 3 * 3600, "1y0d3h0m0s"),
    ],
)
def test_uptimes_have_days_and_years(seconds: float, text: str) -> None:
    assert uptime_text(int(seconds * SECOND_NS)) == text


@pytest.mark.parametrize("count", [0, 1, ROWS_ENCODED_MAX, 2 * ROWS_ENCODED_MAX + 3])
def test_a_list_made_of_parts_is_the_list_made_in_one_go(count: int) -> None:
    rows = RowList()
    for number in range(count):
        rows.add(Row(number))
    assert len(rows) == count
    whole = {**msgspec.to_builtins(Row(7)), "rows": [Row(number) for number in range(count)]}
    expected = msgspec.json.format(msgspec.json.encode(whole), indent=2)
    assert rows.under("rows", Row(7)) == expected
    assert json.loads(expected)["text"] == "a\nb"


@pytest.mark.parametrize(
    ("subject", "pattern", "meets"),
    [
        ("a.b", "a.b", True),
        ("a.b", "a.*", True),
        ("a.b", "*.b", True),
        ("a.b", "a.>", True),
        ("a.b", ">", True),
        ("a", "a.>", False),
        ("a.b", "a", False),
        ("a.b", "a.c", False),
        ("a.b.c", "a.*", False),
        ("a.*", "*.b", True),
        ("a.>", "a", False),
        ("a.>", "b.>", False),
        ("a.**", "a.b", False),
    ],
)
def test_which_patterns_a_subject_meets(subject: str, pattern: str, meets: bool) -> None:
    assert SubjectFilter(subject).meets(pattern.encode()) is meets


def test_parameters_that_are_missing_or_empty_are_zero() -> None:
    query = Query(b"empty=&flag=T&number=-5&flag=x")
    assert (query.text("none"), query.boolean("none"), query.integer("none")) == ("", False, 0)
    assert (query.boolean("empty"), query.unsigned("empty")) == (False, 0)
    assert (query.boolean("flag"), query.integer("number")) == (True, -5)
    with pytest.raises(QueryError, match="uint64"):
        query.unsigned("number")


def test_one_problem_makes_the_server_unavailable() -> None:
    health = Health()
    asked: list[HealthQuery] = []

    def check(query: HealthQuery) -> list[Problem]:
        asked.append(query)
        if query.stream != "BAD":
            return []
        return [Problem(kind="STREAM", account=query.account, stream="BAD", error="no leader")]

    health.add(check)
    assert health.report(HealthQuery.read(Query(b""))).body() == b'{"status":"ok"}'
    report = health.report(HealthQuery.read(Query(b"account=A&stream=BAD")))
    assert (report.status_code, report.summary) == (503, "no leader")
    assert report.body() == b'{"status":"unavailable","error":"no leader"}'
    detailed = health.report(HealthQuery.read(Query(b"account=A&stream=BAD&details=1")))
    assert json.loads(detailed.body()) == {
        "status": "error",
        "errors": [{"type": "STREAM", "account": "A", "stream": "BAD", "error": "no leader"}],
    }
    assert health.report(HealthQuery.read(Query(b"stream=BAD"))).status_code == 400
    assert len(asked) == 3, "a question that makes no sense is not passed on"


def test_a_connection_that_closes_during_the_walk_counts_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def totals() -> list[int]:
        log = ServerLog(file=None, debug=False, trace=False, with_time=False)
        server = Server(Options(host="127.0.0.1", port=-1), log)
        await server.start()
        writers = []
        for _ in range(3):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b'CONNECT {"verbose":false}\r\nPUB a 2\r\nhi\r\nPING\r\n')
            await reader.readuntil(b"PONG\r\n")
            writers.append(writer)
        found = [(await varz.total_traffic(server)).messages_in]

        class Closing:
            """At the first break the connection just visited ends, and one that was not."""

            async def breathe(self) -> None:
                if len(server.clients) == 3:
                    first, *_, last = server.clients
                    server.clients.close(first, Reason.CLIENT_CLOSED)
                    server.clients.close(last, Reason.CLIENT_CLOSED)

        monkeypatch.setattr(varz, "Pace", Closing)
        found.append((await varz.total_traffic(server)).messages_in)
        for writer in writers:
            writer.close()
        await server.stop()
        return [*found, len(server.clients)]

    assert asyncio.run(totals()) == [3, 3, 0]


def test_a_server_without_monitoring_does_not_load_it() -> None:
    code = (
        "import sys, penstock.server.process;"
        "print([name for name in ('uvicorn', 'starlette', 'h11') if name in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"
