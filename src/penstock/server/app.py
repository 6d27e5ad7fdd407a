"""The server: puts the parts together, starts them, and stops them in the right order.

Nothing happens at import, nothing is global: many servers may live in one process and one loop.
"""

import asyncio
import base64
import os
import platform
from typing import TYPE_CHECKING

import msgspec

from penstock.config.options import Options
from penstock.kernel.hub import Hub
from penstock.model import limits, version
from penstock.model.errors import Reason, StorageError
from penstock.routing.accounts import Accounts
from penstock.routing.services import Services
from penstock.routing.targets import Targets
from penstock.server.addresses import host_port, reachable_hosts
from penstock.server.clients import Clients
from penstock.server.clock import monotonic_ns, wall_ns
from penstock.server.context import Context
from penstock.server.listener import Listener, bind
from penstock.server.log import ServerLog
from penstock.server.turns import Turns
from penstock.server.user_info import UserInfo
from penstock.wire.info import ServerInfo

if TYPE_CHECKING:
    from penstock.server.jetstream.jetstream import JetStream
    from penstock.server.monitor.listener import Monitor

_DEADLINE_CHECK_NS = 500_000_000


class Server:
    """One penstock server on the running event loop."""

    def __init__(self, options: Options, log: ServerLog) -> None:
        self.options = options
        self.context = Context(
            options=options,
            log=log,
            loop=asyncio.get_running_loop(),
            info=_server_info(options),
            started_wall_ns=wall_ns(),
        )
        self.hub = Hub(
            control_line_bytes_max=options.max_control_line,
            payload_bytes_max=options.max_payload,
            pending_bytes_max=options.max_pending,
            crowded_bytes=min(limits.CROWDED_BYTES, options.max_pending // 2),
            read_bytes_max=limits.READ_BYTES_MAX,
            turn_bytes_max=limits.TURN_BYTES_MAX,
            seed=int.from_bytes(os.urandom(8), "little"),
        )
        self.accounts = Accounts(self.hub)
        self.targets = Targets(self.hub)
        self.turns = Turns(self.context.loop, self.hub, self.targets)
        self.clients = Clients(self.context, self.hub, self.accounts, self.turns)
        self.services = Services(self.hub, self.targets, self.clients.failed)
        self.monitor: Monitor | None = None
        self.jetstream: JetStream | None = None
        self._listener: Listener | None = None
        self._stopped = asyncio.Event()

    @property
    def port(self) -> int:
        assert self._listener is not None, "the server is not listening"
        return self._listener.port

    def urls(self) -> dict[str, list[str]]:
        """Where the server can be reached, by kind of port."""
        hosts = reachable_hosts(self.options.host)
        urls = {"nats": [f"nats://{host_port(host, self.port)}" for host in hosts]}
        if self.monitor is not None:
            port = self.monitor.port
            hosts = reachable_hosts(self.monitor.host)
            urls["monitoring"] = [f"http://{host_port(host, port)}" for host in hosts]
        return urls

    async def start(self) -> None:
        """Listens; raises OSError for an address, StorageError for a store that cannot be used."""
        options = self.options
        try:
            listening = bind(options.host, options.port)
        except OSError as error:
            where = host_port(options.host, options.port)
            raise OSError(error.errno, f"client port {where}: {error.strerror}") from None
        try:
            await self._start_monitor()
            self._start_jetstream()
        except BaseException:
            listening.close()
            raise
        UserInfo(self.context, self.clients).register(self.services, self.accounts)
        self.turns.start(self.clients)
        self._listener = Listener(
            self.context.loop, listening, self.clients.accept, self._descriptors_exhausted
        )
        self.context.info = msgspec.structs.replace(self.context.info, port=self.port)
        self._check_deadlines()
        self.context.logger.info(
            "Listening for client connections on %s", host_port(options.host, self.port)
        )

    def _start_jetstream(self) -> None:
        if not self.options.jetstream:
            return
        from penstock.server.jetstream.jetstream import (  # noqa: PLC0415 -- if asked for
            JetStream,
            store_dir,
        )

        account = self.accounts.global_account
        try:
            self.jetstream = JetStream(self.context, self.hub, self.targets, self.turns, account)
            self.jetstream.keeper.advisories.find_client = self.clients.find
            self.jetstream.start(self.services)
        except OSError as error:
            raise StorageError("open", str(store_dir(self.options)), str(error)) from error
        if self.monitor is not None:
            self.monitor.health.add(self.jetstream.health)

    async def _start_monitor(self) -> None:
        if self.options.http_port is None:
            return
        from penstock.server.monitor.listener import Monitor  # noqa: PLC0415 -- only if asked for

        self.monitor = Monitor(self)
        await self.monitor.start()

    def stop_listening(self) -> None:
        if self._listener is not None:
            self._listener.close()

    async def stop(self) -> None:
        """Closes every connection and gives the port back. May be called twice."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        self.stop_listening()
        if self.jetstream is not None:
            self.jetstream.take_leave()
        for connection in tuple(self.clients):
            self.clients.close(connection, Reason.SERVER_SHUTDOWN)
        self.clients.shut()
        if self.monitor is not None:
            await self.monitor.stop()
        if self.jetstream is not None:
            self.jetstream.stop()
        self.turns.stop()
        self.context.stop_timers()

    def _check_deadlines(self) -> None:
        self.hub.give_up_overdue(monotonic_ns(), self.options.write_deadline_ns)
        if lost := self.hub.take_loopback_lost():
            self.context.logger.error(
                "%d messages of the server to its own streams were dropped: too many on their way",
                lost,
            )
        self.turns.flush()
        self.context.after("write-deadline", _DEADLINE_CHECK_NS, self._check_deadlines)

    def _descriptors_exhausted(self, error: OSError) -> None:
        self.context.logger.error(
            "Cannot accept connections for a moment: %s (raise the limit of open files)", error
        )


def _server_info(options: Options) -> ServerInfo:
    server_id = "N" + base64.b32encode(os.urandom(35)).decode()[:55]
    return ServerInfo(
        server_id=server_id,
        server_name=options.server_name or server_id,
        version=version.REFERENCE_VERSION,
        proto=version.PROTOCOL,
        go=f"python{platform.python_version()}",
        host=options.host,
        port=max(options.port, 0),
        headers=not options.no_header_support,
        auth_required=options.authorization.required,
        max_payload=options.max_payload,
        api_level=version.API_LEVEL,
        penstock_version=version.PENSTOCK_VERSION,
    )
