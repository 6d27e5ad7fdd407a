"""Both servers, running, for each specification, and a connection to each for each sentence."""

from tests.parity.copying import pair, servers

__all__ = ["pair", "servers"]
