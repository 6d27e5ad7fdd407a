"""/subsz: how many subscriptions there are, and on request which.

The list has the subscriptions of clients by connection; the server's own services are counted,
not listed. Only the rows of the wanted page are made, and a connection that lies wholly before or
behind it is not asked for its subscriptions unless a subject is tested.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from penstock.kernel.hub import Interest, Traffic, is_valid_literal
from penstock.model.timestamps import rfc3339
from penstock.server.app import Server
from penstock.server.clock import wall_ns
from penstock.server.connection import Connection
from penstock.server.monitor.interests import SubjectFilter, interests_of, subscription_row
from penstock.server.monitor.json_text import RowList, indented
from penstock.server.monitor.pace import Pace
from penstock.server.monitor.query import Query, QueryError

LIMIT = 1024  # rows of a page if nothing else is asked for; the reference's


class SubszQuery(NamedTuple):
    """What the asker wants to see."""

    listed: bool
    offset: int
    limit: int
    test: SubjectFilter | None
    account: str

    @classmethod
    def read(cls, query: Query) -> "SubszQuery":
        listed = query.boolean("subs")
        offset, limit = query.integer("offset"), query.integer("limit")
        test = query.text("test")
        if test and not is_valid_literal(test.encode()):
            raise QueryError(f"invalid test subject, must be valid publish subject: {test}")
        return cls(
            listed=listed,
            offset=max(0, offset),
            limit=limit if limit > 0 else LIMIT,
            test=SubjectFilter(test) if test else None,
            account=query.text("acc"),
        )


class SubszHead(msgspec.Struct, kw_only=True):
    """The page without its list."""

    server_id: str
    now: str
    num_subscriptions: int
    total: int
    offset: int
    limit: int


async def subsz(server: Server, query: Query) -> bytes:
    wanted = SubszQuery.read(query)
    window = _Window(wanted)
    if wanted.listed:
        await _walk(server, wanted, window)
    accounts = (a for a in server.accounts if wanted.account in ("", a.name))
    head = SubszHead(
        server_id=server.context.info.server_id,
        now=rfc3339(wall_ns()),
        num_subscriptions=sum(server.hub.listeners(account.number) for account in accounts),
        total=window.position,
        offset=wanted.offset,
        limit=wanted.limit,
    )
    # As in the reference, an empty list is left out.
    return window.rows.under("subscriptions_list", head) if len(window.rows) else indented(head)


class _Window:
    """The wanted page, sliding over all subscriptions; `position` counts those behind."""

    def __init__(self, wanted: SubszQuery) -> None:
        self._first = wanted.offset
        self._end = wanted.offset + wanted.limit
        self.position = 0
        self.rows = RowList()

    def touches(self, count: int) -> bool:
        return self.position < self._end and self.position + count > self._first

    async def pass_over(
        self, connection: Connection, interests: Sequence[Interest], pace: Pace
    ) -> None:
        first = max(0, self._first - self.position)
        for interest in interests[first : max(0, self._end - self.position)]:
            self.rows.add(subscription_row(interest, connection, with_account=True))
            await pace.breathe()
        self.position += len(interests)


async def _walk(server: Server, wanted: SubszQuery, window: _Window) -> None:
    hub, test, pace = server.hub, wanted.test, Pace()
    for connection in tuple(server.clients):
        await pace.breathe()
        columns = hub.traffic(connection.id)
        if columns is None or wanted.account not in ("", connection.account.name):
            continue
        count = Traffic(*columns).subscriptions
        if test is not None and count:
            met = [i for i in interests_of(hub, connection) if test.meets(i.pattern)]
            await window.pass_over(connection, met, pace)
        elif window.touches(count):
            await window.pass_over(connection, interests_of(hub, connection), pace)
        else:
            window.position += count
