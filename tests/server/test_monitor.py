"""The monitoring pages of a real server, side by side with the reference where both have them."""

import itertools
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.parity.servers import PENSTOCK, Pool, Server
from tests.server.monitor_client import (
    ANSWER_SECONDS_MAX,
    WITH_MONITOR,
    NatsClient,
    get,
    monitor_address,
    wait_until,
)
from tests.server_process import ServerStartError

USERS = """authorization { users: [
    { user: ann, password: "s3cret-ann" }, { user: bob, password: "s3cret-bob" }
] }"""


@pytest.fixture
def server(servers: Pool) -> Server:
    return servers.shared(PENSTOCK, WITH_MONITOR)


@pytest.fixture
def own() -> Iterator[Server]:
    """A server that nobody else has counted anything on."""
    with Server(PENSTOCK, WITH_MONITOR) as server:
        yield server


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def cids(server: Server, parameters: str) -> list[int]:
    return [row["cid"] for row in get(server, f"/connz?{parameters}").json["connections"]]


def row_of(server: Server, client: NatsClient, parameters: str = "") -> dict[str, object]:
    (row,) = get(server, f"/connz?cid={client.cid}&{parameters}").json["connections"]
    assert isinstance(row, dict)
    return row


# The port.


def test_the_log_names_the_port_and_nothing_else_is_logged(own: Server) -> None:
    assert get(own, "/varz").status == 200
    _, port = monitor_address(own)
    assert f"[INF] Starting http monitor on 127.0.0.1:{port}\n" in own.log
    assert all(line.startswith(f"[{own.process.pid}] ") for line in own.log.splitlines())
    assert "GET" not in own.log


def test_a_taken_port_stops_the_start() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        flags = ("-m", str(taken.getsockname()[1]))
        with pytest.raises(ServerStartError, match=r"ended with 1(?s:.*)\[FTL\]"):
            Server(PENSTOCK, flags)


def test_a_client_that_stays_does_not_delay_the_stop() -> None:
    with Server(PENSTOCK, WITH_MONITOR) as server:
        with socket.create_connection(monitor_address(server), ANSWER_SECONDS_MAX) as idle:
            idle.sendall(b"GET /varz HTTP/1.1\r\nHost: x\r\n\r\nGET /con")
            assert idle.recv(12) == b"HTTP/1.1 200"
            server.signal("SIGTERM")
            assert server.wait_exit() == 0
        assert "Traceback" not in server.log


def test_what_is_not_http_is_refused_and_logged_as_everything_else(own: Server) -> None:
    for nonsense in (b"\x00\x01\x02\r\n\r\n", b"GET /varz HTTP/1.1\r\nHost: x\r\n\r\n\x00\r\n\r\n"):
        with socket.create_connection(monitor_address(own), ANSWER_SECONDS_MAX) as client:
            client.sendall(nonsense)
            with client.makefile("rb") as answer:
                assert b"400 Bad Request" in answer.read()
    assert get(own, "/healthz").status == 200
    assert all(line.startswith(f"[{own.process.pid}] ") for line in own.log.splitlines())
    assert "[WRN] Invalid HTTP request received." in own.log


# Paths and methods.


def test_the_index_links_to_every_page(server: Server) -> None:
    index = get(server, "/")
    assert index.headers["Content-Type"] == "text/html; charset=utf-8"
    for name in ("varz", "connz", "subsz", "healthz"):
        assert f'href="./{name}"' in index.text
        page = get(server, f"/{name}")
        assert page.status == 200
        assert page.headers["Content-Type"] == "application/json"
        assert page.headers["Access-Control-Allow-Origin"] == "*"
        assert page.headers["Date"]


def test_an_alias_shows_the_page_it_stands_for(server: Server) -> None:
    assert get(server, "/subscriptionsz").json.keys() == get(server, "/subsz").json.keys()


@pytest.mark.parametrize("path", ["/nothing", "/varz/", "//varz", "/VARZ", "/varz/x"])
def test_other_paths_are_not_found(server: Server, path: str) -> None:
    answer = get(server, path)
    assert (answer.status, answer.text) == (404, "404 page not found\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_pages_can_only_be_read(server: Server, method: str) -> None:
    answer = get(server, "/varz", method)
    assert answer.status == 405
    assert answer.headers["Allow"] == "GET, HEAD"


def test_head_has_the_headers_only(server: Server) -> None:
    answer = get(server, "/healthz", "HEAD")
    assert (answer.status, answer.text) == (200, "")
    assert answer.headers["Content-Length"] == str(len('{"status":"ok"}'))


def test_paths_stand_under_the_base_path() -> None:
    with Server(PENSTOCK, config='http: "127.0.0.1:-1", http_base_path: "nats/x/"') as server:
        assert get(server, "/varz").status == 404
        assert get(server, "/").status == 404
        page = get(server, "/nats/x/varz").json
        assert page["http_base_path"] == "/nats/x"
        assert page["http_req_stats"] == {"/varz": 1}
        assert 'href="./nats/x/connz"' in get(server, "/nats/x").text


# /varz


def test_totals_are_those_of_open_and_of_ended_connections(own: Server) -> None:
    with NatsClient(own) as stays:
        stays.send("SUB orders.* 1", "PUB orders.a 5", "hello")
        stays.sync()
        with NatsClient(own) as leaves:
            leaves.send("PUB orders.b 3", "bye", "PUB nobody 1", "x", "SUB gone 1")
            leaves.sync()
            assert get(own, "/varz").json["subscriptions"] == 3  # with the server's own service
        wait_until(lambda: get(own, "/varz").json["connections"] == 1)
        page = get(own, "/varz").json
    assert page["total_connections"] == 2
    for prefix in ("", "client_"):
        assert (page[f"in_{prefix}msgs"], page[f"in_{prefix}bytes"]) == (3, 9)
        assert (page[f"out_{prefix}msgs"], page[f"out_{prefix}bytes"]) == (2, 8)
    assert page["subscriptions"] == 2


def test_varz_shows_the_ports_the_system_chose_and_what_was_configured() -> None:
    config = f"{USERS}, http: -1, max_payload: 2KB, ping_interval: 30s, max_connections: 7"
    with Server(PENSTOCK, config=config) as server:
        page = get(server, "/varz").json
        assert (page["host"], page["port"]) == ("127.0.0.1", server.port)
        assert (page["http_host"], page["http_port"]) == monitor_address(server)
        assert page["auth_required"] is True
        assert (page["max_payload"], page["max_connections"]) == (2048, 7)
        assert page["ping_interval"] == 30_000_000_000
        assert page["auth_timeout"] == 2
        assert page["mem"] > 1_000_000
        assert page["cores"] >= 1


def test_requests_are_counted_by_page(own: Server) -> None:
    for path in ("/connz", "/subscriptionsz", "/subsz?limit=x", "/nothing", "/varz"):
        get(own, path)
    assert get(own, "/varz").json["http_req_stats"] == {"/connz": 1, "/subsz": 2, "/varz": 2}


def test_stale_and_refused_connections_are_counted(own: Server) -> None:
    with NatsClient(own) as client:
        client.send("NONSENSE")
        client.wait_closed()
        page = get(own, "/varz").json
    assert (page["connections"], page["total_connections"]) == (0, 1)
    assert page["slow_consumer_stats"]["clients"] == page["slow_consumers"] == 0


# /connz


def test_a_row_tells_who_it_is_and_what_it_did(server: Server) -> None:
    with NatsClient(server, name="shop", lang="cobol", version="0.9") as client:
        client.send("SUB a.> 1", "SUB b.* workers 10", "UNSUB 10 5", "SUB c 2", "PUB a.b 2", "hi")
        client.sync()
        row = row_of(server, client)
        assert (row["name"], row["lang"], row["version"]) == ("shop", "cobol", "0.9")
        assert (row["kind"], row["type"], row["ip"]) == ("Client", "nats", "127.0.0.1")
        assert (row["in_msgs"], row["in_bytes"], row["out_msgs"], row["out_bytes"]) == (1, 2, 1, 2)
        assert row["subscriptions"] == 3
        assert "subscriptions_list" not in row
        assert row_of(server, client, "subs=1")["subscriptions_list"] == ["a.>", "c", "b.*"]
        assert row_of(server, client, "subs=Detail")["subscriptions_list_detail"] == [
            {"subject": "a.>", "sid": "1", "msgs": 1, "cid": client.cid},
            {"subject": "c", "sid": "2", "msgs": 0, "cid": client.cid},
            {"subject": "b.*", "qgroup": "workers", "sid": "10", "msgs": 0, "max": 5,
             "cid": client.cid},
        ]  # fmt: skip
        assert row_of(server, client)["last_activity"] == row["last_activity"]


def test_pages_follow_each_other_without_gaps(own: Server, stack: ExitStack) -> None:
    clients = [stack.enter_context(NatsClient(own)) for _ in range(7)]
    everybody = [client.cid for client in clients]
    assert cids(own, "") == everybody
    for sort in ("cid", "rtt", "uptime"):
        pages = [cids(own, f"sort={sort}&limit=3&offset={offset}") for offset in (0, 3, 6, 9)]
        assert [len(page) for page in pages] == [3, 3, 1, 0]
        assert sorted(itertools.chain(*pages)) == everybody
    page = get(own, "/connz?limit=3&offset=6").json
    assert (page["num_connections"], page["total"]) == (1, 7)
    assert (page["limit"], page["offset"]) == (3, 6)
    assert cids(own, "offset=-1&limit=-1") == everybody
    assert cids(own, f"limit={2**63 - 1}&offset={2**63 - 1}") == []


def test_a_page_of_many_rows_is_whole(own: Server, stack: ExitStack) -> None:
    clients = [stack.enter_context(NatsClient(own)) for _ in range(300)]
    page = get(own, "/connz")
    assert [row["cid"] for row in page.json["connections"]] == [client.cid for client in clients]
    assert page.text == json.dumps(page.json, indent=2)


def test_orders(own: Server) -> None:
    with NatsClient(own) as few, NatsClient(own) as many:
        few.send("SUB x 1", "SUB y 2", "PUB other 100", "z" * 100)
        few.sync()
        many.send(*("PUB x 1", "z") * 3)
        many.sync()
        for sort in ("cid", "start", "subs", "msgs_to", "bytes_to", "bytes_from", "idle"):
            assert cids(own, f"sort={sort}") == [few.cid, many.cid], sort
        for sort in ("msgs_from", "last", "uptime"):
            assert cids(own, f"sort={sort}") == [many.cid, few.cid], sort
        for sort in ("pending", "rtt"):
            assert sorted(cids(own, f"sort={sort}")) == [few.cid, many.cid], sort


def test_closed_connections_are_remembered_with_the_reason(own: Server) -> None:
    with NatsClient(own, name="left") as left, NatsClient(own, name="open") as stays:
        left.send("SUB a 1", "PUB a 2", "hi")
        left.sync()
        with NatsClient(own, name="broken") as broken:
            broken.send("NONSENSE")
            broken.wait_closed()
        left.close()
        wait_until(lambda: get(own, "/connz?state=closed").json["total"] == 2)
        page = get(own, "/connz?state=closed&sort=stop").json
        last, first = page["connections"]
        assert (last["name"], first["name"]) == ("left", "broken")
        assert (last["reason"], first["reason"]) == ("Client Closed", "Protocol Violation")
        assert first["start"] <= first["last_activity"] <= first["stop"] <= last["stop"]
        assert (last["in_msgs"], last["out_msgs"], last["subscriptions"]) == (1, 1, 1)
        assert cids(own, "state=closed&sort=reason") == [left.cid, broken.cid]
        assert cids(own, "state=closed") == [left.cid, broken.cid]
        assert cids(own, "state=any") == [left.cid, stays.cid, broken.cid]
        assert cids(own, "state=ALL&sort=uptime&limit=1000") != []
        assert cids(own, "") == [stays.cid]
        assert cids(own, f"cid={left.cid}") == []
        assert cids(own, f"cid={left.cid}&state=any") == [left.cid]


def test_connections_can_be_filtered(own: Server) -> None:
    with NatsClient(own) as first, NatsClient(own) as second:
        first.send("SUB orders.*.new 1", "SUB logs 2")
        second.send("SUB orders.> 1")
        first.sync()
        second.sync()
        both = [first.cid, second.cid]
        assert cids(own, "filter_subject=orders.eu.new") == both
        assert cids(own, "filter_subject=orders.eu.old") == [second.cid]
        assert cids(own, "filter_subject=*") == [first.cid]
        assert cids(own, "filter_subject=>&acc=$G") == both
        assert cids(own, "filter_subject=orders") == []
        assert cids(own, "acc=nobody") == []
        assert cids(own, "mqtt_client=x") == []
        assert get(own, "/connz?acc=nobody").json["total"] == 0


def test_users_are_shown_on_request_and_secrets_never() -> None:
    with (
        Server(PENSTOCK, WITH_MONITOR, USERS) as server,
        NatsClient(server, user="ann", **{"pass": "s3cret-ann"}) as ann,
        NatsClient(server, user="bob", **{"pass": "s3cret-bob"}) as bob,
    ):
        assert row_of(server, ann, "auth=1")["authorized_user"] == "ann"
        assert "authorized_user" not in row_of(server, ann)
        assert cids(server, "user=bob&auth=true") == [bob.cid]
        for path in ("/varz", "/connz?auth=1&subs=detail&state=any", "/subsz?subs=1", "/"):
            assert "s3cret" not in get(server, path).text


def test_a_token_is_not_shown() -> None:
    flags = (*WITH_MONITOR, "--auth", "s3cret-token")
    with (
        Server(PENSTOCK, flags) as server,
        NatsClient(server, auth_token="s3cret-token") as client,
    ):
        assert row_of(server, client, "auth=1")["authorized_user"] == "[REDACTED]"
        assert "s3cret" not in get(server, "/connz?auth=1&state=any").text
        assert "s3cret" not in get(server, "/varz").text


# /subsz


def test_subscriptions_are_counted_and_listed(own: Server) -> None:
    with NatsClient(own) as first, NatsClient(own) as second:
        first.send("SUB a.* 1", "SUB b group 2", "SUB > 3")
        second.send("SUB a.b 1", "UNSUB 1 9", "PUB a.b 1", "x")
        first.sync()
        second.sync()
        counted = get(own, "/subsz").json
        assert (counted["num_subscriptions"], counted["total"]) == (5, 0)
        assert "subscriptions_list" not in counted
        page = get(own, "/subsz?subs=1").json
        rows = page["subscriptions_list"]
        assert page["total"] == 4
        assert [(row["cid"], row["sid"]) for row in rows] == [
            (first.cid, "1"), (first.cid, "2"), (first.cid, "3"), (second.cid, "1"),
        ]  # fmt: skip
        assert rows[1]["qgroup"] == "group"
        assert rows[3]["max"] == 9
        for offset in range(6):
            part = get(own, f"/subsz?subs=1&limit=2&offset={offset}").json
            assert part.get("subscriptions_list", []) == rows[offset : offset + 2]
            assert part["total"] == 4
        tested = get(own, "/subsz?subs=1&test=a.b").json
        assert tested["subscriptions_list"] == [rows[0], rows[2], rows[3]]
        assert tested["total"] == 3
        tested = get(own, "/subsz?subs=1&test=a.b&limit=1&offset=1").json
        assert (tested["subscriptions_list"], tested["total"]) == ([rows[2]], 3)
        assert get(own, "/subsz?subs=1&acc=nobody").json["num_subscriptions"] == 0


# /healthz


def test_a_server_about_to_go_is_not_healthy(own: Server) -> None:
    with NatsClient(own):
        assert (get(own, "/healthz").status, get(own, "/healthz").text) == (200, '{"status":"ok"}')
        own.signal("SIGUSR2")
        wait_until(lambda: get(own, "/healthz").status == 503)
        body = get(own, "/healthz").json
        assert body["status"] == "unavailable"
        assert "lame duck" in body["error"]
        details = get(own, "/healthz?details=1").json
        assert details["status"] == "error"
        assert details["errors"] == [{"type": "CONNECTION", "error": body["error"]}]
        assert "[WRN] Healthcheck failed: lame duck" in own.log
