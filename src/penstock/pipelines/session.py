"""A session of Spark Connect, which is what pipelines run in.

With `sc://` it is a session of a Spark that is elsewhere. Without, a Spark is started on this
machine, whose executors are here too (`local`) or in a cluster (`spark://`, `yarn`, `k8s://`):
tables are Parquet files below a directory, and a catalog beside them knows them from one run to the
next, so that what is read as a stream goes on where it was.

Spark's own way to start one on this machine takes port 15002 of all addresses, once. Here it is any
free port, so that several can run. That it can be asked for the port, and connected to there, is
pyspark 4.3's inside: `tests/spark/test_pipelines.py` would notice a change.
"""

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as RemoteSession

from penstock.pipelines.errors import RunError, reason

LOG = "spark.log"
_SERVICE = "org.apache.spark.sql.connect.service.SparkConnectService$"


def session(master: str, directory: Path | None, settings: Mapping[str, str]) -> SparkSession:
    """A session there; without a directory, Spark is elsewhere. Raises RunError."""
    try:
        if directory is None:
            os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"  # for SparkSession.active()
            builder = RemoteSession.builder.remote(master)
            for name, value in settings.items():
                builder = builder.config(name, value)
            return cast(SparkSession, builder.getOrCreate())
        directory.mkdir(parents=True, exist_ok=True)
        with _errors_in(directory / LOG):
            own = _own(directory.absolute(), is_alone=master.startswith("local"))
            url = _started(master, own | dict(settings))
        return cast(SparkSession, RemoteSession.builder.remote(url).getOrCreate())
    except Exception as error:  # whatever Java has to say
        hint = f" (Java 17 is needed; see {directory / LOG})" if directory else ""
        raise RunError(f"Spark does not start: {reason(error)}{hint}") from error


def _own(directory: Path, *, is_alone: bool) -> dict[str, str]:
    catalog = f"jdbc:derby:;databaseName={directory}/catalog;create=true"
    found = {
        "spark.app.name": "penstock",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={directory}",
        "spark.hadoop.javax.jdo.option.ConnectionURL": catalog,
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": (directory / "tables").as_uri(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if is_alone:  # executors of a cluster have to reach the driver by its name
        found |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.python.unix.domain.socket.enabled": "true",  # faster, and only here
        }
    return found


def _started(master: str, settings: dict[str, str]) -> str:
    """Where the Spark listens that was started; the session that is stopped last ends it."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers find what we have
    RemoteSession._start_connect_server(master, settings)
    os.environ |= {"SPARK_LOCAL_REMOTE": "1", "SPARK_CONNECT_MODE_ENABLED": "1"}
    behind = SparkSession._instantiatedSession
    assert behind is not None, "it was just started"
    service = getattr(getattr(behind._jvm, _SERVICE), "MODULE$")
    return f"sc://localhost:{service.localPort()}"  # to any other name it speaks TLS


@contextlib.contextmanager
def _errors_in(log: Path) -> Iterator[None]:
    """What a process that is started meanwhile writes as an error goes there: Java is chatty."""
    before = os.dup(2)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
