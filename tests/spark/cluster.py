"""A Spark that is elsewhere, on this machine: a standalone cluster, or a Connect server.

Each of their processes has an empty home and a directory of its own, so what a program finds on its
own side only (a context, a file of credentials) is not found there by accident.
"""

import os
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Self

import pyspark

HOME = Path(pyspark.__file__).parent
START_SECONDS_MAX = 240.0  # of each process; a few seconds, idle
POLL_SECONDS = 0.05
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"


class _Processes(ABC):
    """Running from `with` to the end of it; `url` is what --master takes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: list[subprocess.Popen[bytes]] = []
        self.url = ""

    def __enter__(self) -> Self:
        try:
            self.url = self._begin()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    @abstractmethod
    def _begin(self) -> str:
        """Starts everything; the URL."""

    def _start(self, name: str, program: str, *arguments: str) -> Path:
        """The log of a process that is starting."""
        home = self._folder / name
        home.mkdir(parents=True)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "SPARK_HOME": str(HOME),
            "SPARK_DAEMON_MEMORY": "512m",
            "PYSPARK_PYTHON": sys.executable,
        }
        if "JAVA_HOME" in os.environ:
            environment["JAVA_HOME"] = os.environ["JAVA_HOME"]
        log = home / "log"
        command = [str(HOME / "bin" / program), *arguments]
        with log.open("wb") as file:
            self._running.append(
                subprocess.Popen(command, cwd=home, env=environment, stdout=file, stderr=file)
            )
        return log

    def _stop(self) -> None:
        for one in self._running[::-1]:
            one.terminate()
        for one in self._running:
            one.wait()


class Cluster(_Processes):
    """A master and two workers of one core."""

    def _begin(self) -> str:
        where = ("--host", "127.0.0.1", "--webui-port", "0")
        log = self._start("master", "spark-class", _MASTER, *where, "--port", "0")
        url = _found(log, "Starting Spark master at ").split()[0]
        more = (*where, "--cores", "1", "--memory", "1g", "--work-dir", "jobs", url)
        logs = [self._start(name, "spark-class", _WORKER, *more) for name in ("one", "two")]
        for one in logs:
            _found(one, "Successfully registered with master ")
        return url

    def executors(self) -> set[str]:
        """The workers that have run something."""
        return {path.parts[-4] for path in self._folder.glob("*/jobs/*/*")}


class ConnectServer(_Processes):
    """For sessions of Spark Connect, with its own executors."""

    def _begin(self) -> str:
        conf = {
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": "0",
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
        }
        flags = [part for pair in conf.items() for part in ("--conf", "=".join(pair))]
        server = ("--class", _CONNECT, "--master", "local[2]")
        log = self._start("connect", "spark-submit", *server, *flags, "spark-internal")
        address = _found(log, "Spark Connect server started at: ").split()[0]
        return f"sc://localhost:{address.rsplit(':', 1)[1]}"


def _found(log: Path, text: str) -> str:
    """What stands behind this in the log, once it is there."""
    until = time.monotonic() + START_SECONDS_MAX
    while True:
        _, found, rest = log.read_text(errors="replace").partition(text)
        if found and "\n" in rest:
            return rest
        assert time.monotonic() < until, log.read_text(errors="replace")
        time.sleep(POLL_SECONDS)
