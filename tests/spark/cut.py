"""A proxy that breaks a connection at a chosen place: so many bytes one way, then nothing.

`up` counts what publishers send: the server sees a part of it. `down` counts what the server
answers: everything is stored and nobody is told. Further connections go through.
"""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self

_PIECE_BYTES = 4096


class Cut:
    """Breaks connections that publish rows, one for each of `cuts`: a way and a number of bytes,
    counted from the first row on."""

    def __init__(self, port: int, cuts: list[tuple[str, int]]) -> None:
        self._port = port
        self._cuts = cuts
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open = [self._listener]
        self.broken = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for one in self._open:
            one.close()

    def next_cut(self) -> tuple[str, int] | None:
        with self._lock:
            return self._cuts.pop(0) if self._cuts else None

    def _accept(self) -> None:
        while True:
            try:
                inner, _ = self._listener.accept()
            except OSError:
                return
            outer = socket.create_connection(("127.0.0.1", self._port))
            self._open += [inner, outer]
            pair = _Pair(self, inner, outer)
            for way in ("up", "down"):
                threading.Thread(target=pair.carry, args=(way,), daemon=True).start()


class _Pair:
    """A connection and the one that it is carried on by."""

    def __init__(self, owner: Cut, inner: socket.socket, outer: socket.socket) -> None:
        self._owner = owner
        self._ends = {"up": (inner, outer), "down": (outer, inner)}
        self._cut: tuple[str, int] | None = None
        self._has_rows = False

    def carry(self, way: str) -> None:
        source, target = self._ends[way]
        passed = 0
        with contextlib.suppress(OSError):
            while data := source.recv(_PIECE_BYTES):
                if way == "up" and not self._has_rows and b"HPUB " in data:
                    self._cut = self._owner.next_cut()
                    self._has_rows = True
                if self._cut and self._cut[0] == way:
                    data = data[: self._cut[1] - passed]
                target.sendall(data)
                if self._has_rows:
                    passed += len(data)
                if self._cut and self._cut[0] == way and passed >= self._cut[1]:
                    self._owner.broken += 1
                    break
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
