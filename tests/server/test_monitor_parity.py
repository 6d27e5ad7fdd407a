"""The monitoring pages beside the reference's: the same keys, the same types, the same refusals.

What penstock leaves out on purpose is listed here, by page; so is what it adds.
"""

from typing import Any

import pytest

from tests.parity.servers import IMPLEMENTATIONS, PENSTOCK, REFERENCE, Pool, Server
from tests.server.monitor_client import WITH_MONITOR, NatsClient, get, wait_until

VARZ_OMITTED = {
    "git_commit",  # of a Go build
    "gomaxprocs",
    "feature_flags",  # of JetStream
    "disk_io_wait_stats",
    "system_account",  # there is none yet
    "config_digest",  # not computed
    "stalled_clients",  # the kernel slows publishers down but does not count it
}
VARZ_OWN = {"penstock_version"}
SUBSZ_OMITTED = {  # the kernel does not measure these
    "num_cache",
    "num_inserts",
    "num_removes",
    "num_matches",
    "cache_hit_rate",
    "max_fanout",
    "avg_fanout",
}
CONNZ_CLOSED_OMITTED = {"subscriptions_list", "subscriptions_list_detail"}  # only counted
PAGES: dict[str, set[str]] = {
    "/varz": VARZ_OMITTED,
    "/varz?callback=f": VARZ_OMITTED,  # the reference no longer wraps it
    "/healthz": set(),
    "/healthz?js-enabled-only=1&js-server-only=t&js-meta-only=TRUE&details=true": set(),
    "/healthz?stream=s": set(),
    "/healthz?account=a&consumer=c": set(),
    "/healthz?account=a&consumer=c&details=1": set(),
    "/connz": set(),
    "/connz?subs=true": set(),
    "/connz?subs=detail": set(),
    "/connz?auth=1": set(),
    "/connz?cid=4294967296": set(),
    "/connz?offset=9": set(),
    "/connz?state=closed": set(),
    "/connz?state=closed&auth=1&subs=detail": CONNZ_CLOSED_OMITTED,
    "/connz?state=closed&subs=1": CONNZ_CLOSED_OMITTED,
    "/subsz": SUBSZ_OMITTED,
    "/subsz?subs=1&acc=$G&test=visible.a": SUBSZ_OMITTED,
    "/subsz?subs=1&test=nobody.hears": SUBSZ_OMITTED,
    "/subsz?subs=1&test=visible.a": SUBSZ_OMITTED,
}
REFUSED = (
    "/connz?sort=bogus",
    "/connz?sort=stop",
    "/connz?sort=reason&state=any",
    "/connz?limit=x",
    "/connz?limit=1_0",
    "/connz?limit=9223372036854775808",
    "/connz?limit=" + "9" * 30,
    "/connz?offset=1.5",
    "/connz?cid=-1",
    "/connz?cid=18446744073709551616",
    "/connz?subs=yes",
    "/connz?auth=2",
    "/connz?state=bogus",
    "/connz?limit=x&limit=1",
    "/subsz?test=a.*",
    "/subsz?subs=%22",
    "/healthz?details=maybe",
    "/nothing",
)
ACCEPTED = (
    "/connz?limit=%2B1&limit=x",
    "/connz?limit=000000000000000000000000000001",
    "/connz?state=ALL",
    "/connz?state=Open&sort=idle",
    "/connz?cid=18446744073709551615",
    "/subsz?limit=-1&offset=-1&subs=F",
    "/healthz?js-enabled=1",
)


@pytest.fixture(params=IMPLEMENTATIONS, ids=lambda implementation: implementation.name)
def monitored(servers: Pool, request: pytest.FixtureRequest) -> Server:
    return servers.shared(request.param, WITH_MONITOR)


def shape(value: Any) -> Any:
    """Keys and types; numbers are one type, as in JSON, and a list is its last element."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value[-1:]]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number"
    return type(value).__name__


def without(value: Any, keys: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: without(item, keys) for key, item in value.items() if key not in keys}
    if isinstance(value, list):
        return [without(item, keys) for item in value]
    return value


def page_shape(server: Server, path: str) -> tuple[int, Any]:
    with NatsClient(server, name="left") as gone:
        gone.send("SUB visible.* 1")
        gone.sync()
    closed = f"/connz?state=closed&cid={gone.cid}"
    wait_until(lambda: get(server, closed).json["num_connections"] == 1)
    with NatsClient(server, name="shown") as client:
        client.send("SUB visible.* 1", "UNSUB 1 100", "PUB visible.x 1", "x")
        client.sync()
        answer = get(server, path)
        return answer.status, shape(answer.json)


@pytest.mark.parametrize("path", PAGES)
def test_pages_have_the_keys_and_types_of_the_reference(servers: Pool, path: str) -> None:
    omitted = PAGES[path]
    status, expected = page_shape(servers.shared(REFERENCE, WITH_MONITOR), path)
    status_own, found = page_shape(servers.shared(PENSTOCK, WITH_MONITOR), path)
    assert status_own == status
    if path.startswith("/varz"):
        assert found.keys() >= VARZ_OWN
        for page in (expected, found):
            page["http_req_stats"] = {}  # it holds whatever was asked for before
    assert without(found, VARZ_OWN) == without(expected, omitted)
    assert without(found, omitted) == found, "no longer omitted"


@pytest.mark.parametrize("path", ["/varz", "/connz", "/subsz", "/healthz"])
def test_keys_come_in_the_order_of_the_reference(servers: Pool, path: str) -> None:
    expected = list(get(servers.shared(REFERENCE, WITH_MONITOR), path).json)
    found = list(get(servers.shared(PENSTOCK, WITH_MONITOR), path).json)
    assert [key for key in found if key not in VARZ_OWN] == [
        key for key in expected if key in found
    ]


@pytest.mark.parametrize("path", REFUSED)
def test_refusals_have_the_words_of_the_reference(servers: Pool, path: str) -> None:
    expected = get(servers.shared(REFERENCE, WITH_MONITOR), path)
    found = get(servers.shared(PENSTOCK, WITH_MONITOR), path)
    assert expected.status in (400, 404)
    assert (found.status, found.text) == (expected.status, expected.text)
    assert found.headers["Content-Type"] == expected.headers["Content-Type"]


@pytest.mark.parametrize("path", ACCEPTED)
def test_what_the_reference_accepts_is_accepted(monitored: Server, path: str) -> None:
    assert get(monitored, path).status == 200


@pytest.mark.parametrize(
    "sort",
    ["cid", "start", "subs", "pending", "msgs_to", "msgs_from", "bytes_to", "bytes_from", "last",
     "idle", "uptime", "rtt", "stop&state=closed", "reason&state=closed"],
)  # fmt: skip
def test_every_order_of_the_reference_is_known(monitored: Server, sort: str) -> None:
    assert get(monitored, f"/connz?sort={sort}").status == 200


def test_orders_are_those_of_the_reference(monitored: Server) -> None:
    """By name, because the servers number connections differently."""
    with NatsClient(monitored, name="few") as few, NatsClient(monitored, name="many") as many:
        few.send("SUB order.x 1", "SUB order.y 2", "PUB order.other 100", "z" * 100)
        few.sync()
        many.send(*("PUB order.x 1", "z") * 3)
        many.sync()
        few.sync()
        for sort, first in (
            ("cid", "few"), ("start", "few"), ("subs", "few"), ("msgs_to", "few"),
            ("bytes_to", "few"), ("bytes_from", "few"), ("msgs_from", "many"), ("uptime", "many"),
        ):  # fmt: skip
            rows = get(monitored, f"/connz?sort={sort}").json["connections"]
            names = [row["name"] for row in rows if row.get("name") in ("few", "many")]
            assert names[0] == first, sort
