"""A server inside the test's process, on a thread of its own: for faults that no disk will give."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from penstock.config.options import JetStreamSettings, Options
from penstock.server.app import Server
from penstock.server.log import ServerLog
from tests.server_process import HOST

Result = TypeVar("Result")
WAIT_SECONDS_MAX = 60.0  # a loaded machine with a slow disk
HOUR_NS = 3_600_000_000_000
UPKEEP = ("write-behind", "sync", "expiry", "losses", "erase", "space")


def hold_upkeep(server: Server) -> None:
    """Its timers fire no more, however long a test takes."""
    for key in UPKEEP:
        server.context.after(key, HOUR_NS, lambda: None)


class ServerInside:
    """Runs as long as the `with` lasts; `store` is where its streams are."""

    def __init__(self, store: Path, settings: JetStreamSettings | None = None) -> None:
        self.log_path = store / "server.log"
        self._options = Options(
            host=HOST,
            port=-1,
            jetstream=True,
            store_dir=store,
            jetstream_settings=settings or JetStreamSettings(),
        )
        self._ready = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    @property
    def log(self) -> str:
        return self.log_path.read_text()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(WAIT_SECONDS_MAX), "the server does not start"
        if self._error is not None:
            self._thread.join(WAIT_SECONDS_MAX)
            raise self._error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(WAIT_SECONDS_MAX)

    def call(self, action: Callable[[Server], Result]) -> Result:
        """Does something to the server on its own thread."""

        async def act() -> Result:
            return action(self._server)

        return asyncio.run_coroutine_threadsafe(act(), self._loop).result(WAIT_SECONDS_MAX)

    async def _run(self) -> None:
        log = ServerLog(file=self.log_path, debug=False, trace=False, with_time=False)
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        self._server = Server(self._options, log)
        try:
            await self._server.start()
            self.port = self._server.port
            self._ready.set()
            await self._stopping.wait()
        except Exception as error:  # for whoever started it
            self._error = error
        finally:
            self._ready.set()
            await self._server.stop()
            for handler in log.logger.handlers:
                handler.close()
