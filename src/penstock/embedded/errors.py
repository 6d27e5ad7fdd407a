"""Why an embedded server did not start, and what to do about it."""

import errno
import os

from penstock.model.errors import StorageError
from penstock.model.limits import PAYLOAD_BYTES_CEILING

_PORT_MAX = 65_535
_SYNC_SECONDS_MAX = 10**9  # decades: as good as never

_HINTS = {
    errno.EADDRINUSE: "stop whatever listens there, or leave the port out to take any free one",
    errno.EACCES: "ports below 1024 belong to the system: take a higher one",
    errno.EADDRNOTAVAIL: "this machine has no such address: leave the host out for 127.0.0.1",
}


_NEEDED = ("host", "port")
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "store_dir": ((str, os.PathLike), "a path"),
    "host": ((str,), "a text such as 127.0.0.1"),
    "port": ((int,), f"a whole number, 1 to {_PORT_MAX}, or 0 for any free one"),
    "name": ((str,), "a text"),
    "monitor_port": ((int,), f"a whole number, 1 to {_PORT_MAX}, or 0 for any free one"),
    "token": ((str,), "a text"),
    "sync_interval": ((int, float), "a number of seconds"),
    "max_payload": ((int,), "a whole number of bytes"),
}


class ServerStartError(RuntimeError):
    """An embedded server could not start; nothing of it is left behind.

    `reason` says what went wrong and where, `hint` what to do about it.

    ```python
    async with penstock.Server() as first:
        try:
            await penstock.Server(port=first.port).start()
        except penstock.ServerStartError as error:
            print(error.hint)
    ```
    """

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(f"{reason}; {hint}" if hint else reason)
        self.reason = reason
        self.hint = hint


def start_error(error: OSError | StorageError) -> ServerStartError:
    """What a failed start means to whoever embeds the server."""
    if isinstance(error, StorageError):
        return ServerStartError(f"{error.operation} {error.path}", error.hint)
    reason = error.strerror or str(error)
    return ServerStartError(reason, _HINTS.get(error.errno or 0, ""))


def running_already() -> ServerStartError:
    hint = "stop it first, or make another object: one is one server"
    return ServerStartError("the server is running already", hint)


def check_kinds(**arguments: object) -> None:
    """What is of no use is told by its name, before anything is made of it."""
    for name, value in arguments.items():
        kinds, words = _KINDS[name]
        is_missing = value is None and name not in _NEEDED
        if not is_missing and (not isinstance(value, kinds) or isinstance(value, bool)):
            raise ServerStartError(f"{name} is {value!r}", f"it is {words}")


def check_arguments(
    port: int,
    monitor_port: int | None,
    name: str | None,
    max_payload: int | None,
    sync_interval: float | None,
) -> None:
    """What no server could be started with."""
    for number in (port, monitor_port or 0):
        if not 0 <= number <= _PORT_MAX:
            raise ServerStartError(
                f"{number} is no port", f"take one of 1 to {_PORT_MAX}, or 0 for any free one"
            )
    if name is not None and any(map(str.isspace, name)):
        raise ServerStartError(f"{name!r} is no name of a server", "it has no blanks")
    if max_payload is not None and not 0 < max_payload <= PAYLOAD_BYTES_CEILING:
        raise ServerStartError(
            f"max_payload is {max_payload}",
            f"it is a number of bytes, 1 to {PAYLOAD_BYTES_CEILING}",
        )
    if sync_interval is not None and not 0 < sync_interval <= _SYNC_SECONDS_MAX:
        raise ServerStartError(
            f"sync_interval is {sync_interval}",
            "it is more than 0 seconds; None syncs before every acknowledgement",
        )
