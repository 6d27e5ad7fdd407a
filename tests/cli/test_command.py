"""The command as a whole: what it lists, what it loads, and how it ends."""

import subprocess
import sys

import pytest
from docs.generators.command import commands_of
from typer.main import get_command

from penstock.cli.app import GROUPS, build
from penstock.cli.exits import MEANINGS
from tests.cli.run import called, penstock

COMMANDS = [name for name, _ in commands_of(get_command(build(*GROUPS)), "penstock")]
HEAVY = {"nats", "rich.progress", "duckdb", "pyarrow", "msgspec", "uvloop", "asyncio"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    ran = called(*name.split()[1:], "--help")
    assert (ran.code, ran.err) == (0, "")
    assert "Exit codes: 0 done" in " ".join(ran.out.split())


def test_the_help_text_has_every_exit_code() -> None:
    text = " ".join(called("--help").out.split())
    assert [code for code in MEANINGS if f"{code.value} {MEANINGS[code][:20]}" not in text] == []


def test_every_group_is_listed_whether_it_is_filled_or_not() -> None:
    text = called("--help").out
    assert [name for name in GROUPS if f"\n  {name} " not in text] == []
    for name in GROUPS:
        assert called(name, "--help").out.startswith(f"Usage: penstock {name}")
        assert called(name).code == 2


def test_completion_knows_the_commands_of_every_group() -> None:
    asked = {
        "_PENSTOCK_COMPLETE": "complete_bash",
        "COMP_WORDS": "penstock stream ",
        "COMP_CWORD": "2",
    }
    ran = penstock(environment=asked)
    assert ran.out.split() == ["ls", "info", "tail", "query"]


def test_a_help_text_loads_nothing_that_a_command_works_with() -> None:
    program = (
        "import sys; from penstock.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(sorted(sys.modules), file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(ran.stderr.replace("'", "").strip("[]\n").split(", "))
    assert loaded & HEAVY == set()


def test_the_command_is_a_module_too() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "penstock", "--version"], capture_output=True, text=True, check=True
    )
    assert ran.stdout == penstock("--version").out


def test_a_command_that_does_not_exist() -> None:
    ran = penstock("no-such-command")
    assert (ran.code, ran.out) == (2, "")
