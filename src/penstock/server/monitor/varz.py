"""/varz: the server at a glance, in the reference's keys and order.

Keys of the reference that name something penstock does not have or does not measure are left out
rather than made up; `penstock_version` is ours and stands last. The totals are those of the
connections that ended plus those that are open.
"""

import operator
import os
from array import array
from collections.abc import Mapping

import msgspec

from penstock.kernel.hub import Traffic
from penstock.model import version
from penstock.model.timestamps import rfc3339
from penstock.server.app import Server
from penstock.server.clock import wall_ns
from penstock.server.monitor.durations import uptime_text
from penstock.server.monitor.json_text import indented
from penstock.server.monitor.pace import Pace
from penstock.server.monitor.process_usage import CpuGauge, resident_bytes

_SECOND_NS = 1_000_000_000

Columns = tuple[int, ...]
_NOTHING: Columns = (0,) * len(Traffic._fields)


class ByKind(msgspec.Struct, kw_only=True):
    """A count for each kind of connection; only clients exist so far."""

    clients: int
    routes: int = 0
    gateways: int = 0
    leafs: int = 0


class Varz(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A field with a default is left out while it has it; the others are always there."""

    server_id: str
    server_name: str
    version: str
    proto: int
    go: str
    host: str
    port: int
    auth_required: bool = False
    connect_urls: tuple[str, ...] = ()
    max_connections: int
    max_subscriptions: int = 0
    ping_interval: int
    ping_max: int
    http_host: str
    http_port: int
    http_base_path: str
    https_port: int
    auth_timeout: float
    max_control_line: int
    max_payload: int
    max_pending: int
    cluster: dict[str, str]
    gateway: dict[str, str]
    leaf: dict[str, str]
    mqtt: dict[str, str]
    websocket: dict[str, str]
    jetstream: dict[str, str]
    tls_timeout: float
    write_deadline: int
    start: str
    now: str
    uptime: str
    mem: int
    cores: int
    cpu: float
    connections: int
    total_connections: int
    routes: int
    remotes: int
    leafnodes: int
    in_msgs: int
    in_bytes: int
    in_client_msgs: int
    in_client_bytes: int
    out_msgs: int
    out_bytes: int
    out_client_msgs: int
    out_client_bytes: int
    slow_consumers: int
    stale_connections: int
    subscriptions: int
    http_req_stats: dict[str, int]
    config_load_time: str
    slow_consumer_stats: ByKind
    stale_connection_stats: ByKind
    penstock_version: str


async def varz(
    server: Server, monitor_address: tuple[str, int], requests: Mapping[str, int], cpu: CpuGauge
) -> bytes:
    totals = await total_traffic(server)
    options, info, clients = server.options, server.context.info, server.clients
    now_ns, started_ns = wall_ns(), server.context.started_wall_ns
    page = Varz(
        server_id=info.server_id,
        server_name=info.server_name,
        version=info.version,
        proto=info.proto,
        go=info.go,
        host=info.host,
        port=info.port,
        auth_required=info.auth_required,
        connect_urls=info.connect_urls,
        max_connections=options.max_connections,
        max_subscriptions=options.max_subscriptions,
        ping_interval=options.ping_interval_ns,
        ping_max=options.ping_max,
        http_host=monitor_address[0],
        http_port=monitor_address[1],
        http_base_path=options.http_base_path.rstrip("/"),
        https_port=0,
        auth_timeout=options.authorization.timeout_ns / _SECOND_NS,
        max_control_line=options.max_control_line,
        max_payload=options.max_payload,
        max_pending=options.max_pending,
        cluster={},
        gateway={},
        leaf={},
        mqtt={},
        websocket={},
        jetstream={},
        tls_timeout=0,  # there is no TLS yet
        write_deadline=options.write_deadline_ns,
        start=rfc3339(started_ns),
        now=rfc3339(now_ns),
        uptime=uptime_text(now_ns - started_ns),
        mem=resident_bytes(),
        cores=os.cpu_count() or 1,
        cpu=cpu.percent(),
        connections=len(clients),
        total_connections=clients.total,
        routes=0,
        remotes=0,
        leafnodes=0,
        in_msgs=totals.messages_in,
        in_bytes=totals.bytes_in,
        in_client_msgs=totals.messages_in,
        in_client_bytes=totals.bytes_in,
        out_msgs=totals.messages_out,
        out_bytes=totals.bytes_out,
        out_client_msgs=totals.messages_out,
        out_client_bytes=totals.bytes_out,
        slow_consumers=clients.slow,
        stale_connections=clients.stale,
        subscriptions=server.accounts.subscriptions(),
        http_req_stats=dict(sorted(requests.items())),
        config_load_time=rfc3339(started_ns),
        slow_consumer_stats=ByKind(clients=clients.slow),
        stale_connection_stats=ByKind(clients=clients.stale),
        penstock_version=version.PENSTOCK_VERSION,
    )
    return indented(page)


async def total_traffic(server: Server) -> Traffic:
    """Of all connections there ever were; no message is counted twice or forgotten.

    The walk takes breaks, and a connection may close after it was visited; its counters are then
    in `retired` too, and what was seen of it is taken off again.
    """
    hub, pace = server.hub, Pace()
    connections = tuple(server.clients)
    sums: Columns = _NOTHING
    seen = array("Q")  # a list of tuples would wake the garbage collector
    for connection in connections:
        columns = hub.traffic(connection.id) or _NOTHING
        sums = tuple(map(operator.add, sums, columns))
        seen.extend(columns)
        await pace.breathe()
    # From here on nothing else runs.
    for place, connection in enumerate(connections):
        if connection.closed:
            counted = seen[place * len(_NOTHING) : (place + 1) * len(_NOTHING)]
            sums = tuple(map(operator.sub, sums, counted))
    return Traffic(*map(operator.add, sums, server.clients.retired))
