"""The monitoring port: uvicorn's HTTP protocol on the server's own event loop.

Of uvicorn only the protocol is used, not its server: that one takes over signals, wakes up ten
times a second and stops slowly. Binding is done here, so a taken port is an OSError of `start`;
when `start` returns, the port answers. `stop` gives pages that are on their way a moment, then
cuts them off. Everything this package imports is imported only when monitoring is asked for.
"""

import asyncio

import uvicorn
from uvicorn.server import ServerState

from penstock.server.app import Server
from penstock.server.listener import bind
from penstock.server.monitor.health import Health, lame_duck
from penstock.server.monitor.pages import Pages
from penstock.server.monitor.protocol import REQUEST_SECONDS_MAX, MonitorProtocol

STOP_SECONDS_MAX = 0.5  # for pages that are on their way when the server stops


class Monitor:
    """Serves the pages of one server; other parts report their troubles to `health`."""

    def __init__(self, server: Server) -> None:
        self._context = server.context
        self.host = server.options.http_host or server.options.host
        self.port = server.options.http_port or 0
        self.health = Health()
        self.health.add(lambda _query: lame_duck(server.context.info))
        self._config = uvicorn.Config(
            Pages(server, self),
            loop="none",
            http="h11",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            proxy_headers=False,
            timeout_keep_alive=REQUEST_SECONDS_MAX,
        )
        self._state = ServerState()
        self._serving: asyncio.Server | None = None

    async def start(self) -> None:
        """Serves from here on; raises OSError when the address is taken."""
        try:
            listening = bind(self.host, self.port)
        except OSError as error:
            where = f"{self.host}:{self.port}"
            raise OSError(error.errno, f"http port {where}: {error.strerror}") from None
        self.port = int(listening.getsockname()[1])
        shown_host = f"[{self.host}]" if ":" in self.host else self.host
        self._context.logger.info("Starting http monitor on %s:%d", shown_host, self.port)
        try:
            self._config.load()
            self._serving = await self._context.loop.create_server(self._protocol, sock=listening)
        except BaseException:
            listening.close()
            raise

    async def stop(self) -> None:
        """Gives the port back. May be called before `start`."""
        if self._serving is None:
            return
        self._serving.close()
        for connection in tuple(self._state.connections):
            connection.shutdown()
        if self._state.tasks:
            await asyncio.wait(tuple(self._state.tasks), timeout=STOP_SECONDS_MAX)
        for task in tuple(self._state.tasks):
            task.cancel()
        await asyncio.sleep(0)  # the loop writes out what was answered
        for connection in tuple(self._state.connections):
            connection.transport.abort()

    def _protocol(self) -> MonitorProtocol:
        return MonitorProtocol(self._config, self._state, self._context.logger)
