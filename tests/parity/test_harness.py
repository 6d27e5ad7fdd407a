"""The harness must be able to fail: wrong transcripts are refused, each for its own reason.

Every case here is a small scenario against the reference; the first is right, the others differ
from it in one point. Recording must give back the right one.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parity import notation, runner
from tests.parity.servers import IMPLEMENTATIONS, PENSTOCK, REFERENCE, Implementation, Server
from tests.server_process import ServerStartError

SCENARIOS = sorted((Path(__file__).parent / "scenarios").rglob("*.txt"))
RIGHT = """\
# A scenario that is right.

=== two clients
alice connect
bob connect
alice> CONNECT {"verbose":false}
bob> SUB foo 1
bob> PING
bob< +OK
bob< PONG
alice> PUB foo 2
alice> hi
alice> PING
alice> PING
alice< PONG
alice< PONG
bob< MSG foo 1 2
bob< hi
bob> NONSENSE
bob< -ERR 'Unknown Protocol Operation'
bob< closed
"""
WRONG = {
    "another payload": ("bob< hi", "bob< ho"),
    "another line": ("bob< MSG foo 1 2", "bob< MSG foo 1 reply 2"),
    "a message that does not come": ("bob< hi\n", "bob< hi\nbob< MSG foo 1 2\nbob< hi\n"),
    "a message that is not expected": ("bob< MSG foo 1 2\nbob< hi\n", ""),
    "half a message": ("bob< hi\n", ""),
    "a PONG too few, which PING and PONG alone would not see": ("alice< PONG\nalice", "alice"),
    "a PONG too many": ("alice< PONG\nalice", "alice< PONG\nalice< PONG\nalice"),
    "another order": ("bob< +OK\nbob< PONG", "bob< PONG\nbob< +OK"),
    "an answer of another client": ("bob< +OK", "alice< +OK"),
    "closed without a word": ("bob< -ERR 'Unknown Protocol Operation'\n", ""),
    "another word": ("bob< -ERR 'Unknown", "bob< -ERR 'unknown"),
    "closed and not noticed": ("bob< closed\n", ""),
    "open and taken for closed": ("alice< PONG\nbob", "alice< PONG\nalice< closed\nbob"),
}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What never comes need not be waited for long."""
    monkeypatch.setattr(runner, "ANSWER_SECONDS_MAX", 0.3)


def scenario_of(text: str, directory: Path) -> notation.Scenario:
    path = directory / "scenario.txt"
    path.write_text(text)
    return notation.read(path)


def check(text: str, directory: Path, server: Server) -> None:
    scenario = scenario_of(text, directory)
    for case in scenario.cases:
        runner.check(scenario, case, server)


def test_a_right_transcript_passes(tmp_path: Path, reference_server: Server) -> None:
    check(RIGHT, tmp_path, reference_server)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_transcript_fails(name: str, tmp_path: Path, reference_server: Server) -> None:
    right, wrong = WRONG[name]
    assert RIGHT.count(right) == 1
    with pytest.raises(runner.MismatchError):
        check(RIGHT.replace(right, wrong), tmp_path, reference_server)


@pytest.mark.parametrize("count", [63, 65])
def test_a_wrong_count_of_a_group_fails(
    count: int, tmp_path: Path, reference_server: Server
) -> None:
    text = (
        "# A queue group.\n=== count\nalice connect\nbob connect\n"
        "alice> SUB foo q 1\nalice< +OK\nbob> SUB foo q 1\nbob< +OK\nsync\n"
        "alice> \\(PUB foo 0\\r\\n\\r\\n*64)\\\nalice> PING\n"
        "gather alice bob\n"
        f"alice|bob< 64 times:\nalice|bob< +OK\nalice|bob< {count} times:\n"
        "alice|bob< MSG foo 1 0\nalice|bob<\nalice|bob< PONG\n"
    )
    with pytest.raises(runner.MismatchError, match="MSG foo"):
        check(text, tmp_path, reference_server)


def test_a_mismatch_says_where_and_what(tmp_path: Path, reference_server: Server) -> None:
    with pytest.raises(runner.MismatchError) as caught:
        check(RIGHT.replace("bob< hi", "bob< ho"), tmp_path, reference_server)
    assert "line 15" in str(caught.value)
    assert "bob< ho" in str(caught.value)
    assert "bob< hi" in str(caught.value)


def test_a_wrong_info_fails(tmp_path: Path, reference_server: Server) -> None:
    text = '# INFO.\n=== info\nalice dial\nalice< INFO {"api_lvl":5}\n'
    with pytest.raises(runner.MismatchError, match="api_lvl"):
        check(text, tmp_path, reference_server)


def test_recording_restores_what_was_lost_or_wrong(
    tmp_path: Path, reference_server: Server
) -> None:
    bare = "".join(line for line in RIGHT.splitlines(True) if "< " not in line)
    for text in (RIGHT, bare, RIGHT.replace("bob< hi", "bob< ho")):
        scenario = scenario_of(text, tmp_path)
        runner.record(scenario, scenario.cases[0], reference_server)
        recorded = notation.render(scenario)
        check(recorded, tmp_path, reference_server)
        assert sorted(recorded.splitlines()) == sorted(RIGHT.splitlines())


def test_recording_the_reference_leaves_the_other_part_alone(
    tmp_path: Path, reference_server: Server
) -> None:
    text = (
        "# Both.\n=== ping\nalice connect\nalice> PING\n"
        "only reference\nalice< wrong\n"
        "only penstock: a reason\nalice< closed\n"
    )
    scenario = scenario_of(text, tmp_path)
    runner.record(scenario, scenario.cases[0], reference_server)
    assert notation.render(scenario) == text.replace("wrong", "PONG")
    seen = [scenario.cases[0].seen_by(name) for name in (REFERENCE.name, PENSTOCK.name)]
    expected = [[i.lines for i in items if isinstance(i, notation.Expect)] for items in seen]
    assert expected == [[["alice< PONG"]], [["alice< closed"]]]


@pytest.mark.parametrize(
    "text",
    [
        "=== no comment\nalice connect\n",
        "# No case.\n",
        "# A difference without a reason.\n=== a\nonly penstock\nalice< closed\n",
        "# An unknown step.\n=== a\nalice dances\n",
        "# A bad escape.\n=== a\nalice> \\q\n",
        "# An unknown set-up.\nfast\n=== a\nalice connect\n",
        "# A signal to a shared server.\n=== a\nserver signal SIGTERM\n",
        "# The same name twice.\n=== a\nalice connect\n=== a\nbob connect\n",
    ],
)
def test_a_file_that_cannot_be_read_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(notation.NotationError):
        scenario_of(text, tmp_path)


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_files_are_written_as_they_were_read(path: Path) -> None:
    assert notation.render(notation.read(path)) == path.read_text()


@given(st.binary() | st.builds(lambda unit, n: unit * n, st.binary(max_size=3), st.integers(0, 99)))
def test_bytes_survive_the_notation(data: bytes) -> None:
    assert notation.unescape(notation.escape(data)) == data
    assert notation.unescape_line(notation.escape_line(data)) == data
    assert notation.escape(data).isprintable()


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS, ids=lambda it: it.name)
def test_a_server_that_does_not_start_says_why(implementation: Implementation) -> None:
    with pytest.raises(ServerStartError, match="no_such_key"):
        Server(implementation, config="no_such_key: 1\n")
