"""What the asker of /connz wants to see: the parameters, and the orders a page may have."""

import enum
from collections.abc import Callable
from typing import NamedTuple

from penstock.server.monitor.connz_record import Record
from penstock.server.monitor.interests import SubjectFilter
from penstock.server.monitor.query import Query, QueryError

LIMIT = 1024  # rows of a page if nothing else is asked for; the reference's


class State(enum.Enum):
    """Which connections are meant."""

    OPEN = ("open",)
    CLOSED = ("closed",)
    ANY = ("any", "all")


class Detail(enum.Enum):
    """How much a row tells about subscriptions."""

    COUNT = enum.auto()
    SUBJECTS = enum.auto()
    FULL = enum.auto()


# The key of a record, given the present time. Small keys come first, so what is shown largest
# first is negative: all but `cid`, `start`, `uptime` and `reason`, as in the reference.
ORDERS: dict[str, Callable[[Record, int], int | str]] = {
    "cid": lambda record, _: record.connection.cid,
    "start": lambda record, _: record.connection.cid,
    "subs": lambda record, _: -record.traffic.subscriptions,
    "pending": lambda record, _: -record.traffic.pending_bytes,
    "msgs_to": lambda record, _: -record.traffic.messages_out,
    "msgs_from": lambda record, _: -record.traffic.messages_in,
    "bytes_to": lambda record, _: -record.traffic.bytes_out,
    "bytes_from": lambda record, _: -record.traffic.bytes_in,
    "last": lambda record, _: -record.last_activity_wall_ns,
    "idle": lambda record, _: record.last_activity_wall_ns,
    "uptime": lambda record, now_wall_ns: record.end_wall_ns(now_wall_ns) - record.started_wall_ns,
    "stop": lambda record, now_wall_ns: -record.end_wall_ns(now_wall_ns),
    "reason": lambda record, _: record.reason_shown,
    "rtt": lambda record, _: -record.connection.rtt_ns,
}
ORDERS_BY_AGE = ("cid", "start")
ORDERS_OF_CLOSED = ("stop", "reason")


class ConnzQuery(NamedTuple):
    """The parameters of one request."""

    order: str
    with_user: bool
    detail: Detail
    offset: int
    limit: int
    cid: int
    state: State
    user: str
    account: str
    mqtt_client: str
    subject: SubjectFilter | None

    @classmethod
    def read(cls, query: Query) -> "ConnzQuery":
        with_user = query.boolean("auth")
        detail = _detail(query)
        offset, limit = query.integer("offset"), query.integer("limit")
        cid = query.unsigned("cid")
        state = _state(query.text("state"))
        subject = query.text("filter_subject")
        return cls(
            order=_order(query.text("sort"), state),
            with_user=with_user,
            detail=detail,
            offset=max(0, offset),
            limit=1 if cid else limit if limit > 0 else LIMIT,
            cid=cid,
            state=state,
            user=query.text("user"),
            account=query.text("acc"),
            mqtt_client=query.text("mqtt_client"),
            subject=SubjectFilter(subject) if subject else None,
        )


def _detail(query: Query) -> Detail:
    if query.text("subs").lower() == "detail":
        return Detail.FULL
    return Detail.SUBJECTS if query.boolean("subs") else Detail.COUNT


def _state(text: str) -> State:
    for state in State:
        if text.lower() in state.value:
            return state
    if text:
        raise QueryError(f"Error decoding state for {text}")
    return State.OPEN


def _order(text: str, state: State) -> str:
    order = text or "cid"
    if order not in ORDERS:
        raise QueryError(f"invalid sorting option: {order}")
    if order in ORDERS_OF_CLOSED and state is not State.CLOSED:
        raise QueryError(f"sort by {order} only valid on closed connections")
    return order
