"""A power cut in mid-load: what was promised or read is on the disk, and not only in memory.

Messages are deleted, purged and streams are configured, made and removed meanwhile, and checkpoints
cut the log.
"""

import contextlib
import copy
import random
import threading
import time
from pathlib import Path

import pytest

from tests.crash.history import History, header, read_all
from tests.crash.length import CUTS, SEED
from tests.crash.load import Ballast, Meddler, Publisher, create, settle_passing
from tests.crash.node import Node
from tests.crash.volume import Volume, require_root
from tests.crash.wire import Wire

STRACE = ("strace", "-f", "-qq", "-o", "/dev/null", "--seccomp-bpf")
CHECKPOINT_SECONDS_MAX = 60.0


class Reader(threading.Thread):
    """Asks for the last message again and again, and keeps what it was told."""

    def __init__(self, port: int, name: str) -> None:
        super().__init__(daemon=True)
        self._wire = Wire(port)
        self._name = name
        self.seen: dict[int, bytes] = {}

    def finish(self) -> None:
        self.join(5)
        self._wire.close()

    def run(self) -> None:
        body = b'{"last_by_subj":"%s.1"}' % self._name.encode()
        with contextlib.suppress(OSError):  # stopped
            while True:
                reply = self._wire.ask(f"$JS.API.DIRECT.GET.{self._name}", body)
                answer = self._wire.wait(reply, 1.0)
                if answer.headers.startswith(b"NATS/1.0\r\n"):
                    self.seen[int(header(answer.headers, b"Nats-Sequence"))] = answer.payload


class Site:
    """Three streams under load: one that is only written, one that is edited too, and one whose
    large messages make checkpoints; and others that come and go."""

    def __init__(self, node: Node, seed: int) -> None:
        self.plain, self.edited = History("PLAIN", pad=300), History("EDITED", pad=300)
        self.passing: dict[str, int] = {}
        self.seen: dict[int, bytes] = {}
        with contextlib.closing(Wire(node.port)) as wire:
            for history in (self.plain, self.edited):
                create(wire, history.name)
            create(wire, Ballast.NAME, max_msgs=4)
        self._reader = Reader(node.port, "PLAIN")
        self._threads = [
            Publisher(node.port, self.plain),
            Publisher(node.port, self.edited),
            Meddler(node.port, self.edited, seed, self.passing),
            Ballast(node.port),
            self._reader,
        ]
        for thread in self._threads:
            thread.start()

    def freeze(self) -> None:
        """From now on nothing counts as promised."""
        self.plain, self.edited = copy.deepcopy(self.plain), copy.deepcopy(self.edited)
        self.passing, self.seen = dict(self.passing), dict(self._reader.seen)

    def finish(self) -> None:
        for thread in self._threads:
            thread.finish()

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
    with Volume(tmp_path, mebibytes=768) as volume, Node(volume.path, wrapper=wrapper) as node:
        site = Site(node, seed)
        wait_checkpoint(volume.path)
        time.sleep(random.Random(seed).uniform(0.0, 1.0))
        node.signal("SIGSTOP")
        time.sleep(0.2)  # what was sent before has arrived
        site.freeze()
        after = volume.after_power_cut()
        node.kill()
        site.finish()
    assert len(site.plain.acked) > 100, "that was no load"
    assert site.edited.deleted, "nothing was deleted"
    assert site.edited.description, "nothing was configured"
    assert site.seen, "nothing was read"
    with after, Node(after.path) as node, contextlib.closing(Wire(node.port)) as wire:
        site.check(wire)


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
    wrapper = (*STRACE, "-e", f"trace={calls}", "-e", f"inject={calls}:retval=0")
    with pytest.raises(AssertionError, match=r"is lost|is gone|'lost'"):
        cut_power(tmp_path, wrapper, SEED)
