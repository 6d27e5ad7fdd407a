"""A power cut in mid-load: what was acknowledged or read is on the disk, and not only in memory."""

import contextlib
import random
import threading
import time
from pathlib import Path

import pytest

from tests.crash.history import History, header, read_all
from tests.crash.length import CUTS
from tests.crash.load import Publisher, create
from tests.crash.node import Node
from tests.crash.volume import Volume, require_root
from tests.crash.wire import Wire

NO_SYNC = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync")
NO_SYNC += ("-e", "inject=fsync,fdatasync:retval=0")


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


def cut_power(tmp_path: Path, wrapper: tuple[str, ...], seconds: float) -> None:
    """Raises AssertionError if a promise was broken."""
    require_root()
    history = History("PLAIN", pad=300)
    with Volume(tmp_path, mebibytes=512) as volume, Node(volume.path, wrapper=wrapper) as node:
        with contextlib.closing(Wire(node.port)) as wire:
            create(wire, "PLAIN")
        publisher, reader = Publisher(node.port, history), Reader(node.port, "PLAIN")
        publisher.start()
        reader.start()
        time.sleep(seconds)
        node.signal("SIGSTOP")
        time.sleep(0.2)  # what was sent before has arrived
        acked, seen = dict(history.acked), dict(reader.seen)
        after = volume.after_power_cut()
        node.kill()
        publisher.finish()
        reader.finish()
    assert len(acked) > 100, "that was no load"
    assert seen, "nothing was read"
    history.acked = acked
    with after, Node(after.path) as node, contextlib.closing(Wire(node.port)) as wire:
        history.check(wire)
        stored = read_all(wire, "PLAIN")
        assert all(stored.get(sequence) == payload for sequence, payload in seen.items())


@pytest.mark.parametrize("number", range(CUTS))
def test_nothing_acknowledged_or_read_is_lost(tmp_path: Path, number: int) -> None:
    cut_power(tmp_path, (), random.Random(number).uniform(0.3, 1.0))


def test_the_same_test_notices_a_missing_sync(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"is lost|is gone"):
        cut_power(tmp_path, NO_SYNC, 0.7)
