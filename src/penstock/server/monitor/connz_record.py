"""A connection at the moment of a request, open or closed, with what the kernel counted for it."""

from typing import NamedTuple

from penstock.kernel.hub import Hub, Traffic
from penstock.server.clients import Closed
from penstock.server.connection import Connection

Candidate = Connection | Closed


class Record(NamedTuple):
    """What rows and orders are made of."""

    connection: Connection
    traffic: Traffic
    closed: Closed | None

    @classmethod
    def of(cls, candidate: Candidate, hub: Hub) -> "Record | None":
        """None if it closed since it was chosen."""
        if isinstance(candidate, Closed):
            return cls(candidate.connection, candidate.traffic, candidate)
        columns = hub.traffic(candidate.id)
        return None if columns is None else cls(candidate, Traffic(*columns), None)

    @property
    def started_wall_ns(self) -> int:
        return self.connection.started_wall_ns

    @property
    def last_activity_wall_ns(self) -> int:
        """One that never said anything was last active when it came."""
        connection = self.connection
        active_ns = max(0, self.traffic.last_activity_ns - connection.started_ns)
        return connection.started_wall_ns + active_ns

    @property
    def reason_shown(self) -> str:
        return self.closed.reason.shown if self.closed else ""

    def end_wall_ns(self, now_wall_ns: int) -> int:
        """When it closed, or now."""
        return self.closed.stopped_wall_ns if self.closed else now_wall_ns


def connection_of(candidate: Candidate) -> Connection:
    return candidate.connection if isinstance(candidate, Closed) else candidate


def user_of(connection: Connection) -> str:
    """The name of the user; who came with a token has none, and the token is nobody's business."""
    if connection.user:
        return connection.user
    return "[REDACTED]" if connection.session.connect.auth_token else ""
