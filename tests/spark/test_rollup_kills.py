"""A rollup that is killed with -9, with its JVM and its workers, writes each window once.

Pipelines run as users run them, one for each way of writing, side by side. Each is killed when its
target has grown by a random amount, so while windows are being finished, and run again; the last
run goes through. No other process knows what was written but the server and the checkpoint.
"""

import json
import os
import random
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

pytest.importorskip("pyspark")

from tests.parity.servers import PENSTOCK, Server
from tests.server_process import BIN
from tests.spark.length import long
from tests.spark.sink_bench import Bench
from tests.spark.streams import AN_HOUR_NS, Published, api, make, publish
from tests.spark.test_exactly_once import kill
from tests.spark.test_pipelines import java  # noqa: F401 -- a fixture
from tests.spark.test_rollup import at

SEED = int(os.environ.get("SEED", "1"))
KILLS = int(os.environ.get("PENSTOCK_SPARK_KILLS", "10")) // 2  # of each pipeline
KEYS = 400
MINUTES = 40
POLL_SECONDS = 0.02
TARGETS: dict[str, dict[str, Any]] = {
    "IDS": {},
    "BATCHES": {"allow_atomic": True},
    "SUMS": {"allow_msg_counter": True},
    "SUMBATCHES": {"allow_msg_counter": True, "allow_atomic": True},
}


class Rollup:
    """The pipeline to one target, in one process after the other."""

    def __init__(self, server: Server, target: str, folder: Path) -> None:
        self.target = target
        self.log = folder / "log"
        folder.mkdir()
        given = ["stream=SOURCE", f"target={target}", f"prefix={target}", "by=part:2"]
        given += ["value=n", "time=at", "partitions=1", f"maxOffsetsPerTrigger={2 * KEYS}"]
        where = ["-s", server.url, "--master", "local[2]", "--output", str(folder / "output")]
        self._command = [str(BIN / "penstock"), "pipeline", "run", "rollup", *given, *where]
        self._server = server
        self._bench = Bench(server.url, target)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)

    @property
    def written(self) -> int:
        return int(api(self._server, f"STREAM.INFO.{self.target}")["state"]["messages"])

    def finished(self) -> bool:
        assert self._process is not None
        status = self._process.poll()
        assert status in (None, 0), self.log.read_text()
        return status == 0

    def found(self) -> Counter[str]:
        """Each window with how often it is there; or each counter with what it has come to."""
        stored = [(one.subject, json.loads(one.data)) for one in self._bench.stored()]
        if TARGETS[self.target].get("allow_msg_counter"):
            return Counter({subject: int(told["val"]) for subject, told in stored})
        names = ("start", "count", "sum")
        return Counter(
            " ".join([one, *(str(told[name]) for name in names)]) for one, told in stored
        )

    def kill(self) -> None:
        """All that it has started, and itself."""
        if self._process is None or self._process.poll() is not None:
            return
        own = psutil.Process(self._process.pid)
        for process in [own, *own.children(recursive=True)]:
            kill(process)
        self._process.wait()


@pytest.fixture
def rollups(tmp_path: Path) -> Iterator[list[Rollup]]:
    with Server(PENSTOCK, ("-js", "-sd", str(tmp_path / "store"))) as server:
        make(server, "SOURCE")
        publish(server, messages())
        for name, config in TARGETS.items():
            subjects = [f"{name}.>", f"spark_ledger.{name}.>"]
            make(server, name, subjects=subjects, duplicate_window=AN_HOUR_NS, **config)
        running = [Rollup(server, name, tmp_path / name) for name in TARGETS]
        try:
            yield running
        finally:
            for one in running:
                one.kill()


def messages() -> list[Published]:
    """Two of each key in each minute; and later ones, for all minutes before to be finished."""

    def body(number: int, minute: int) -> bytes:
        return json.dumps({"n": number, "at": at(60 * minute).isoformat()}).encode()

    return [
        Published(f"SOURCE.{key}", body(number, minute))
        for minute in (*range(MINUTES), MINUTES + 1)
        for number in (1, minute)
        for key in range(KEYS)
    ]


@long
@pytest.mark.timeout(300 + 240 * KILLS)
@pytest.mark.usefixtures("java")
def test_a_rollup_that_is_killed_writes_each_window_once(rollups: list[Rollup]) -> None:
    dice = random.Random(SEED)
    share = KEYS * MINUTES // (KILLS + 1)
    goals = {one: [dice.randrange(share // 4, share) for _ in range(KILLS)] for one in rollups}
    left = {one: one.written + goals[one].pop() for one in rollups}
    for one in rollups:
        one.start()
    waiting = set(rollups)
    while waiting:
        for one in sorted(waiting, key=lambda rollup: rollup.target):
            if one in left and one.written >= left[one]:
                one.kill()
                left.pop(one)
                if goals[one]:
                    left[one] = one.written + goals[one].pop()
                one.start()
            elif one.finished():
                assert one not in left, f"{one.target}: it was over before it was killed"
                waiting.remove(one)
        time.sleep(POLL_SECONDS)
    for one in rollups:
        assert one.found() == expected(one.target)


def expected(target: str) -> Counter[str]:
    if TARGETS[target].get("allow_msg_counter"):
        counts = {f"{target}.{key}.count": 2 * MINUTES for key in range(KEYS)}
        total = sum(1 + minute for minute in range(MINUTES))
        return Counter(counts | {f"{target}.{key}.sum": total for key in range(KEYS)})
    return Counter(
        f"{target}.{key} {at(60 * minute):%Y-%m-%dT%H:%M:%SZ} 2 {1 + minute}"
        for minute in range(MINUTES)
        for key in range(KEYS)
    )
