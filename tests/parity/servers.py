"""Both servers as real processes: the reference and penstock, started with the same flags.

`Pool` keeps the running servers of a test session by their set-up, so that cases with equal flags
share one; it holds few at a time because cases with equal flags stand side by side.
"""

from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from tests.server_process import BIN, ServerProcess

NAME = "parity"  # the same for both, so that INFO can be compared with it
POOL_SERVERS_MAX = 4  # for each implementation: the default one and those of the current file


@dataclass(frozen=True)
class Implementation:
    """One of the two programs under the same suite."""

    name: str
    command: tuple[str, ...]
    # In every INFO of this one and not of the other: what the Go build is, and the key of a
    # feature that penstock does not have (auth callout); penstock's own version.
    info_keys_own: frozenset[str]


REFERENCE = Implementation(
    "reference", (str(BIN / "nats-server"),), frozenset({"git_commit", "xkey"})
)
PENSTOCK = Implementation(
    "penstock", (str(BIN / "penstock"), "serve"), frozenset({"penstock_version"})
)
IMPLEMENTATIONS = (REFERENCE, PENSTOCK)


class Server(ServerProcess):
    """One of the two, running; under a name that INFO can be compared with."""

    def __init__(
        self, implementation: Implementation, flags: tuple[str, ...] = (), config: str = ""
    ) -> None:
        self.implementation = implementation
        self.streams_folder: Path | None = None  # where the reference has the files of its streams
        if implementation is REFERENCE and "-sd" in flags:
            store = Path(flags[flags.index("-sd") + 1])
            self.streams_folder = store / "jetstream" / "$G" / "streams"
        super().__init__(implementation.command, ("-n", NAME, *flags), config)


class Pool:
    """The servers of one test session, by implementation, flags and configuration."""

    def __init__(self) -> None:
        self._servers: OrderedDict[tuple[str, tuple[str, ...], str], Server] = OrderedDict()

    def shared(
        self, implementation: Implementation, flags: tuple[str, ...] = (), config: str = ""
    ) -> Server:
        """A running server with this set-up, the same one for every caller while it lives."""
        key = (implementation.name, flags, config)
        server = self._servers.pop(key, None)
        if server is None or not server.alive:
            server = Server(implementation, flags, config)
        self._servers[key] = server  # now the youngest
        mine = [other for other in self._servers if other[0] == implementation.name]
        if len(mine) > POOL_SERVERS_MAX:
            # The one without flags is used all over the suite and stays.
            oldest = next(other for other in mine if other[1:] != ((), ""))
            self._servers.pop(oldest).close()
        return server

    def close(self) -> None:
        while self._servers:
            self._servers.popitem()[1].close()
