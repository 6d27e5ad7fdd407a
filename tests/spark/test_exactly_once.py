"""Exactly once, tried for real: a copy of a stream is killed again and again, and is a copy.

A driver in a process of its own copies one stream to two others at once, one in each mode of the
sink. Meanwhile dice decide what is killed with -9: the driver with its JVM, one of its Python
workers, or the server, which is started again at the same place. The driver is started again
whenever it has ended without having finished. At the end both copies hold every message of the
source once, in any order, besides the ledger.

Kills come when the copies have grown by a random amount, so they hit work and not start-up.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.parity.servers import Implementation, Server
from tests.spark.length import LONG_WITH_REFERENCE
from tests.spark.ports import free_port
from tests.spark.sink_bench import Bench, payloads

ROWS = int(os.environ.get("PENSTOCK_SPARK_ROWS", "4000"))
KILLS = int(os.environ.get("PENSTOCK_SPARK_KILLS", "3"))
SERVER_KILLS = int(os.environ.get("PENSTOCK_SPARK_SERVER_KILLS", "1"))
SEED = int(os.environ.get("SEED", "1"))
POLL_SECONDS = 0.05
ROWS_PER_BATCH = min(ROWS // 6, 10_000)
TARGETS = {"IDS": "msgid", "BATCHES": "batch"}
AN_HOUR = 3600  # a busy machine takes minutes to start Spark again


class Machine:
    """The server and the driver, each of which may be killed and started again."""

    def __init__(self, implementation: Implementation, folder: Path) -> None:
        self._implementation = implementation
        self._folder = folder
        self._port = str(free_port())
        self.server = self._start_server()
        self._driver: subprocess.Popen[bytes] | None = None
        self.drivers = 0
        self.log = folder / "driver.log"

    def _start_server(self) -> Server:
        store = str(self._folder / "store")
        return Server(self._implementation, ("-js", "-sd", store, "-p", self._port))

    def start_driver(self) -> None:
        targets = [f"{name}:{mode}" for name, mode in TARGETS.items()]
        checkpoints = str(self._folder / "checkpoints")
        program = [sys.executable, "-m", "tests.spark.copying", self.server.url, "SOURCE"]
        command = [*program, checkpoints, str(ROWS_PER_BATCH), *targets]
        with self.log.open("ab") as log:
            self._driver = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        self.drivers += 1

    def finished(self) -> bool:
        """True when the copy is done; starts a driver if there is none."""
        if self._driver is None:
            self.start_driver()
            return False
        status = self._driver.poll()
        if status is None:
            return False
        self._driver = None
        return status == 0

    def kill_driver(self) -> bool:
        """The program, its JVM, and what they have started; true if there was one."""
        if self._driver is None or self._driver.poll() is not None:
            return False
        for process in [psutil.Process(self._driver.pid), *self._children()]:
            kill(process)
        self._driver.wait()
        self._driver = None
        return True

    def kill_worker(self, dice: random.Random) -> bool:
        """One of the Python processes that run tasks; true if there was one."""
        workers = [one for one in self._children() if is_worker(one)]
        return bool(workers) and kill(dice.choice(workers))

    def kill_server(self) -> bool:
        self.server.close()
        self.server = self._start_server()
        return True

    def _children(self) -> list[psutil.Process]:
        if self._driver is None or self._driver.poll() is not None:
            return []
        return psutil.Process(self._driver.pid).children(recursive=True)

    def close(self) -> None:
        self.kill_driver()
        self.server.close()


def kill(process: psutil.Process) -> bool:
    """False if it was gone already."""
    try:
        process.send_signal(signal.SIGKILL)
    except psutil.NoSuchProcess:
        return False
    return True


def is_worker(process: psutil.Process) -> bool:
    """Whether it runs tasks: a child of the process that Spark makes for that."""
    try:
        parent = process.parent()
        return parent is not None and "pyspark.daemon" in parent.cmdline()
    except psutil.Error:
        return False


@pytest.fixture
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    machine = Machine(request.param, tmp_path)
    try:
        yield machine
    finally:
        machine.close()


def fill(machine: Machine) -> None:
    source = Bench(machine.server.url, "SOURCE")
    source.create(subjects=["SOURCE.>"], allow_direct=True)

    async def publish(js):  # type: ignore[no-untyped-def]
        for number in range(ROWS):
            is_answered = number % 1000 == 999 or number == ROWS - 1  # servers drop a crowd
            send = js.publish if is_answered else js.connection.publish
            await send(f"SOURCE.{number % 5}", b"%d" % number)
        assert (await js.stream_info("SOURCE")).state.messages == ROWS

    source.run(publish)
    for name, mode in TARGETS.items():
        subjects = [f"{name}.>", f"ledger.{name}.>"]
        config = {"subjects": subjects, "duplicate_window": AN_HOUR}
        Bench(machine.server.url, name).create(allow_atomic=mode == "batch", **config)


def copied(machine: Machine) -> int:
    async def program(js):  # type: ignore[no-untyped-def]
        return sum([(await js.stream_info(name)).state.messages for name in TARGETS])

    return int(Bench(machine.server.url, "").run(program))


@pytest.mark.timeout(240 + 120 * (KILLS + SERVER_KILLS))
@pytest.mark.parametrize("machine", LONG_WITH_REFERENCE, indirect=True, ids=lambda one: one.name)
def test_a_copy_that_is_killed_again_and_again_is_a_copy(machine: Machine) -> None:
    dice = random.Random(SEED)
    fill(machine)
    blows = ["driver"] * (KILLS - KILLS // 2) + ["worker"] * (KILLS // 2)
    blows += ["server"] * SERVER_KILLS
    dice.shuffle(blows)
    share = ROWS // len(blows)  # half of both copies: some is written while a kill is on its way
    for blow in blows:
        strike(machine, blow, copied(machine) + dice.randrange(share // 4, share), dice)
    while not machine.finished():
        time.sleep(POLL_SECONDS)
    check(machine)


def strike(machine: Machine, blow: str, goal: int, dice: random.Random) -> None:
    """Waits until so much is copied, and kills."""
    while True:
        assert not machine.finished(), f"it was over before the {blow} was killed"
        if copied(machine) >= goal:
            is_done = {
                "driver": machine.kill_driver,
                "worker": lambda: machine.kill_worker(dice),
                "server": machine.kill_server,
            }[blow]()
            if is_done:
                return
        time.sleep(POLL_SECONDS)


def check(machine: Machine) -> None:
    expected = Counter(b"%d" % number for number in range(ROWS))
    for name, mode in TARGETS.items():
        found = Counter(payloads(Bench(machine.server.url, name).stored()))
        missing, twice = expected - found, found - expected
        assert not missing, f"{mode}: {len(missing)} messages are missing, such as {min(missing)!r}"
        assert not twice, f"{mode}: {len(twice)} are there twice, such as {min(twice)!r}"
