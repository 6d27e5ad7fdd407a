"""`penstock stream`: what there is, what is in it, what comes, and what SQL says of it."""

import subprocess
from collections.abc import AsyncGenerator
from pathlib import Path
from types import SimpleNamespace

import pytest
from nats.errors import ConnectionClosedError
from nats.js.api import RawStreamMsg

from penstock.cli import stream_tail
from penstock.cli.shown import moment
from penstock.cli.stream_arrow import StreamTable
from tests.cli.conftest import ORDERS, Command, do
from tests.cli.run import penstock, world
from tests.server_process import BIN

FAILED, USAGE, NO_CONNECTION, NOT_FOUND = 1, 2, 3, 4


def test_streams_are_listed_with_what_is_in_them(command: Command) -> None:
    ran = command("stream", "ls", "--json")
    assert [one["config"]["name"] for one in ran.lines] == ["HITS", "ORDERS", "RAW"]
    shown = command("stream", "ls", "--subject", "orders.eu").out.splitlines()
    assert shown[0].split()[:4] == ["name", "subjects", "messages", "bytes"]
    assert [line.split()[:3] for line in shown[1:]] == [["ORDERS", "orders.>", str(ORDERS)]]


def test_info_has_what_is_not_the_default(command: Command) -> None:
    told = command("stream", "info", "ORDERS", "--json").data
    assert (told["config"]["subjects"], told["state"]["messages"]) == (["orders.>"], ORDERS)
    text = command("stream", "info", "ORDERS").out
    fields = dict(line.split("  ", 1) for line in text.splitlines())
    assert fields["allow atomic"].strip() == "True"
    assert "max age" not in fields


def test_a_name_that_is_nearly_right_is_offered(command: Command) -> None:
    ran = command("stream", "info", "ORDER")
    assert (ran.code, ran.out) == (NOT_FOUND, "")
    assert ran.err == "penstock: there is no stream 'ORDER' (did you mean ORDERS?)\n"
    assert command("stream", "info", "no.name").code == USAGE


def sequences(command: Command, *flags: str) -> list[int]:
    ran = command("stream", "tail", "ORDERS", "--no-follow", "--json", *flags)
    assert ran.code == 0, ran
    return [line["seq"] for line in ran.lines]


def test_the_tail_of_a_stream(command: Command) -> None:
    assert sequences(command) == [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    assert sequences(command, "-n", "2") == [11, 12]
    assert sequences(command, "-n", "0") == []
    assert sequences(command, "-n", "100") == [*range(1, ORDERS + 1)]
    assert sequences(command, "-n", "2", "--subject", "orders.us") == [9, 12]
    assert sequences(command, "-n", "3", "--subject", "orders.eu") == [8, 10, 11]
    assert sequences(command, "--since", "1h", "--count", "3") == [1, 2, 3]


def test_the_tail_has_what_a_terminal_bears(command: Command) -> None:
    lines = command("stream", "tail", "RAW", "--no-follow").out.splitlines()
    assert [line.split(" ", 2)[2] for line in lines] == [
        "raw.bytes 2 bytes: /wA=",
        "raw.text \\x1b[31mred",
    ]
    rows = command("stream", "tail", "RAW", "--no-follow", "--json").lines
    assert [row.get("data_base64") for row in rows] == ["/wA=", None]
    shown = command("stream", "tail", "ORDERS", "--no-follow", "-n", "1", "--headers").out
    assert shown.splitlines()[1] == "  Id: 12"


def test_what_comes_is_shown_when_it_comes(url: str) -> None:
    do(url, lambda js: js.add_stream(name="COMING", subjects=["coming"]))
    flags = ["stream", "tail", "COMING", "--count", "2", "--json", "--server", url]
    with subprocess.Popen([BIN / "penstock", *flags], stdout=subprocess.PIPE, env=world()) as tail:
        assert tail.stdout is not None
        do(url, lambda js: js.publish("coming", b"first"))
        assert b"first" in tail.stdout.readline()
        do(url, lambda js: js.publish("coming", b"second"))
        assert b"second" in tail.stdout.readline()
        assert tail.wait(20) == 0
    do(url, lambda js: js.delete_stream("COMING"))


def query(command: Command, sql: str, *flags: str) -> list[dict[str, object]]:
    ran = command("stream", "query", "ORDERS", sql, "--json", *flags)
    assert ran.code == 0, ran
    return ran.lines


def test_a_stream_is_a_table(command: Command) -> None:
    by_region = "select subject, count(*) n, sum((data->>'$.price')::int) total from messages"
    assert query(command, f"{by_region} group by 1 order by 1") == [
        {"subject": "orders.eu", "n": 8, "total": 48},
        {"subject": "orders.us", "n": 4, "total": 30},
    ]
    twice = "select count(*) n from messages a join messages b on a.seq = b.seq + 1"
    assert query(command, twice) == [{"n": ORDERS - 1}]
    assert query(command, "select max(headers['Id']::int) m from messages") == [{"m": 12}]


def test_a_message_has_one_time_whoever_shows_it(command: Command) -> None:
    """Servers count nanoseconds; both cut them to microseconds."""
    tail = command("stream", "tail", "ORDERS", "--no-follow", "--json", "-n", "100").lines
    times = "select strftime(timestamp, '%Y-%m-%dT%H:%M:%S.%fZ') as t from messages order by seq"
    assert [line["time"] for line in tail] == [row["t"] for row in query(command, times)]


@pytest.mark.parametrize(
    "reply",
    [
        "$JS.ACK.S.C.1.7.1.1700000000000001999.0",
        "$JS.ACK._.hash.S.C.1.7.1.1700000000000001999.0",
        "$JS.ACK.hub.hash.S.C.1.7.1.1700000000000001999.0.token",
    ],
)
def test_times_of_the_tail_are_cut_not_rounded(reply: str) -> None:
    message = SimpleNamespace(reply=reply)
    at = stream_tail._stored_at(message)  # type: ignore[arg-type]
    assert moment(at) == "2023-11-14T22:13:20.000001Z"


def test_a_query_reads_what_it_is_told_to(command: Command) -> None:
    numbers = "select list(seq order by seq) s from messages"
    assert query(command, numbers, "--subject", "orders.us") == [{"s": [3, 6, 9, 12]}]
    assert query(command, numbers, "--seq", "11") == [{"s": [11, 12]}]
    assert query(command, numbers, "--last-per-subject") == [{"s": [11, 12]}]
    assert query(command, numbers, "--since", "1h") == [{"s": [*range(1, ORDERS + 1)]}]


def test_columns_of_one_name_are_all_there(command: Command) -> None:
    assert query(command, "select 1 a, 2 a_1, 3 a") == [{"a": 1, "a_1": 2, "a_2": 3}]


def test_json_has_no_word_for_what_is_no_number(command: Command) -> None:
    ran = command(
        "stream", "query", "ORDERS", "select ['nan'::double] a, 'inf'::double b", "--json"
    )
    assert ran.out == '{"a": ["nan"], "b": "inf"}\n'


def test_results_go_to_files_too(command: Command, tmp_path: Path) -> None:
    target = tmp_path / "orders.parquet"
    query(command, f"copy (select seq, subject from messages) to '{target}'")  # noqa: S608
    assert query(command, f"select count(*) n from '{target}'") == [{"n": ORDERS}]  # noqa: S608


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("ORDERS", "select nothing from messages"), FAILED, "messages has seq, timestamp"),
        (("ORDERS", "selec 1"), FAILED, "syntax error"),
        (("ORDERS", " "), USAGE, "there is no statement"),
        (("ORDERS", ";"), USAGE, "there is no statement"),
        (("ORDERS", "select 1; select 2"), USAGE, "several statements"),
        (("ORDERS", "select 1", "--seq", "2", "--since", "1h"), USAGE, "give one of"),
        (("ORDERS", "select 1", "--seq", "2", "--last-per-subject"), USAGE, "give one of"),
        (("ORDERS", "select 1", "--memory", "much"), USAGE, "no size"),
        (("ORDERS", "select 1", "--since", "long"), USAGE, "no duration"),
        (("ORDERS", "select 1", "--since", "9999999h"), USAGE, "no duration"),
        (("NONE", "select 1"), NOT_FOUND, "there is no stream 'NONE'"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_wrong_query_is_one_line(
    command: Command, arguments: tuple[str, ...], code: int, told: str
) -> None:
    ran = command("stream", "query", *arguments)
    assert (ran.code, len(ran.err.splitlines())) == (code, 1), ran
    assert told in ran.err


def test_a_server_that_goes_during_a_query(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StreamTable, "_messages", _cut_short)
    ran = command("stream", "query", "ORDERS", "select sum(seq) from messages")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (NO_CONNECTION, "", 1), ran
    assert "the server has gone meanwhile" in ran.err


async def _cut_short(_table: StreamTable) -> AsyncGenerator[RawStreamMsg, None]:
    raise ConnectionClosedError
    yield  # it is a generator


def test_a_statement_may_come_from_standard_input(url: str) -> None:
    sql = b"select count(*) from messages"
    ran = penstock("stream", "query", "ORDERS", "-", "--server", url, stdin=sql)
    assert ran.out.split() == ["count_star()", str(ORDERS)]


@pytest.mark.parametrize("flags", [(), ("--json",)], ids=str)
@pytest.mark.parametrize("kind", ["tail", "query"])
def test_a_terminal_that_knows_few_letters(url: str, kind: str, flags: tuple[str, ...]) -> None:
    what = ("--no-follow",) if kind == "tail" else ("select 'für 5 €' as price",)
    do(url, lambda js: js.add_stream(name=f"PRICES{kind}{len(flags)}", subjects=[f"{kind}{flags}"]))
    do(url, lambda js: js.publish(f"{kind}{flags}", "für 5 €".encode()))
    arguments = ("stream", kind, f"PRICES{kind}{len(flags)}", *what, *flags, "--server", url)
    ran = penstock(*arguments, environment={"PYTHONIOENCODING": "ascii"})
    shown = "f\\u00fcr 5 \\u20ac" if flags else "f\\xfcr 5 \\u20ac"
    assert (ran.code, shown in ran.out) == (0, True), ran
