"""`$SYS.REQ.USER.INFO`: a client asks who it is; the `nats` command does."""

import msgspec

from penstock.model.timestamps import rfc3339
from penstock.routing.accounts import Accounts
from penstock.routing.services import Request, Services
from penstock.server.clients import Clients
from penstock.server.clock import wall_ns
from penstock.server.context import Context

SUBJECT = b"$SYS.REQ.USER.INFO"


class UserInfo:
    """Answers with the asking connection's user and account."""

    def __init__(self, context: Context, clients: Clients) -> None:
        self._context = context
        self._clients = clients

    def register(self, services: Services, accounts: Accounts) -> None:
        for account in accounts:
            services.add(account, SUBJECT, self.answer)

    def answer(self, request: Request) -> bytes:
        info = self._context.info
        connection = self._clients.find(request.frame.connection)
        return msgspec.json.encode(
            {
                "server": {
                    "name": info.server_name,
                    "host": info.host,
                    "id": info.server_id,
                    "ver": info.version,
                    "jetstream": info.jetstream,
                    "flags": 0,
                    "seq": 0,
                    "time": rfc3339(wall_ns()),
                },
                "data": {
                    "user": connection.user if connection else "",
                    "account": request.account.name,
                    "account_name": request.account.name,
                },
            }
        )
