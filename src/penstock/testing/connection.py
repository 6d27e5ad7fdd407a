"""A connection of nats-py that connects where it is first used, and closes when its loop ends.

A fixture is made before anybody knows in which event loop its test will run, if in any: pytest-
asyncio, anyio and `asyncio.run` in a plain test all bring their own. So this one connects with the
first thing that is sent, in the loop that sends it; in another loop it connects anew. Each loop has
a task that only waits to be cancelled, which every runner does before it closes its loop: then the
connection is closed while there is still a loop to close it in.
"""

import asyncio
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription


class LateConnection(Client):
    """See above; the fixture `jetstream` is a context on one."""

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__()
        self._url = url
        self._connect_options = options
        self._home: asyncio.AbstractEventLoop | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._keeper: asyncio.Task[None] | None = None

    async def publish(self, *arguments: Any, **options: Any) -> None:
        await self._be_connected()
        await super().publish(*arguments, **options)

    async def request(self, *arguments: Any, **options: Any) -> Msg:
        await self._be_connected()
        return await super().request(*arguments, **options)

    async def subscribe(self, *arguments: Any, **options: Any) -> Subscription:
        await self._be_connected()
        return await super().subscribe(*arguments, **options)

    async def flush(self, *arguments: Any, **options: Any) -> None:
        await self._be_connected()
        await super().flush(*arguments, **options)

    def end(self) -> None:
        """Closes it in its loop, if that is there and rests; else the loop's end has or will."""
        home = self._home
        if home is not None and not home.is_closed() and not home.is_running():
            home.run_until_complete(self._end())

    async def _be_connected(self) -> None:
        here = asyncio.get_running_loop()
        if self._home is not here:
            super().__init__()  # what nats-py knew of another loop is of no use in this one
            self._home = here
            self._connecting = here.create_task(self._connect())
        assert self._connecting is not None
        if not self._connecting.done():
            await asyncio.shield(self._connecting)

    async def _connect(self) -> None:
        await self.connect(self._url, allow_reconnect=False, **self._connect_options)
        self._keeper = asyncio.get_running_loop().create_task(self._keep())

    async def _keep(self) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await self.close()

    async def _end(self) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait([self._keeper])
