"""`penstock pipeline`: what it lists and refuses. What runs with Spark is in tests/spark."""

import json
import sys
from pathlib import Path
from unittest import mock

import pytest

from penstock.contexts import credentials
from penstock.pipelines.catalog import PIPELINES, ParameterError, Pipeline, find
from penstock.pipelines.checking import check
from penstock.pipelines.outcome import Outcome
from penstock.pipelines.paths import check_absolute
from tests.cli.conftest import Command
from tests.cli.run import Ran, called

S3 = "--output=s3a://bucket/pipelines"
DONE, FAILED, USAGE, NO_CONNECTION, NOT_FOUND = 0, 1, 2, 3, 4


def test_every_pipeline_is_listed_and_shown() -> None:
    names = [one.name for one in PIPELINES]
    assert [row["name"] for row in called("pipeline", "list", "--json").lines] == names
    shown = called("pipeline", "list").out.splitlines()
    assert [line.split()[0] for line in shown[1:]] == names
    for one in PIPELINES:
        data = called("pipeline", "show", one.name, "--json").data
        assert data["tables"] == dict(one.tables)
        text = called("pipeline", "show", one.name).out
        assert f" run --spec {one.spec}" in text
        assert all(table in text for table in one.tables)


def test_every_folder_of_pipelines_is_in_the_catalog() -> None:
    folder = PIPELINES[0].spec.parent.parent
    assert sorted(one.parent.name for one in folder.glob("*/spark-pipeline.yaml")) == sorted(
        one.name for one in PIPELINES
    )


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("show", "rcount"), NOT_FOUND, "there are: recount"),
        (("run", "rcount"), NOT_FOUND, "there are: recount"),
        (("run", "recount"), USAGE, "recount needs stream"),
        (("run", "recount", "strem=HITS"), USAGE, "did you mean stream?"),
        (("run", "recount", "stream=HITS", "--master", "sc://x"), USAGE, "must be a URI"),
        (("run", "recount", "stream=HITS", "password=p"), USAGE, "cannot be a parameter"),
        (("run", "recount", "stream=HITS", "servers=127.0.0.1:1"), NO_CONNECTION, "no server"),
        (("run", "recount", "stream=HITS", "context=none"), NOT_FOUND, "no context 'none'"),
        (
            (*("run", "recount", "stream=HITS", "--master", "sc://x", "--token", "t"), S3),
            USAGE,
            "make a context of the same name here and where its driver runs",
        ),
        (("run", "recount", "HITS"), USAGE, "'HITS' is not NAME=VALUE"),
        (("run", "recount", "stream=HITS", "stream=A"), USAGE, "twice: 'HITS' and 'A'"),
        (("run", "recount", "stream=HITS", "tls.first=maybe"), USAGE, "allowed: true, false"),
        (("run", "recount", "stream=HITTS"), NOT_FOUND, "did you mean HITS?"),
        (("run", "rollup", "stream=ORDERS", "target=HITTS"), NOT_FOUND, "did you mean HITS?"),
        (("run", "tables", "bucket=none"), NOT_FOUND, "KV_none"),
        (("run", "recount", "stream=HITS", "-s", "127.0.0.1:1"), NO_CONNECTION, "no server"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_what_is_wrong_is_told_before_spark_starts(
    command: Command, tmp_path: Path, arguments: tuple[str, ...], code: int, told: str
) -> None:
    has_output = arguments[0] != "run" or S3 in arguments
    output = () if has_output else ("--output", str(tmp_path))
    ran = command("pipeline", *arguments, *output)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (code, "", 1), ran
    assert told in ran.err
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("rollup", {"window": "0s"}, "window is '0s'; allowed: a time such as 30 seconds"),
        ("rollup", {"delay": "-1 seconds"}, "delay is '-1 seconds'; allowed: a time such as"),
        ("rollup", {"by": "part:0"}, "by is 'part:0'; allowed: all, subject, part:2"),
        ("rollup", {"target": "HITS"}, "target is 'HITS', the stream itself"),
        ("rollup", {"digits": "10"}, "digits is '10'; allowed: 0 to 9"),
        ("rollup", {"partitions": "0"}, "partitions is '0'; allowed: 1 to 10000"),
        ("rollup", {"partitions": "four"}, "partitions is 'four'; allowed: 1 to 10000"),
        ("rollup", {"partitions": "9" * 5000}, "allowed: 1 to 10000"),
        ("rollup", {"sinkMode": "twice"}, "sinkMode is 'twice'; allowed: auto, msgid, batch"),
        ("rollup", {"maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger: '0' cannot be; allowed"),
        ("rollup", {"subjects": "a..b"}, "subjects: 'a..b' cannot be; allowed: subjects such as"),
        ("acks", {"slow": "-1"}, "slow is '-1'; allowed: milliseconds, more than 0"),
        ("acks", {"plot": "acks.doc"}, "plot is 'acks.doc'; allowed: a file"),
        ("archive", {"path": "s3a://bucket/x"}, "path is 's3a://bucket/x'; allowed: a folder"),
        ("archive", {"maxBytesPerTrigger": "1k"}, "maxBytesPerTrigger: '1k' cannot be; allowed"),
        ("archive", {"failOnDataLoss": "no"}, "failOnDataLoss: 'no' cannot be; allowed: true"),
        ("restore", {"ttl": "double"}, "ttl is 'double'; allowed: keep, drop"),
        ("restore", {"from": "today"}, "from is 'today'; allowed: a sequence such as 17"),
        ("tables", {"bucket": "a.b"}, "bucket is 'a.b'; allowed: letters, digits"),
        ("tables", {"method": "cdc"}, "format is 'parquet', and method cdc needs"),
    ],
    ids=lambda value: (
        " ".join(f"{k}={v[:20]}" for k, v in value.items()) if isinstance(value, dict) else None
    ),
)
def test_what_a_parameter_cannot_be_is_told_before_spark_starts(
    command: Command, tmp_path: Path, name: str, given: dict[str, str], told: str
) -> None:
    pipeline = find(name)
    assert pipeline is not None
    needed = {"stream": "HITS", "target": "ORDERS", "bucket": "B", "path": str(tmp_path / "none")}
    known = {one.name for one in pipeline.parameters}
    values = {key: value for key, value in needed.items() if key in known} | given
    pairs = [f"{key}={value}" for key, value in values.items()]
    ran = command("pipeline", "run", name, *pairs, "--output", str(tmp_path))
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (USAGE, "", 1), ran
    assert told in ran.err
    assert [*tmp_path.iterdir()] == []


def ran_with(
    command: Command, folder: Path, name: str, *pairs: str, output: Path | None = None
) -> Ran:
    """A run that must not come as far as Spark."""
    given = ["stream=HITS", *pairs] if name != "restore" else ["target=ORDERS", *pairs]
    with mock.patch("penstock.cli.pipeline._run", side_effect=AssertionError("Spark")):
        return command("pipeline", "run", name, *given, "--output", str(output or folder / "out"))


def make_files(folder: Path) -> None:
    (folder / "file").write_text("text")
    (folder / "full").mkdir()
    (folder / "full" / "letter.txt").write_text("dear")


@pytest.mark.parametrize(
    ("name", "pair", "told"),
    [
        ("archive", "path=file", "path is '{here}/file', and {here}/file is not a folder"),
        ("archive", "path=file/deep/er", "and {here}/file is not a folder"),
        ("archive", "path=full", "path: {here}/full has files and is no archive"),
        ("archive", "path=file:{here}/file", "and {here}/file is not a folder"),
        ("archive", "path=/proc/x", "path is '/proc/x', which cannot be made: "),
        (
            "acks",
            "plot=none/x.png",
            "and there is no folder {here}/none; make it, or say plot=none",
        ),
        (
            "acks",
            "plot=file/x.png",
            "and there is no folder {here}/file; make it, or say plot=none",
        ),
        ("restore", "path=file", "path is '{here}/file', and {here}/file is not a folder"),
        ("restore", "path=none", "path: there is no archive: {here}/none/archive.json is missing"),
    ],
)
def test_a_path_that_cannot_be_is_told_before_spark_starts(
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    pair: str,
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    make_files(tmp_path)
    ran = ran_with(command, tmp_path, name, pair.format(here=tmp_path))
    assert (ran.code, len(ran.err.splitlines())) == (USAGE, 1), ran
    assert told.format(here=tmp_path) in ran.err
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file", "full"]


def test_an_output_that_is_a_file_is_told_before_spark_starts(
    command: Command, tmp_path: Path
) -> None:
    make_files(tmp_path)
    ran = ran_with(command, tmp_path, "recount", output=tmp_path / "file")
    assert (ran.code, len(ran.err.splitlines())) == (USAGE, 1), ran
    assert f"--output is '{tmp_path}/file', and {tmp_path}/file is not a folder" in ran.err


def told_to_spark(command: Command, *arguments: str) -> dict[str, str]:
    """Every parameter as definitions get it."""
    with mock.patch("penstock.cli.pipeline._run") as run:
        run.return_value = Outcome((), ())
        ran = command("pipeline", "run", *arguments)
    assert ran.code == DONE, ran
    values: dict[str, str] = run.call_args.args[1]
    return values


def test_relative_paths_are_where_the_caller_is(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark loads definitions somewhere else, and would make folders there."""
    monkeypatch.chdir(tmp_path)
    given = ("stream=HITS", "path=a/b", "storeDir=../store")
    values = told_to_spark(command, "archive", *given, "--output", "out")
    assert values["path"] == str(tmp_path / "a" / "b")
    assert values["storeDir"] == str(tmp_path / ".." / "store")
    assert (tmp_path / "a" / "b").is_dir() and (tmp_path / "out").is_dir()
    values = told_to_spark(command, "acks", "stream=HITS", "plot=x.png", "--output", "out")
    assert values["plot"] == str(tmp_path / "x.png")
    values = told_to_spark(command, "acks", "stream=HITS", "plot=none", "--output", "out")
    assert values["plot"] == "none"


def test_files_of_a_connection_are_where_the_caller_is(
    command: Command, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("c.creds", "ca.pem"):
        (tmp_path / name).write_text(credentials("jwt", "seed"))
    secret = {"url": url, "user": "u", "password": "p", "ca": "ca.pem"}
    (tmp_path / "work.json").write_text(json.dumps(secret))
    with mock.patch("penstock.cli.pipeline.connected"):
        values = told_to_spark(command, "recount", "stream=HITS", "creds=c.creds")
        assert values["creds"] == str(tmp_path / "c.creds")
        for way in ("--context=./work.json", "context=./work.json"):
            values = told_to_spark(command, "recount", "stream=HITS", way)
            assert values["context"] == str(tmp_path / "work.json")
            assert values["tls.ca"] == str(tmp_path / "ca.pem")


@pytest.mark.parametrize(
    "pair", [("path", "orders"), ("storeDir", "."), ("context", "./x.json"), ("creds", "a.creds")]
)
def test_plain_spark_pipelines_takes_no_relative_paths(pair: tuple[str, str]) -> None:
    """It runs definitions in the folder of their spec, which is ours, and says not where it was."""
    with pytest.raises(ParameterError, match="allowed: an absolute path"):
        check_absolute(dict([pair]))
    check_absolute({"path": "/data", "storeDir": "", "context": "work", "plot": "acks.png"})
    check_absolute({"path": "file:///data"})


@pytest.mark.parametrize("one", PIPELINES, ids=lambda one: one.name)
def test_defaults_are_what_parameters_can_be(one: Pipeline) -> None:
    """And so is an empty value, which stands for the default."""
    needed = {each.name: f"a_{each.name}" for each in one.parameters if each.default is None}
    values = one.checked({each.name: "" for each in one.parameters} | needed)
    assert values == one.checked(needed)
    check(one, values)


def test_without_spark_it_says_what_to_install() -> None:
    with mock.patch.dict(sys.modules, {"pyspark": None, "pyspark.pipelines": None}):
        ran = called("pipeline", "run", "recount", "stream=HITS")
    assert (ran.code, len(ran.err.splitlines())) == (FAILED, 1)
    assert "pip install 'penstock[spark]'" in ran.err
