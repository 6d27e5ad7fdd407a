"""A power cut in mid-load: what was promised or read is on the disk, and not only in memory.

Messages are deleted, purged and streams are configured, made and removed meanwhile, and checkpoints
cut the log.
"""

import contextlib
import random
import re
import time
from pathlib import Path

import pytest

from tests.crash.client import Client, wait_load
from tests.crash.history import History, header, read_all
from tests.crash.length import CUTS, SEED
from tests.crash.load import Ballast, Meddler, Publisher, create, settle_passing
from tests.crash.node import Node
from tests.crash.tracing import WRAPPING
from tests.crash.volume import Volume, require_root
from tests.crash.waiting import wait_until
from tests.crash.wire import Wire

CHECKPOINT_SECONDS_MAX = 120.0
LOAD = 100  # acknowledgements
TRIES = 3
# What the file system would make durable by itself after some seconds hides a missing sync; and it
# must not write to the image while that is copied.
COMMITS_SELDOM = "commit=600"

pytestmark = pytest.mark.timeout(600)


class Reader(Client):
    """Asks for the last message again and again, and keeps what it was told."""

    def __init__(self, port: int, name: str) -> None:
        super().__init__(port)
        self._name = name
        self.seen: dict[int, bytes] = {}

    def work(self) -> None:
        body = b'{"last_by_subj":"%s.1"}' % self._name.encode()
        while True:
            reply = self._wire.ask(f"$JS.API.DIRECT.GET.{self._name}", body)
            answer = self._wire.wait(reply)
            if answer.headers.startswith(b"NATS/1.0\r\n"):
                self.seen[int(header(answer.headers, b"Nats-Sequence"))] = answer.payload


class Site:
    """Three streams under load: one that is only written, one that is edited too, and one whose
    large messages make checkpoints; and others that come and go."""

    def __init__(self, node: Node, seed: int) -> None:
        self.plain, self.edited = History("PLAIN", pad=300), History("EDITED", pad=300)
        self.passing: dict[str, int] = {}
        with contextlib.closing(Wire(node.port)) as wire:
            for history in (self.plain, self.edited):
                create(wire, history.name)
            create(wire, Ballast.NAME, max_msgs=4)
        self._reader = Reader(node.port, "PLAIN")
        self._clients: list[Client] = [
            Publisher(node.port, self.plain),
            Publisher(node.port, self.edited),
            Meddler(node.port, self.edited, seed, self.passing),
            Ballast(node.port),
            self._reader,
        ]
        for client in self._clients:
            client.start()

    @property
    def seen(self) -> dict[int, bytes]:
        return self._reader.seen

    def wait_load(self) -> None:
        """Until there is something of everything, and more of it than a checkpoint has seen."""
        wait_load(self._clients, lambda: len(self.plain.acked), LOAD)
        edited = self.edited
        wait_until(
            lambda: bool(edited.deleted and edited.description and self.seen),
            lambda: (len(edited.deleted), edited.description, len(self.seen)),
        )

    def finish(self) -> None:
        """The server has stopped: what it has said before still counts."""
        for client in self._clients:
            client.hang_up()
        for client in self._clients:
            client.finish()

    def check(self, wire: Wire) -> None:
        """Raises AssertionError if a promise was broken."""
        for history in (self.plain, self.edited):
            history.check(wire)
        settle_passing(wire, self.passing)
        stored = read_all(wire, "PLAIN")
        assert all(stored.get(sequence) == payload for sequence, payload in self.seen.items())
        ballast = wire.request(f"$JS.API.STREAM.INFO.{Ballast.NAME}")
        assert not ballast["state"].get("lost"), ballast


def cut_power(tmp_path: Path, wrapper: tuple[str, ...], seed: int) -> None:
    """Cuts it some time after the first checkpoint, and checks what is left."""
    require_root()
    with (
        Volume(tmp_path, mebibytes=768, options=COMMITS_SELDOM) as volume,
        Node(volume.path, wrapper=wrapper) as node,
    ):
        site = Site(node, seed)
        wait_checkpoint(volume.path)
        site.wait_load()
        time.sleep(random.Random(seed).uniform(0.0, 1.0))  # at any moment of it
        stop(node)
        site.finish()
        after = volume.after_power_cut()
        node.kill()
    assert len(site.plain.acked) > LOAD, "that was no load"
    assert site.edited.deleted, "nothing was deleted"
    assert site.edited.description, "nothing was configured"
    assert site.seen, "nothing was read"
    with after, Node(after.path) as node, contextlib.closing(Wire(node.port)) as wire:
        site.check(wire)


def stop(node: Node) -> None:
    """Returns when none of its threads does anything any more, such as the end of a sync."""
    node.signal("SIGSTOP")

    def states() -> list[str]:
        stats = (path.read_text() for path in Path(f"/proc/{node.pid}/task").glob("*/stat"))
        return [stat.rpartition(") ")[2][0] for stat in stats]

    wait_until(lambda: {*states()} <= {"T", "t"}, states)  # t: under strace


def wait_checkpoint(store: Path) -> None:
    """Until the log was cut."""
    first: list[str] = []
    deadline = time.monotonic() + CHECKPOINT_SECONDS_MAX
    while True:
        segments = sorted(path.name for path in (store / "jetstream" / "log").glob("*.log"))
        first = first or segments[:1]
        if segments and segments[:1] != first:
            return
        assert time.monotonic() < deadline, f"the log was not cut: {segments}"
        time.sleep(0.01)


@pytest.mark.parametrize("number", range(CUTS))
def test_nothing_promised_or_read_is_lost(tmp_path: Path, number: int) -> None:
    cut_power(tmp_path, (), SEED + number)


@pytest.mark.parametrize("calls", ["fsync,fdatasync", "fdatasync"])
def test_the_same_test_notices_a_missing_sync(tmp_path: Path, calls: str) -> None:
    """If the file system has happened to write everything in time, then the next time."""
    wrapper = (*WRAPPING, "-e", f"trace={calls}", "-e", f"inject={calls}:retval=0")
    for number in range(TRIES):
        home = tmp_path / str(number)
        home.mkdir()
        try:
            cut_power(home, wrapper, SEED + number)
        except AssertionError as error:
            assert re.search(r"is lost|is gone|'lost'", str(error)), error
            return
    pytest.fail("nothing was noticed")
