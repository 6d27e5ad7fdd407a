"""A task's way to the server, over one connection after the other.

One that breaks is told to whoever sends (`LostLinkError`); `reopen` connects again, to the same
inbox, so frames that were rendered can be sent as they are. How long that goes on without anything
being stored is bounded by `PATIENCE_SECONDS`.
"""

import time
from types import TracebackType
from typing import Self

from penstock.kernel.publishes import PublishAcks
from pyspark_jetstream.connection import Connection
from pyspark_jetstream.connection_options import ConnectionOptions
from pyspark_jetstream.sink_errors import ServerSilentError
from pyspark_jetstream.sink_wire import Progress, Wire

PATIENCE_SECONDS = 120.0  # without any progress; a server with much to recover takes its time
PAUSE_SECONDS = 0.25  # before something is tried again


class Link:
    """`stream` is the name that plain acknowledgements have; if empty, none is plain."""

    def __init__(self, options: ConnectionOptions, stream: str) -> None:
        self.reply = b""  # what stands before the number of a row
        self._options = options
        self._stream = b'"%s"' % stream.encode() if stream else b""
        self._found = 0
        self._is_connected = False
        self._progress = Progress()

    def __enter__(self) -> Self:
        self._connect(0)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._disconnect()

    @property
    def answered(self) -> int:
        """Everything before this number is stored."""
        return self._wire.acks.first

    @property
    def found(self) -> int:
        """How many rows the stream had already."""
        return self._found + self._wire.duplicates

    def send(self, frames: bytes, answers: int) -> None:
        """Returns when it is on its way, not when it has come there."""
        self._wire.send(frames, answers)

    def wait(self, until: int) -> None:
        """Until everything before a number is answered, or some answer is no plain acknowledgement;
        raises what ends the connection."""
        self._wire.wait(until)

    def take_others(self) -> list[tuple[int, bytes]]:
        """Answers that are no plain acknowledgements, each once."""
        return self._wire.take_others()

    def settle(self, number: int) -> None:
        """Whatever the answer to this one was, the stream has it already."""
        self._wire.acks.settle(number)
        self._found += 1
        self._progress.reach(self.answered)

    def progressed(self) -> None:
        self._progress.now()

    def reopen(self, first: int, why: str) -> None:
        """Another connection, after a pause; answers are counted from `first` on."""
        silent_seconds = time.monotonic() - self._progress.at
        if silent_seconds > PATIENCE_SECONDS:
            raise ServerSilentError(
                f"{self._connection.shown}: nothing was stored for {silent_seconds:.0f} s: {why}"
            )
        self._found = self.found
        self._disconnect()
        time.sleep(PAUSE_SECONDS)
        self._connect(first)

    def _connect(self, first: int) -> None:
        self._connection = Connection(self._options, patience=True)
        self._connection.__enter__()
        self._is_connected = True
        self.reply = self.reply or f"{self._connection.client.new_inbox()}.".encode()
        acks = PublishAcks(self.reply, self._stream, first)
        self._wire = Wire(self._connection, acks, self._progress)
        self._wire.open(self.reply)  # LostLinkError: to be opened again

    def _disconnect(self) -> None:
        if self._is_connected:
            self._is_connected = False
            self._wire.close()
            self._connection.__exit__(None, None, None)
