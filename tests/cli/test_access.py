"""How commands find a server and are let in: flags, variables, and contexts of the nats command."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import penstock as package
from penstock.cli.access import duration
from tests.cli.run import Ran, called
from tests.server_process import BIN

FAILED, USAGE, NO_CONNECTION, NOT_FOUND = 1, 2, 3, 4


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    """A server that wants a token."""
    with package.serve(token="secret") as url:
        yield url


def with_context(folder: Path, *arguments: str, selected: str = "", **fields: Any) -> Ran:
    """Runs a command where there is one context, `work`."""
    contexts = folder / "nats" / "context"
    contexts.mkdir(parents=True, exist_ok=True)
    (contexts / "work.json").write_text(json.dumps({"description": "", **fields}))
    (folder / "nats" / "context.txt").write_text(selected)
    return called(*arguments, environment={"XDG_CONFIG_HOME": str(folder)})


def test_flags_and_variables(guarded: str) -> None:
    flags = ("--server", guarded, "--token", "secret")
    assert called("stream", "ls", *flags).code == 0
    variables = {"NATS_URL": guarded, "NATS_TOKEN": "secret"}
    assert called("stream", "ls", environment=variables).code == 0
    alone = {"NATS_URL": guarded, "NATS_USER": "secret"}  # a user without a password is a token
    assert called("stream", "ls", environment=alone).code == 0
    assert called("stream", "ls", "--server", f"{guarded},nats://127.0.0.1:1", *flags[2:]).code == 0


def test_a_context_is_used_by_its_name_or_when_it_is_selected(guarded: str, tmp_path: Path) -> None:
    access = {"url": guarded, "token": "secret"}
    assert with_context(tmp_path, "stream", "ls", "--context", "work", **access).code == 0
    assert with_context(tmp_path, "stream", "ls", selected="work", **access).code == 0
    assert with_context(tmp_path, "stream", "ls", "--context", "work", url=guarded).code == 3


def test_a_flag_replaces_what_the_context_says_of_the_same_thing(
    guarded: str, tmp_path: Path
) -> None:
    wrong = {"url": "nats://127.0.0.1:1", "token": "secret"}
    assert with_context(tmp_path, "stream", "ls", selected="work", **wrong).code == NO_CONNECTION
    flags = ("--server", guarded)
    assert with_context(tmp_path, "stream", "ls", *flags, selected="work", **wrong).code == 0


@pytest.mark.parametrize(
    ("fields", "arguments", "code", "told"),
    [
        ({}, ("--context", "wrk"), NOT_FOUND, "did you mean work?"),
        ({"nsc": "nsc://a"}, ("--context", "work"), FAILED, "nsc generate creds"),
        ({"creds": "/nonexistent"}, ("--context", "work"), NOT_FOUND, "/nonexistent"),
        ({}, ("--server", "127.0.0.1:1"), NO_CONNECTION, "penstock serve -js"),
        ({}, ("--timeout", "soon"), USAGE, "write 500ms, 5s, 2m or 1h"),
        ({}, ("--timeout", "0s"), USAGE, "write 500ms, 5s, 2m or 1h"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_what_is_wrong_is_one_line_with_a_hint(
    tmp_path: Path, fields: dict[str, str], arguments: tuple[str, ...], code: int, told: str
) -> None:
    ran = with_context(tmp_path, "stream", "ls", *arguments, **fields)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (code, "", 1), ran
    assert told in ran.err


@pytest.mark.parametrize("scheme", ["nats://", ""])
def test_a_password_is_not_shown(scheme: str) -> None:
    ran = called("stream", "ls", "--server", f"{scheme}me:hidden@127.0.0.1:1")
    assert ran.code == NO_CONNECTION
    assert "hidden" not in ran.err


def test_a_server_that_does_not_let_us_in(guarded: str) -> None:
    ran = called("stream", "ls", "--server", guarded)
    assert (ran.code, len(ran.err.splitlines())) == (NO_CONNECTION, 1)
    assert "give --user and --password" in ran.err


def test_a_server_without_jetstream() -> None:
    with package.serve(jetstream=False) as url:
        ran = called("stream", "ls", "--server", url)
    assert (ran.code, len(ran.err.splitlines())) == (FAILED, 1)
    assert "start it with -js" in ran.err


def test_a_server_that_does_not_begin_with_tls(guarded: str) -> None:
    ran = called("stream", "ls", "--server", guarded, "--tlsfirst", "--timeout", "500ms")
    assert (ran.code, len(ran.err.splitlines())) == (NO_CONNECTION, 1)
    assert "TLS" in ran.err


def test_servers_that_are_none() -> None:
    ran = called("stream", "ls", "--server", "localhost:notaport")
    assert ran.code == NO_CONNECTION
    assert len(ran.err.splitlines()) == 1


def test_a_context_with_a_number_for_a_text(tmp_path: Path) -> None:
    ran = with_context(tmp_path, "stream", "ls", "--context", "work", url=5)
    assert ran.code == FAILED
    assert "url is no text" in ran.err


def test_a_token_in_an_url_is_unescaped() -> None:
    with package.serve(token="s:e@c/r%t") as url:
        place = url.rpartition("@")[2].removeprefix("nats://")
        ran = called("stream", "ls", "--server", f"nats://s%3Ae%40c%2Fr%25t@{place}")
        assert ran.code == 0, ran.err


def test_output_that_cannot_be_written(guarded: str) -> None:
    words = ["stream", "ls", "--json", "--server", guarded, "--token", "secret"]
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [BIN / "penstock", *words], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert b"Traceback" not in ran.stderr
    assert len(ran.stderr.splitlines()) <= 1


@pytest.mark.parametrize(
    ("text", "seconds"), [("5", 5), ("1.5", 1.5), ("200ms", 0.2), ("1m30s", 90), ("1h0.5m", 3630)]
)
def test_durations_are_those_of_the_nats_command(text: str, seconds: float) -> None:
    assert duration(text, "--timeout") == pytest.approx(seconds)
