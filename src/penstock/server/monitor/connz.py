"""/connz: the connections, open and closed, page by page.

By default a page shows open connections by age, and that is the order of the table: only the rows
of the page are made. Other orders need the key of every connection, but still no more rows than
the page has. Closed connections are as they were when they ended, without their subscriptions,
which are only counted: ten thousand of them are remembered.
"""

import heapq
from collections.abc import Callable

import msgspec

from penstock.model.timestamps import rfc3339
from penstock.routing.accounts import GLOBAL_ACCOUNT_NAME
from penstock.server.app import Server
from penstock.server.clients import Closed
from penstock.server.clock import wall_ns
from penstock.server.connection import Connection
from penstock.server.monitor.connz_query import ORDERS, ORDERS_BY_AGE, ConnzQuery, Detail, State
from penstock.server.monitor.connz_record import (
    Candidate,
    Record,
    connection_of,
    user_of,
)
from penstock.server.monitor.durations import rtt_text, uptime_text
from penstock.server.monitor.interests import (
    SubscriptionRow,
    interests_of,
    shown,
    subscription_row,
)
from penstock.server.monitor.json_text import RowList
from penstock.server.monitor.pace import Pace
from penstock.server.monitor.query import Query


class ConnectionRow(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """One connection, in the reference's keys."""

    cid: int
    kind: str
    type: str
    ip: str
    port: int
    start: str
    last_activity: str
    stop: str = ""
    reason: str = ""
    rtt: str
    uptime: str
    idle: str
    pending_bytes: int
    in_msgs: int
    out_msgs: int
    in_bytes: int
    out_bytes: int
    subscriptions: int
    name: str = ""
    lang: str = ""
    version: str = ""
    authorized_user: str = ""
    account: str = ""
    subscriptions_list: tuple[str, ...] = ()
    subscriptions_list_detail: tuple[SubscriptionRow, ...] = ()
    name_tag: str = ""


class ConnzHead(msgspec.Struct, kw_only=True):
    """The page without its list."""

    server_id: str
    now: str
    num_connections: int
    total: int
    offset: int
    limit: int


async def connz(server: Server, query: Query) -> bytes:
    wanted = ConnzQuery.read(query)
    now_wall_ns, pace, rows = wall_ns(), Pace(), RowList()
    candidates = _of_account(_of_state(server, wanted.state), wanted.account)
    total = len(candidates)
    found = await _filtered(candidates, _checks(server, wanted), pace)
    for candidate in await _page(server, wanted, found, now_wall_ns, pace):
        record = Record.of(candidate, server.hub)
        if record is not None:
            rows.add(_row(record, wanted, now_wall_ns, server))
        await pace.breathe()
    head = ConnzHead(
        server_id=server.context.info.server_id,
        now=rfc3339(now_wall_ns),
        num_connections=len(rows),
        total=total,
        offset=wanted.offset,
        limit=wanted.limit,
    )
    return rows.under("connections", head)


def _of_state(server: Server, state: State) -> list[Candidate]:
    """A list of its own, because the table may change while a page is made."""
    candidates: list[Candidate] = []
    if state is not State.CLOSED:
        candidates.extend(server.clients)
    if state is not State.OPEN:
        candidates.extend(server.clients.closed)
    return candidates


def _of_account(candidates: list[Candidate], account: str) -> list[Candidate]:
    if not account:
        return candidates
    return [c for c in candidates if connection_of(c).account.name == account]


def _checks(server: Server, wanted: ConnzQuery) -> tuple[Callable[[Candidate], bool], ...]:
    """What a connection must pass to be shown; only what was asked for."""
    checks: list[Callable[[Candidate], bool]] = []
    subject = wanted.subject
    if wanted.cid:
        checks.append(lambda candidate: connection_of(candidate).cid == wanted.cid)
    if wanted.user:
        checks.append(lambda candidate: user_of(connection_of(candidate)) == wanted.user)
    if wanted.mqtt_client:
        checks.append(lambda _candidate: False)  # there is no MQTT
    if subject is not None:
        checks.append(
            lambda candidate: (
                not isinstance(candidate, Closed)
                and any(subject.meets(columns[0]) for columns in server.hub.interests(candidate.id))
            )
        )
    return tuple(checks)


async def _filtered(
    candidates: list[Candidate], checks: tuple[Callable[[Candidate], bool], ...], pace: Pace
) -> list[Candidate]:
    if not checks:
        return candidates
    found: list[Candidate] = []
    for candidate in candidates:
        if all(check(candidate) for check in checks):
            found.append(candidate)
        await pace.breathe()
    return found


async def _page(
    server: Server, wanted: ConnzQuery, found: list[Candidate], now_wall_ns: int, pace: Pace
) -> list[Candidate]:
    end = wanted.offset + wanted.limit
    if wanted.order in ORDERS_BY_AGE and wanted.state is State.OPEN:
        return found[wanted.offset : end]  # the table's own order
    key_of = ORDERS[wanted.order]
    present: list[Candidate] = []
    keys: list[int | str] = []
    for candidate in found:
        record = Record.of(candidate, server.hub)
        if record is not None:
            present.append(candidate)
            keys.append(key_of(record, now_wall_ns))
        await pace.breathe()
    # A heap of the page, not a sort of everybody; equals keep their places.
    places = heapq.nsmallest(end, range(len(keys)), key=lambda place: keys[place])
    return [present[place] for place in places[wanted.offset :]]


def _row(record: Record, wanted: ConnzQuery, now_wall_ns: int, server: Server) -> ConnectionRow:
    connection, traffic, closed = record
    connect = connection.session.connect
    end_wall_ns = record.end_wall_ns(now_wall_ns)
    row = ConnectionRow(
        cid=connection.cid,
        kind="Client",
        type="nats",
        ip=connection.host,
        port=connection.port,
        start=rfc3339(connection.started_wall_ns),
        last_activity=rfc3339(record.last_activity_wall_ns),
        stop=rfc3339(closed.stopped_wall_ns) if closed else "",
        reason=record.reason_shown,
        rtt=rtt_text(connection.rtt_ns),
        uptime=uptime_text(end_wall_ns - connection.started_wall_ns),
        idle=uptime_text(end_wall_ns - record.last_activity_wall_ns),
        pending_bytes=traffic.pending_bytes,
        in_msgs=traffic.messages_in,
        out_msgs=traffic.messages_out,
        in_bytes=traffic.bytes_in,
        out_bytes=traffic.bytes_out,
        subscriptions=traffic.subscriptions,
        name=connect.name,
        lang=connect.lang,
        version=connect.version,
    )
    if wanted.with_user:
        _add_user(row, record)
    if wanted.detail is not Detail.COUNT:
        _add_subscriptions(row, connection, wanted.detail, server)
    return row


def _add_user(row: ConnectionRow, record: Record) -> None:
    name = record.connection.account.name
    own = name != GLOBAL_ACCOUNT_NAME
    row.authorized_user = user_of(record.connection)
    row.account = name if own else ""
    row.name_tag = name if own or record.closed is None else ""


def _add_subscriptions(
    row: ConnectionRow, connection: Connection, detail: Detail, server: Server
) -> None:
    interests = interests_of(server.hub, connection)
    if detail is Detail.SUBJECTS:
        row.subscriptions_list = tuple(shown(interest.pattern) for interest in interests)
    else:
        row.subscriptions_list_detail = tuple(
            subscription_row(interest, connection, with_account=False) for interest in interests
        )
