"""`penstock.serve`: a server in a thread of its own, for programs without an event loop.

The thread has a loop of its own (uvloop where it is installed) and a `Server` on it. Starting waits
until the server listens, stopping until everything is written and the thread is gone. Thread and
host share one interpreter: whoever wants all of the speed starts `penstock serve`.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Self

from penstock.embedded.errors import running_already
from penstock.embedded.server import Server

try:
    import uvloop

    _new_event_loop: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
except ImportError:  # platforms without uvloop
    _new_event_loop = asyncio.new_event_loop


class ServerThread:
    """A server in a thread of its own; `penstock.serve` makes them.

    As a context manager it gives the URL. In a notebook, start and stop it by hand:

    ```python
    running = penstock.serve().start()
    print(running.url)
    running.stop()
    ```
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._is_wanted = False

    def start(self) -> Self:
        """Listens when it returns; raises `ServerStartError` if that cannot be."""
        if self._thread is not None:
            raise running_already()
        started: Future[None] = Future()
        self._is_wanted = True
        self._thread = threading.Thread(
            target=self._run, args=(started,), name="penstock-server", daemon=True
        )
        self._thread.start()
        try:
            started.result()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Everything is written and the thread is gone when it returns. May be called twice."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._is_wanted = False  # before looking for the loop: the thread looks in the other order
        loop, stopping = self._loop, self._stopping
        if loop is not None and stopping is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just ended by itself
                loop.call_soon_threadsafe(stopping.set)
        thread.join()

    def __enter__(self) -> str:
        return self.start().url

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Where clients connect."""
        return self._server.url

    @property
    def port(self) -> int:
        """The port that clients connect to."""
        return self._server.port

    @property
    def monitor_url(self) -> str | None:
        """Where the monitoring pages are; None if they were not asked for."""
        return self._server.monitor_url

    @property
    def store_dir(self) -> Path | None:
        """Where streams are kept."""
        return self._server.store_dir

    def _run(self, started: "Future[None]") -> None:
        try:
            with asyncio.Runner(loop_factory=_new_event_loop) as runner:
                runner.run(self._serve(started))
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)  # whoever waits in `start` gets it

    async def _serve(self, started: "Future[None]") -> None:
        stopping = self._stopping = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        await self._server.start()
        started.set_result(None)
        if self._is_wanted:
            await stopping.wait()
        await self._server.stop()


def serve(
    store_dir: str | Path | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    name: str | None = None,
    jetstream: bool = True,
    monitor_port: int | None = None,
    token: str | None = None,
    sync_interval: float | None = None,
    max_payload: int | None = None,
    debug: bool = False,
) -> ServerThread:
    """A server in a thread of its own, for scripts, notebooks and tests without an event loop.

    The arguments are those of `Server`.

    ```python
    with penstock.serve() as url:
        print(url)  # such as nats://127.0.0.1:41234
    ```
    """
    return ServerThread(
        Server(
            store_dir,
            host=host,
            port=port,
            name=name,
            jetstream=jetstream,
            monitor_port=monitor_port,
            token=token,
            sync_interval=sync_interval,
            max_payload=max_payload,
            debug=debug,
        )
    )
