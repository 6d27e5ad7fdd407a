"""Advisories: what became of streams, and an audit of the API, for whoever listens.

They are messages of the account under `$JS.EVENT.ADVISORY.`, and leave behind the commit gate: what
they tell of is durable. Streams may listen to them. The words are the reference's; where nobody
listens none are made.
"""

import secrets
import string
from collections.abc import Callable
from typing import Any

import msgspec

from penstock.kernel.hub import Hub
from penstock.model.timestamps import rfc3339
from penstock.routing.accounts import Account
from penstock.routing.services import Gate
from penstock.server.clock import wall_ns
from penstock.server.connection import Connection

_PREFIX = "$JS.EVENT.ADVISORY."
_METRIC_PREFIX = "$JS.EVENT.METRIC."
_ID_ALPHABET = string.digits + string.ascii_letters
_ID_LENGTH = 22  # as the reference's


class Advisories:
    """Sends the advisories of one account."""

    def __init__(self, hub: Hub, account: Account, server_name: str, gate: Gate) -> None:
        self._hub = hub
        self._account = account
        self._server_name = server_name
        self._gate = gate
        # Who asked, by the kernel's number; set by whoever knows the clients.
        self.find_client: Callable[[int], Connection | None] = lambda _number: None

    def stream_created(self, name: str) -> None:
        self._stream_action("CREATED", name, "create")

    def stream_updated(self, name: str) -> None:
        self._stream_action("UPDATED", name, "modify")

    def stream_deleted(self, name: str) -> None:
        self._stream_action("DELETED", name, "delete")

    def audit(self, connection_id: int, subject: bytes, request: bytes, response: bytes) -> None:
        """A request to the API was answered."""
        if not self._is_heard(_PREFIX + "API"):
            return
        fields: dict[str, Any] = {
            "server": self._server_name,
            "client": self.client(connection_id),
            "subject": subject.decode(errors="replace"),
        }
        if request:
            fields["request"] = request.decode(errors="replace")
        fields["response"] = response.decode(errors="replace")
        self.send("API", "api_audit", fields)

    def _stream_action(self, verb: str, name: str, action: str) -> None:
        self.send(f"STREAM.{verb}.{name}", "stream_action", {"stream": name, "action": action})

    def client(self, connection_id: int) -> dict[str, Any]:
        """Who asked, as advisories tell it."""
        connection = self.find_client(connection_id)
        if connection is None:  # the server itself: a copy or an answer became a request
            return {"acc": self._account.name, "server": self._server_name, "kind": "JetStream"}
        connect = connection.session.connect
        fields: dict[str, Any] = {
            "start": rfc3339(connection.started_wall_ns),
            "host": connection.host,
            "id": connection.cid,
            "acc": self._account.name,
            "user": connection.user,
            "name": connect.name,
            "lang": connect.lang,
            "ver": connect.version,
            "rtt": connection.rtt_ns,
            "server": self._server_name,
            "kind": "Client",
            "client_type": "nats",
        }
        return {name: value for name, value in fields.items() if value}

    def send(self, subject: str, kind: str, fields: dict[str, Any]) -> None:
        """One advisory; `subject` without what all have in common, `kind` the end of its type."""
        self._send(_PREFIX + subject, f"advisory.v1.{kind}", fields)

    def measure(self, subject: str, kind: str, fields: dict[str, Any]) -> None:
        """The same for a metric."""
        self._send(_METRIC_PREFIX + subject, f"metric.v1.{kind}", fields)

    def _send(self, subject: str, kind: str, fields: dict[str, Any]) -> None:
        if not self._is_heard(subject):
            return
        head = {
            "type": f"io.nats.jetstream.{kind}",
            "id": "".join(secrets.choice(_ID_ALPHABET) for _ in range(_ID_LENGTH)),
            "timestamp": rfc3339(wall_ns()),
        }
        payload = msgspec.json.encode(head | fields)
        with self._gate():
            self._hub.publish(self._account.number, subject.encode(), b"", b"", payload)

    def _is_heard(self, subject: str) -> bool:
        return self._hub.listens(self._account.number, subject.encode())
