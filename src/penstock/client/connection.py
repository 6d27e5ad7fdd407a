"""A connection and its JetStream in one step, for programs that need nothing more."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from nats.aio.client import Client
from nats.errors import NoServersError

from penstock.client.jetstream import JetStream

# nats-py has one patience for the first connection and for those after a break, two minutes. A
# program that finds nobody at its start is to be told; one that has lost its server may wait.
_AT_FIRST = {"max_reconnect_attempts": 1, "reconnect_time_wait": 0}
_LATER = {"max_reconnect_attempts": 60, "reconnect_time_wait": 2}


@asynccontextmanager
async def connect(
    servers: str | list[str] = "nats://localhost:4222",
    *,
    domain: str | None = None,
    timeout: float = 5,
    linearizable_reads: bool = False,
    **options: Any,
) -> AsyncIterator[JetStream]:
    """Connects, gives a `JetStream`, and closes the connection behind the block.

    Where nobody answers, `nats.errors.NoServersError` is raised at once; a connection that is
    lost later is made again, as nats-py does it.

    ```python
    async with client.connect(url) as js:
        print(await js.publish("orders.eu", b"first"))
    ```

    :param servers: one URL or several.
    :param domain: as for `JetStream`, and so are `timeout` and `linearizable_reads`.
    :param options: whatever `nats.connect` takes.
    """
    connection = Client()
    try:
        await _connect(connection, servers, options)
        yield JetStream(
            connection, domain=domain, timeout=timeout, linearizable_reads=linearizable_reads
        )
    finally:
        await connection.close()


async def _connect(connection: Client, servers: str | list[str], options: dict[str, Any]) -> None:
    patience = {name: options.get(name, usual) for name, usual in _LATER.items()}
    try:
        await connection.connect(servers, **{**_AT_FIRST, **options})
    except NoServersError as error:
        error.add_note(f"no server answers at {servers}")
        raise
    connection.options.update(patience)
