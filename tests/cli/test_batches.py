"""`penstock batch publish`: all lines of a file are stored, or none."""

from pathlib import Path

import pytest

from tests.cli.conftest import ORDERS, Command, do
from tests.cli.run import penstock

FAILED, USAGE, NOT_FOUND = 1, 2, 4


def test_the_lines_of_a_file(command: Command, tmp_path: Path) -> None:
    plain = tmp_path / "new.txt"
    plain.write_text("one\n\ntwo\r\nthree")
    ran = command("batch", "publish", plain, "--subject", "orders.batch")
    assert ran.out == f"3 messages stored in ORDERS: {ORDERS + 1} to {ORDERS + 3}\n"
    rows = command("stream", "tail", "ORDERS", "--no-follow", "-n", "3", "--json").lines
    assert [row["data"] for row in rows] == ["one", "two", "three"]


def test_lines_of_json_say_where_they_go(command: Command, tmp_path: Path) -> None:
    lines = tmp_path / "new.jsonl"
    lines.write_text(
        '{"subject": "orders.x", "data": "text", "headers": {"Id": "a"}}\n{"data": {"price": 1}}\n'
    )
    ran = command("batch", "publish", lines, "--subject", "orders.y", "--json")
    assert (ran.data["stream"], ran.data["count"]) == ("ORDERS", 2)
    first, second = command("stream", "tail", "ORDERS", "--no-follow", "-n", "2", "--json").lines
    assert (first["subject"], first["data"], first["headers"]["Id"]) == ("orders.x", "text", "a")
    assert (second["subject"], second["data"]) == ("orders.y", '{"price": 1}')


def test_standard_input(url: str) -> None:
    arguments = ("batch", "publish", "-", "--subject", "orders.z", "--server", url)
    ran = penstock(*arguments, stdin=b"a\nb\n")
    assert ran.out.startswith("2 messages stored in ORDERS")


@pytest.mark.parametrize(
    ("name", "content", "code", "told"),
    [
        ("a.txt", "one\n", USAGE, "a.txt:1: nobody says where this goes"),
        ("a.txt", "\n", FAILED, "a.txt has no messages"),
        ("a.jsonl", '{"data": 1, "subject": "orders.*"}', USAGE, "'orders.*' is no subject"),
        ("a.jsonl", '{"data": 1}\nno\n', USAGE, "a.jsonl:1: the subject is missing"),
        ("a.jsonl", '{"subject": "orders.a"}', FAILED, "an object with data"),
        ("a.jsonl", '{"subject": "orders.a", "data": 1, "headers": {"a": 1}}', FAILED, "headers"),
        ("a.jsonl", '{"subject": "orders.a", "data": 1}\n{', FAILED, "a.jsonl:2: no JSON"),
        ("a.jsonl", '{"data": ' + "[" * 100_000, FAILED, "a.jsonl:1: no JSON"),
        (
            "a.jsonl",
            '{"subject": "a", "data": 1, "headers": {"A": "1\\r\\nB: 2"}}',
            FAILED,
            "break",
        ),
        ("a.jsonl", '{"subject": "orders.a", "data": 1}\n' * 1001, FAILED, "more than 1000"),
        ("a.jsonl", '{"subject": "nobody.a", "data": 1}', NOT_FOUND, "no stream takes nobody.a"),
        ("a.jsonl", '{"subject": "raw.a", "data": 1}', FAILED, "nothing was stored"),
        ("a.jsonl", '{"subject": "orders.a", "data": "\\ud800"}', FAILED, "a.jsonl:1: half of a"),
        ("a.jsonl", '{"subject": "$JS.API.INFO", "data": 1}', FAILED, "that is no stream"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else None,
)
def test_nothing_is_stored_of_what_is_wrong(
    command: Command, tmp_path: Path, name: str, content: str, code: int, told: str
) -> None:
    (tmp_path / name).write_text(content)
    before = command("stream", "ls").out
    ran = command("batch", "publish", tmp_path / name)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (code, "", 1), ran
    assert told in ran.err
    assert command("stream", "ls").out == before


def test_a_stream_that_is_full_says_so(url: str, command: Command, tmp_path: Path) -> None:
    full = {"name": "FULL", "subjects": ["full"], "max_msgs": 1, "discard": "new"}
    do(url, lambda js: js.add_stream(**full, allow_atomic=True))
    (tmp_path / "two.txt").write_text("one\ntwo\n")
    ran = command("batch", "publish", tmp_path / "two.txt", "--subject", "full")
    assert (ran.code, ran.err) == (FAILED, "penstock: maximum messages exceeded [10077]\n")


def test_a_file_that_is_missing(command: Command, tmp_path: Path) -> None:
    assert command("batch", "publish", tmp_path / "none", "--subject", "orders.a").code == NOT_FOUND
