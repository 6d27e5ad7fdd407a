"""What the parts of JetStream share: the server around them, the store directory, the commit gate.

Whoever says something on behalf of a stream says it through `publish`, inside `gated` if it tells
of a change.
"""

import contextlib
from dataclasses import dataclass

from penstock.kernel.hub import Hub
from penstock.routing.accounts import Account
from penstock.routing.targets import Targets
from penstock.server.context import Context
from penstock.server.jetstream.commit import Commit
from penstock.server.jetstream.directory import StoreDirectory
from penstock.server.turns import Turns


@dataclass(frozen=True)
class Parts:
    """One server's JetStream, for the one account that there is."""

    context: Context
    hub: Hub
    targets: Targets
    turns: Turns
    account: Account
    directory: StoreDirectory
    commit: Commit | None  # None if nothing waits for a sync (lazy)

    def gated(self) -> contextlib.AbstractContextManager[None]:
        """What is said inside leaves when everything done so far is durable."""
        return contextlib.nullcontext() if self.commit is None else self.commit.gated()

    def publish(
        self, subject: bytes, payload: bytes, headers: bytes = b"", reply: bytes = b""
    ) -> bool:
        """Returns true if somebody listens."""
        return self.hub.publish(self.account.number, subject, reply, headers, payload)
