"""`penstock config check`: every problem of a file, with its place."""

from pathlib import Path

from tests.cli.run import called

USAGE, NOT_FOUND, FLAWED = 2, 4, 5


def test_a_file_that_can_be_used(tmp_path: Path) -> None:
    path = tmp_path / "server.conf"
    path.write_text("port: 4333\njetstream { store_dir: data }\n")
    ran = called("config", "check", path)
    assert (ran.code, ran.out) == (0, f"{path} is valid\n")
    assert called("config", "check", path, "--json").data == {
        "file": str(path),
        "valid": True,
        "problems": [],
        "warnings": [],
    }


def test_every_problem_has_its_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "server.conf"
    path.write_text("port: many\n\n  no_such_key: 1\n")
    ran = called("config", "check", path, "--json")
    assert ran.code == FLAWED
    places = [(one["line"], one["column"]) for one in ran.data["problems"]]
    assert [line for line, _ in places] == [1, 3]
    text = called("config", "check", path)
    assert (text.code, len(text.out.splitlines())) == (FLAWED, 2)


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    ran = called("config", "check", tmp_path / "none")
    assert (ran.code, len(ran.err.splitlines())) == (NOT_FOUND, 1)
    folder = called("config", "check", tmp_path)
    assert (folder.code, len(folder.err.splitlines())) == (USAGE, 1)
    assert "is a directory" in folder.err
