"""`penstock pipeline`: what it lists and refuses. What runs with Spark is in tests/spark."""

import sys
from pathlib import Path
from unittest import mock

import pytest

from penstock.pipelines.catalog import PIPELINES, Pipeline, find
from penstock.pipelines.checking import check
from tests.cli.conftest import Command
from tests.cli.run import called

S3 = "--output=s3a://bucket/pipelines"
FAILED, USAGE, NO_CONNECTION, NOT_FOUND = 1, 2, 3, 4


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
