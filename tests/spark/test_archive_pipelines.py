"""Archive and restore as their users run them: with penstock, and with Spark's own command."""

import base64
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from penstock.pipelines.catalog import find
from tests.parity.servers import Server
from tests.spark.length import long
from tests.spark.plain_run import spark_pipelines
from tests.spark.streams import Published, api, make, numbered, publish
from tests.spark.test_pipelines import java, run  # noqa: F401 -- java is a fixture

pytestmark = [pytest.mark.timeout(640), pytest.mark.usefixtures("java")]  # each starts Spark twice


def archived_messages(path: Path) -> list[dict[str, Any]]:
    table = ds.dataset(path / "messages", partitioning="hive").to_table().sort_by("seq")
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def test_counters_are_archived_and_restored(
    penstock_streaming: Server, name: str, tmp_path: Path
) -> None:
    url, path, target = penstock_streaming.url, tmp_path / "archive", f"{name}T"
    make(penstock_streaming, name, allow_msg_counter=True)
    publish(
        penstock_streaming,
        [Published(f"{name}.{n % 2}", b"", {"Nats-Incr": f"+{n}"}) for n in range(1, 11)],
    )
    api(penstock_streaming, f"STREAM.PURGE.{name}", {"seq": 3})
    code, told, errors = run(
        "archive", f"stream={name}", f"path={path}", "-s", url, output=tmp_path
    )
    assert (code, errors) == (0, "")
    assert (told["messages"], told["added"], told["sequences"]) == (8, 8, "3 to 10")
    assert told["missing"] == "0 that the stream had removed"
    assert sum(row["messages"] for row in told["rows"]) == 8
    api(penstock_streaming, f"STREAM.DELETE.{name}")
    subjects = [f"{name}.*", f"spark_ledger.{target}.>"]
    make(penstock_streaming, target, subjects=subjects, allow_msg_counter=True, allow_atomic=True)
    given = [f"target={target}", f"path={path}", "-s", url]
    code, told, errors = run("restore", *given, output=tmp_path)
    assert (code, errors) == (0, "")
    assert (told["messages"], told["sequences"]) == (8, "3 to 10")
    assert told["written by"] == "batch: the stream has allow_atomic"
    assert told["history"].startswith("2 increments stand for others")
    assert told["note"].startswith("sequences and times are new")
    for counter, value in (("0", 2 + 4 + 6 + 8 + 10), ("1", 1 + 3 + 5 + 7 + 9)):
        request = {"last_by_subj": f"{name}.{counter}"}
        message = api(penstock_streaming, f"STREAM.MSG.GET.{target}", request)["message"]
        assert message["data"] == encoded(value)


def encoded(value: int) -> str:
    return base64.b64encode(b'{"val":"%d"}' % value).decode()


@long
def test_spark_archives_and_restores_without_us(
    penstock_streaming: Server, name: str, tmp_path: Path
) -> None:
    path, target = tmp_path / "archive", f"{name}T"
    make(penstock_streaming, name)
    publish(penstock_streaming, numbered(name, 20))
    by_spark(penstock_streaming, tmp_path, "archive", stream=name, path=str(path))
    assert [int(row["data"]) for row in archived_messages(path)] == [*range(1, 21)]
    api(penstock_streaming, f"STREAM.DELETE.{name}")
    make(penstock_streaming, target, subjects=[f"{name}.>"])
    by_spark(penstock_streaming, tmp_path, "restore", target=target, path=str(path))
    assert api(penstock_streaming, f"STREAM.INFO.{target}")["state"]["messages"] == 20


def by_spark(server: Server, folder: Path, name: str, **parameters: str) -> None:
    pipeline = find(name)
    assert pipeline is not None
    spec = folder / f"spec_{name}" / pipeline.spec.name
    spec.parent.mkdir()
    (spec.parent / "definitions.py").write_text(
        f"from penstock.pipelines.{name} import definitions  # noqa: F401\n"
    )
    given = {"servers": server.url} | parameters
    lines = [f"  spark.penstock.{key}: {value}" for key, value in given.items()]
    spec.write_text(
        f"name: {name}\nstorage: {(folder / 'storage').as_uri()}\nconfiguration:\n"
        + "\n".join(lines)
        + "\nlibraries:\n  - glob:\n      include: definitions.py\n"
    )
    ran = spark_pipelines(spec, folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
