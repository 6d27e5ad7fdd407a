"""Keys to options: what each key sets, what it refuses, and the rules between keys."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.config.options import Authorization, JetStreamLimits, JetStreamSettings, Options, User
from penstock.config.problems import ConfigError
from penstock.config.schema import Configuration, loads
from penstock.model import limits

SECOND_NS = 1_000_000_000


def read(text: str) -> Configuration:
    return loads(text, "test.conf", {})


def changed(text: str) -> dict[str, Any]:
    """Only what differs from the defaults."""
    options, defaults = read(text).options, Options()
    return {
        field: getattr(options, field)
        for field in Options.__struct_fields__
        if getattr(options, field) != getattr(defaults, field)
    }


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(text)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("listen: 4333", {"port": 4333}),
        ("listen: :4333", {"port": 4333}),
        ("listen: 127.0.0.1:4333", {"host": "127.0.0.1", "port": 4333}),
        ("listen: localhost:-1", {"host": "localhost", "port": -1}),
        ('listen: "[::1]:4333"', {"host": "::1", "port": 4333}),
        ("host: 10.0.0.1\nlisten: 4333", {"host": "10.0.0.1", "port": 4333}),
        ("net: 127.0.0.1", {"host": "127.0.0.1"}),
        ("port: -1", {"port": -1}),
        ("port: 0", {}),
        ("PORT: 4333", {"port": 4333}),
        ("port: 1\nPort: 2\nport: 3", {"port": 3}),
        ("client_advertise: example.org", {"client_advertise": "example.org"}),
        ("client_advertise: example.org:4222", {"client_advertise": "example.org:4222"}),
        ("server_name: one", {"server_name": "one"}),
        ("http: 8222", {"http_port": 8222}),
        ("http: localhost:8222", {"http_host": "localhost", "http_port": 8222}),
        ("http_port: 8222", {"http_port": 8222}),
        ("monitor_port: -1", {"http_port": -1}),
        ("http_port: 0", {}),
        ("http_base_path: nats/", {"http_base_path": "/nats"}),
        ("http_base_path: ''", {}),
        ("max_payload: 8MB", {"max_payload": 8 << 20}),
        ("max_payload: 0", {}),
        ("max_control_line: 8k", {"max_control_line": 8000}),
        ("max_connections: 10", {"max_connections": 10}),
        ("max_conn: 0", {"max_connections": 0}),
        ("max_conn: -1", {"max_connections": 0}),
        ("max_subscriptions: 5", {"max_subscriptions": 5}),
        ("max_subs: 5", {"max_subscriptions": 5}),
        ("max_pending: 2MB", {"max_pending": 2 << 20}),
        ("write_deadline: 5s", {"write_deadline_ns": 5 * SECOND_NS}),
        ("ping_interval: '1m30s'", {"ping_interval_ns": 90 * SECOND_NS}),
        ("ping_interval: 7", {"ping_interval_ns": 7 * SECOND_NS}),
        ("ping_max: 4", {"ping_max": 4}),
        ("ping_max_out: 4", {"ping_max": 4}),
        ("no_header_support: true", {"no_header_support": True}),
        ("disable_sublist_cache: on", {"disable_sublist_cache": True}),
        ("lame_duck_duration: 30s", {"lame_duck_duration_ns": 30 * SECOND_NS}),
        ("lame_duck_grace_period: 5s", {"lame_duck_grace_ns": 5 * SECOND_NS}),
        ("debug: true, trace: yes", {"debug": True, "trace": True}),
        ("logtime: false", {"log_time": False}),
        ("log_file: /var/log/nats.log", {"log_file": Path("/var/log/nats.log")}),
        ("logfile: ''", {}),
        ("pid_file: /run/nats.pid", {"pid_file": Path("/run/nats.pid")}),
        ("ports_file_dir: /run", {"ports_file_dir": Path("/run")}),
        ("jetstream: true", {"jetstream": True}),
        ("jetstream: enabled", {"jetstream": True}),
        ("jetstream: disabled", {}),
        ("jetstream {}", {"jetstream": True}),
        ("jetstream { enabled: false }", {}),
        ("jetstream { store_dir: /data }", {"jetstream": True, "store_dir": Path("/data")}),
        ("store_dir: /data", {"store_dir": Path("/data")}),
        ("deadline: 3s\nwrite_deadline: $deadline", {"write_deadline_ns": 3 * SECOND_NS}),
    ],
)
def test_keys(text: str, expected: dict[str, Any]) -> None:
    assert changed(text) == expected


def test_the_defaults_are_those_of_the_limits() -> None:
    options = read("port: 4222").options
    assert options == Options()
    assert options.max_payload == limits.PAYLOAD_BYTES_MAX


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("token: secret", Authorization(token="secret")),
        ("token: ''", Authorization()),
        ("user: me, password: secret", Authorization(users=(User(user="me", password="secret"),))),
        ("user: me", Authorization(users=(User(user="me", password=""),))),
        (
            "username: me, pass: $2a$11$x",
            Authorization(users=(User(user="me", password="$2a$11$x"),)),
        ),
        ("timeout: 1", Authorization(timeout_ns=SECOND_NS)),
        ("timeout: 0.5", Authorization(timeout_ns=SECOND_NS // 2)),
        ("timeout: 250ms", Authorization(timeout_ns=SECOND_NS // 4)),
        ("timeout: 0", Authorization()),
        ("users: []", Authorization()),
        (
            "users [ {user: a, password: b}\n {username: c, pass: d} ]",
            Authorization(users=(User(user="a", password="b"), User(user="c", password="d"))),
        ),
        ("P: x\nuser: me, pass: $P", Authorization(users=(User(user="me", password="x"),))),
    ],
)
def test_authorization(text: str, expected: Authorization) -> None:
    assert read(f"authorization {{\n{text}\n}}").options.authorization == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("user: a, token: b", "1:1: authorization can not have a user and a token"),
        ("token: b, users: []", "1:1: authorization can not have a token and an array of users"),
        ("user: a, users: []", "1:1: authorization can not have a single user and an array"),
        ("password: a", "1:1: authorization has a password without a user"),
        ("users: {user: a}", "1:24: users must be an array"),
        ("users: [a]", "1:25: each of users must be a block in braces, not a string"),
        ("users: [{password: a}]", "1:25: the entry has no user"),
        ("users: [{user: a}, {user: a}]", "1:36: user 'a' is in the array twice"),
        ("users: [{user: 1}]", "1:32: user must be a string in quotes, not an integer"),
        ("users: [{nkey: U}]", "1:26: nkey is not supported by penstock yet"),
        ("user: a, permissions {}", "1:26: permissions is not supported by penstock yet"),
        ("auth_callout {}", "1:17: auth_callout is not supported by penstock"),
        ("password: 1234", "1:27: password must be a string in quotes, not an integer"),
        ("timeout: -1", "1:26: timeout must not be negative"),
        ("timeout: 1m", '1:26: timeout must be quoted: write "1m", as a bare 1m is 1000000'),
        ("timeout: true", "1:26: timeout must be a duration"),
        ("usr: a", "1:17: unknown field 'usr': did you mean 'user'?"),
    ],
)
def test_authorization_refuses(text: str, expected: str) -> None:
    (problem,) = problems(f"authorization {{ {text} }}")
    assert problem.startswith(f"test.conf:{expected}")


def test_jetstream_settings_are_kept() -> None:
    text = """
    jetstream {
      domain: hub, strict: false, sync_interval: always, unique_tag: " AZ: "
      max_mem: 1G, max_file: "10G", max_outstanding_catchup: 32MB
      max_buffered_msgs: 10, meta_compact: 5, max_concurrent_io: 16
      limits { max_ack_pending: 5, duplicate_window: 1m5s, batch { max_msgs: 7, timeout: 3s } }
    }
    """
    assert read(text).options.jetstream_settings == JetStreamSettings(
        domain="hub",
        strict=False,
        unique_tag="az:",
        max_memory=10**9,
        max_file=10 << 30,
        max_outstanding_catchup=32 << 20,
        max_buffered_msgs=10,
        meta_compact=5,
        max_concurrent_io=16,
        limits=JetStreamLimits(
            max_ack_pending=5,
            duplicate_window_ns=65 * SECOND_NS,
            batch_max_msgs=7,
            batch_timeout_ns=3 * SECOND_NS,
        ),
    )


@pytest.mark.parametrize(
    ("text", "expected_ns"),
    [("always", None), ("ALWAYS", None), ("10s", 10 * SECOND_NS), ("5", 5 * SECOND_NS)],
)
def test_sync_interval(text: str, expected_ns: int | None) -> None:
    settings = read(f"jetstream {{ sync_interval: {text} }}").options.jetstream_settings
    assert settings.sync_interval_ns == expected_ns


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("port: 65536", "1:7: port must be a port up to 65535, or -1 for a random one, not 65536"),
        ("port: -2", "1:7: port must be a port"),
        ("port: '4222'", "1:7: port must be an integer, not a string"),
        ("port: 4222.0", "1:7: port must be an integer, not a floating-point number"),
        ("port: true", "1:7: port must be an integer, not a boolean"),
        ("listen: here", '1:9: listen must be a port or "host:port"'),
        ("listen: 1:2:3", '1:9: listen must be a port or "host:port"'),
        ("listen: host:99999", "1:9: listen must be a port up to 65535"),
        ("listen: true", '1:9: listen must be a port or "host:port", not a boolean'),
        ("http: {}", '1:7: http must be a port or "host:port", not a block'),
        ("host: 5", "1:7: host must be a string in quotes, not an integer"),
        ("server_name: 'a b'", "1:14: server_name can not contain spaces"),
        ("client_advertise: ':4222'", '1:19: client_advertise must be "host" or "host:port"'),
        ("max_payload: 65MB", "1:14: max_payload must be between 0 and 67108864"),
        ("max_payload: -1", "1:14: max_payload must be between 0 and 67108864"),
        ("max_control_line: 2147483648", "1:19: max_control_line must be between"),
        ("max_connections: -2", "1:18: max_connections must be between -1"),
        ("max_pending: '1MB'", "1:14: max_pending must be an integer, not a string"),
        ("max_payload: 2MB, max_pending: 1MB", "1:19: max_payload can not be higher than"),
        ("ping_interval: 2m", '1:16: ping_interval must be quoted: write "2m"'),
        ("ping_interval: 2.5", "1:16: ping_interval must be a duration such as"),
        ("ping_interval: soon", "1:16: ping_interval must be a duration such as"),
        ("ping_interval: -2s", "1:16: ping_interval must not be negative"),
        ("ping_interval: 99999999999", "1:16: ping_interval must be a duration such as"),
        ("lame_duck_duration: 29s", "1:21: lame_duck_duration must be at least 30 seconds"),
        ("lame_duck_duration: 60", "1:21: lame_duck_duration must be a duration such as"),
        (
            "lame_duck_duration: 30s, lame_duck_grace_period: 30s",
            "1:26: lame_duck_grace_period must be shorter than lame_duck_duration",
        ),
        ("debug: maybe", "1:8: debug must be true or false, not a string"),
        ("debug: 1", "1:8: debug must be true or false, not an integer"),
        ("authorization: 5", "1:16: authorization must be a block in braces, not an integer"),
        ("jetstream: maybe", "1:12: jetstream must be true, false, enabled, disabled or a block"),
        ("jetstream: 5", "1:12: jetstream must be true, false, enabled, disabled or a block"),
        ("jetstream { max_mem: '1X' }", "1:22: max_mem must be bytes, or text that ends in"),
        ("jetstream { max_mem: -2 }", "1:22: max_mem must be between -1 and"),
        ("jetstream { max_concurrent_io: 2 }", "1:32: max_concurrent_io must be between 4 and"),
        ("jetstream { sync_interval: 0s }", '1:28: sync_interval must be more than 0; "always"'),
        ("jetstream { sync: 0 }", '1:19: sync must be more than 0; "always"'),
        ("jetstream { limits { max_ack: 1 } }", "1:22: unknown field 'max_ack'"),
        ("jetstream { key: secret }", "1:13: key is not supported by penstock"),
        ("store_dir: /a, jetstream { store_dir: /b }", "1:1: store_dir is given here and in"),
        ("prot: 4222", "1:1: unknown field 'prot': did you mean 'port'?"),
        ("zzz: 1", "1:1: unknown field 'zzz'"),
        ("gateway { name: a }", "1:1: gateway is not supported by penstock"),
        ("mqtt { port: 1883 }", "1:1: mqtt is not supported by penstock"),
        ("LeafNodes {}", "1:1: leafnodes is not supported by penstock"),
        ("cluster { port: 6222 }", "1:1: cluster is not supported by penstock yet"),
        ("tls {}", "1:1: tls is not supported by penstock yet"),
        ("accounts {}", "1:1: accounts is not supported by penstock yet"),
    ],
)
def test_refusals(text: str, expected: str) -> None:
    (problem,) = problems(text)
    assert problem.startswith(f"test.conf:{expected}")


def test_a_key_used_as_a_variable_is_not_unknown() -> None:
    assert changed("mine: 4333\nport: $mine") == {"port": 4333}
    assert problems("mine: 4333\nport: 1") == ["test.conf:1:1: unknown field 'mine'"]


def test_all_problems_are_reported_at_once() -> None:
    text = "prot: 1\nport: x\nauthorization { usr: a }\nmqtt {}\nmax_payload: 2MB\nmax_pending: 1MB"
    places = [problem.split(": ")[0] for problem in problems(text)]
    assert places == [f"test.conf:{place}" for place in ("1:1", "2:7", "3:17", "4:1", "6:1")]


def test_the_number_of_problems_is_bounded() -> None:
    found = problems("\n".join(f"unknown_{number}: 1" for number in range(60)))
    assert len(found) == 51
    assert found[-1] == "and 10 more problems"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("port: 4222", []),
        ("", ["test.conf:1:1: the configuration is empty"]),
        (
            "ping_interval: 2",
            ['test.conf:1:1: ping_interval should be converted to a duration: "2s"'],
        ),
        (
            "authorization { timeout: 90 }",
            ["test.conf:1:17: timeout is high: keep it under 60 seconds"],
        ),
    ],
)
def test_warnings(text: str, expected: list[str]) -> None:
    assert [str(warning) for warning in read(text).warnings] == expected


def test_options_are_plain_data() -> None:
    options = read("port: 4333\nstore_dir: /data\njetstream: true").options
    assert msgspec.structs.replace(options, port=4222).port == 4222
    assert options.port == 4333
