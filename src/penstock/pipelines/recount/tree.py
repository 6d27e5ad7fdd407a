"""Which streams a counter comes from: the stream itself, its sources, theirs, and so on.

Streams go on while they are counted. So each is read up to a sequence that is asked for beforehand,
that of a stream before those of its sources: what was seen of a source is then part of what is read
of it, and a difference is one.
"""

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

from pyspark_jetstream.connection import Connection, StreamNotFoundError
from pyspark_jetstream.options import read_options


class NotCountersError(ValueError):
    """The stream to be counted again has no counters."""


def ends(connection: Mapping[str, str], root: str) -> dict[str, int]:
    """The streams of this server with the sequence behind their last message, the root first.

    What is elsewhere, or gone, is left out: its counters are known to whoever has taken them, and
    told to be unchecked.
    """
    options = read_options({**connection, "stream": root})
    with Connection(options.connection) as server:
        takers = _takers(server, root)
        try:
            order = [*TopologicalSorter(takers).static_order()]
        except CycleError:  # they take from each other; none is before the other
            order = [*takers]
        states = {name: server.api(f"STREAM.INFO.{name}")["state"] for name in order}
    return {name: int(state["last_seq"]) + 1 for name, state in states.items()}


def _takers(server: Connection, root: str) -> dict[str, set[str]]:
    """Every stream of the tree, with those that take from it."""
    found: dict[str, set[str]] = {}
    waiting: list[tuple[str, str]] = [(root, "")]
    while waiting:
        name, taker = waiting.pop(0)
        if name in found:
            found[name].add(taker)
            continue
        try:
            config = server.api(f"STREAM.INFO.{name}")["config"]
        except StreamNotFoundError:
            if name == root:
                raise
            continue
        if config.get("allow_msg_counter"):
            found[name] = {taker} if taker else set()
            sources = config.get("sources") or []
            waiting += [(one["name"], name) for one in sources if not one.get("external")]
        elif name == root:
            raise NotCountersError(f"stream {root} has no counters")
    return found
