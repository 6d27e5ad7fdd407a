"""One client connection, as the server sees it: who it is and how it is doing.

The kernel holds its bytes, subscriptions and counters under `id`; the session holds what it may
say. `cid` is the number people see.
"""

from dataclasses import dataclass, field

from penstock.routing.accounts import Account
from penstock.wire.session import Session


@dataclass(slots=True)
class Connection:
    """A client and its bookkeeping."""

    id: int
    cid: int
    host: str
    port: int
    session: Session
    account: Account
    started_wall_ns: int
    started_ns: int
    user: str = ""
    # Pings of ours that wait for an answer, and when the last one left.
    pings_out: int = 0
    ping_sent_ns: int = 0
    rtt_ns: int = 0
    closed: bool = field(default=False)

    def __str__(self) -> str:
        return f"{self.host}:{self.port} - cid:{self.cid}"
