"""`penstock.Server`: a server on the running event loop, started and stopped by its host.

It is the same server that `penstock serve` runs, without what belongs to a process: no signal
handlers, no pid file, no limits raised. Everything it has hangs on the object, so any number of
them can live in one process. It shares loop and interpreter with its host: while the host computes,
nobody is served.

Without a directory the store goes with the server; see `temporary.py`.
"""

from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from penstock.config.options import Authorization, JetStreamSettings, Options
from penstock.embedded.errors import (
    check_arguments,
    check_kinds,
    running_already,
    start_error,
)
from penstock.embedded.log import EmbeddedLog
from penstock.embedded.temporary import TemporaryStore
from penstock.model.errors import StorageError
from penstock.server import app
from penstock.server.addresses import host_port, reachable_hosts

_SECOND_NS = 1_000_000_000
_NEVER_NS = 3600 * _SECOND_NS  # between two syncs of a store that is thrown away


class Server:
    """A server in this process, on the running event loop.

    Without arguments it has a free port on 127.0.0.1 and a temporary store.

    ```python
    async with penstock.Server() as server:
        client = await nats.connect(server.url)
        jetstream = client.jetstream()
        await jetstream.add_stream(name="ORDERS", subjects=["orders.>"])
        await jetstream.publish("orders.eu", b"first")
        await client.close()
    ```

    With a directory, what was acknowledged is there again after the next start:

    ```python
    async with penstock.Server("data", name="orders"):
        ...
    ```

    :param store_dir: where streams are kept; None to keep them in memory, or in a directory for
        temporary files where there is little of it, until the server stops.
    :param host: the address to listen on.
    :param port: 0 takes any free one.
    :param name: the server's name as clients see it.
    :param jetstream: False for a server that only passes messages on.
    :param monitor_port: the port of the monitoring pages; None for none, 0 for any free one.
    :param token: what clients must say to come in.
    :param sync_interval: seconds between syncs of the store; None syncs before every
        acknowledgement.
    :param max_payload: bytes of the largest message.
    :param debug: whether the log, Python's logger "penstock", gets debug lines too.
    """

    def __init__(
        self,
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
    ) -> None:
        check_kinds(
            store_dir=store_dir,
            host=host,
            port=port,
            name=name,
            monitor_port=monitor_port,
            token=token,
            sync_interval=sync_interval,
            max_payload=max_payload,
        )
        check_arguments(port, monitor_port, name, max_payload, sync_interval)
        sync_ns = None if sync_interval is None else int(sync_interval * _SECOND_NS)
        options = Options(
            host=host,
            port=port or -1,
            server_name=name,
            http_port=-1 if monitor_port == 0 else monitor_port,
            authorization=Authorization(token=token),
            jetstream=jetstream,
            jetstream_settings=JetStreamSettings(sync_interval_ns=sync_ns),
            store_dir=None if store_dir is None else Path(store_dir),
            store_is_temporary=jetstream and store_dir is None,
            debug=debug,
        )
        if max_payload is not None:
            options = replace(options, max_payload=max_payload)
        self._options = options
        self._server: app.Server | None = None
        self._temporary: TemporaryStore | None = None
        self._url = ""
        self._monitor_url: str | None = None

    async def start(self) -> Self:
        """Listens when it returns; raises `ServerStartError` if that cannot be.

        ```python
        server = await penstock.Server().start()
        print(server.url)
        await server.stop()
        ```
        """
        if self._server is not None:
            raise running_already()
        log = EmbeddedLog(debug=self._options.debug)
        self._server = app.Server(self._stored_options(), log)
        try:
            await self._server.start()
        except (OSError, StorageError) as error:
            await self.stop()
            raise start_error(error) from error
        except BaseException:
            await self.stop()
            raise
        self._remember()
        return self

    async def stop(self) -> None:
        """Closes every connection, writes what is to be kept, and gives the port back.

        May be called twice. The object can be started again.
        """
        server, self._server = self._server, None
        if server is not None:
            await server.stop()
        if self._temporary is not None:
            self._temporary.remove()
            self._temporary = None

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    @property
    def is_running(self) -> bool:
        """Whether it listens."""
        return self._server is not None and bool(self._url)

    @property
    def url(self) -> str:
        """Where clients connect, such as `nats://127.0.0.1:41234`."""
        assert self._url, "the server was never started"
        return self._url

    @property
    def port(self) -> int:
        """The port that clients connect to."""
        return int(self.url.rpartition(":")[2])

    @property
    def monitor_url(self) -> str | None:
        """Where the monitoring pages are; None if they were not asked for."""
        return self._monitor_url

    @property
    def store_dir(self) -> Path | None:
        """Where streams are kept; None without JetStream, and when a temporary one is gone."""
        if self._temporary is not None:
            return self._temporary.path
        return self._options.store_dir

    def _stored_options(self) -> Options:
        options = self._options
        if not options.store_is_temporary:
            return options
        self._temporary = TemporaryStore()
        settings = options.jetstream_settings
        if settings.sync_interval_ns is None and not self._temporary.is_in_memory:
            settings = replace(settings, sync_interval_ns=_NEVER_NS)
        return replace(options, store_dir=self._temporary.path, jetstream_settings=settings)

    def _remember(self) -> None:
        assert self._server is not None
        host = reachable_hosts(self._options.host)[0]
        self._url = f"nats://{host_port(host, self._server.port)}"
        monitoring = self._server.urls().get("monitoring")
        self._monitor_url = monitoring[0] if monitoring else None
