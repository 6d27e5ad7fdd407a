"""`penstock counter`: added to, read, listed, and counted again."""

import asyncio

import pytest

from penstock import client
from tests.cli.conftest import Command, do

FAILED, USAGE, NOT_FOUND, FLAWED = 1, 2, 4, 5


def test_counters_are_read_alone_and_together(command: Command) -> None:
    assert command("counter", "get", "hits.home").out == "3\n"
    rows = command("counter", "get", "hits.home", "hits.shop", "--sources", "--json").lines
    assert [(row["subject"], row["value"], row["sources"]) for row in rows] == [
        ("hits.home", 3, {}),
        ("hits.shop", 7, {}),
    ]
    shown = command("counter", "ls", "HITS").out.splitlines()
    assert [line.split() for line in shown] == [
        ["subject", "value"],
        ["hits.home", "3"],
        ["hits.shop", "7"],
    ]
    only = command("counter", "ls", "HITS", "--subject", "*.shop", "--json").lines
    assert only == [{"subject": "hits.shop", "value": 7}]


def test_a_counter_is_added_to_and_taken_from(command: Command) -> None:
    assert command("counter", "add", "hits.new").out == "1\n"
    assert command("counter", "add", "hits.new", "-5").out == "-4\n"
    assert command("counter", "add", "hits.new", "+10", "--json").data["value"] == 6
    twice = [command("counter", "add", "hits.new", "--msg-id", "once").out for _ in range(2)]
    assert twice == ["7\n", "7\n"]


def test_numbers_may_have_any_length(command: Command) -> None:
    digits = "1" + "0" * 4999 + "7"
    assert command("counter", "add", "hits.huge", digits).out == f"{digits}\n"
    assert command("counter", "get", "hits.huge").out == f"{digits}\n"
    assert f'"value": {digits}}}' in command("counter", "ls", "HITS", "--json").out
    assert command("counter", "audit", "HITS").code == 0


def test_counters_that_add_up(command: Command) -> None:
    ran = command("counter", "audit", "HITS", "--subject", "hits.home", "--json")
    assert ran.code == 0
    assert ran.lines == [
        {
            "subject": "hits.home",
            "value": 3,
            "carried": 0,
            "increments": 3,
            "messages": 2,
            "flaws": [],
        }
    ]


def test_a_counter_that_does_not_add_up(command: Command, url: str) -> None:
    """Made without counting: a mirror of a stream takes what it is given."""

    async def make() -> None:
        async with client.connect(url) as js:
            await js.add_stream(name="WRONG", subjects=["wrong.>"], allow_msg_counter=True)
            wrong = await js.counters("WRONG")
            for _ in range(4):
                await wrong.add("wrong.a", 10)
            await js.delete_msg("WRONG", 2)

    asyncio.run(make())
    ran = command("counter", "audit", "WRONG", "--json")
    assert ran.code == FLAWED
    (row,) = ran.lines
    assert row["flaws"] == [{"seq": 3, "problem": "10 and 10 is not 30"}]
    shown = command("counter", "audit", "WRONG").out.splitlines()
    assert shown[-1] == "1 counters: 1 do not add up"
    do(url, lambda js: js.delete_stream("WRONG"))


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("add", "hits.home", "many"), USAGE, "no whole number"),
        (("add", "nobody.stores"), NOT_FOUND, "no stream takes nobody.stores"),
        (("get", "hits.nobody"), NOT_FOUND, "there is no counter hits.nobody in HITS"),
        (("ls", "ORDERS"), FAILED, "stream ORDERS has no counters"),
        (("audit", "ORDERS"), FAILED, "stream ORDERS has no counters"),
        (("ls", "HITTS"), NOT_FOUND, "did you mean HITS?"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_is_wrong_is_one_line(
    command: Command, arguments: tuple[str, ...], code: int, told: str
) -> None:
    ran = command("counter", *arguments)
    assert (ran.code, len(ran.err.splitlines())) == (code, 1), ran
    assert told in ran.err


@pytest.mark.parametrize("subject", ["hits.*", "hits.>", "hits a", "hits..a", ""])
def test_what_is_no_counter(command: Command, subject: str) -> None:
    for words in (("get", subject), ("add", subject, "1")):
        ran = command("counter", *words)
        assert ran.code == USAGE
        assert "is no counter" in ran.err
    assert "hits.*" not in command("counter", "ls", "HITS").out
