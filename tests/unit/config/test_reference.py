"""The reference's opinion: small files through `nats-server -t -c` and through penstock.

Both must accept or both refuse, except for the differences listed with their reason. What the
reference calls a warning fails its test of a configuration, and so it fails ours.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.flags import parse
from penstock.config.problems import ConfigError

REFERENCE = Path(sys.executable).parent / "nats-server"
ENVIRONMENT = {"PORT": "4333", "WORD": "word", "LOOP": "$LOOP", "EMPTY": ""}

ACCEPTED = """
port: 4222
port 4222
port = 4222 # comment
PORT: -1
listen: 4222
listen: localhost:4222
listen = :4222
listen: "[::1]:4222"
listen: 0.0.0.0:-1
host: 127.0.0.1, port: 4222
net: localhost; port: 4222
{ "port": 4222, "debug": true }
{ "port": 4222, "authorization": { "users": [ {"user": "a", "password": "b"} ] }, }
client_advertise: "example.org:4222"
server_name: one
http: 8222
http: "localhost:8222"
http_port: 8222
monitor_port: 8222
http_base_path: /nats
max_payload: 8MB
max_payload: 1048576
max_control_line: 4k
max_connections: 100
max_conn: -1
max_subscriptions: 0
max_subs: 10
max_pending: 10MB
write_deadline: 10s
write_deadline: "2m"
ping_interval: "30s"
ping_max: 3
debug: true, trace: yes
debug: OFF
logtime: false
log_file: "/tmp/x.log"
logfile: /tmp/x.log
pid_file: /tmp/x.pid
pidfile: "/tmp/x.pid"
ports_file_dir: /tmp
jetstream: true
jetstream: enabled
jetstream: Disabled
jetstream {}
jetstream { enabled: false }
jetstream { store_dir: /tmp/x, max_mem: 1G, max_file: "10G" }
jetstream { sync_interval: always, domain: hub }
jetstream { sync_interval: "10s", unique_tag: az, strict: false }
jetstream { max_outstanding_catchup: 32MB, max_buffered_msgs: 1, max_buffered_size: 1MB }
jetstream { limits { max_ack_pending: 10, duplicate_window: "1m", batch { timeout: 1s } } }
store_dir: /tmp/x
no_header_support: true
disable_sublist_cache: true
lame_duck_duration: "60s"
lame_duck_duration: "60s", lame_duck_grace_period: "10s"
trace_verbose: true
authorization { user: a, password: b }
authorization { user: a }
authorization { token: a }
authorization { token: a, timeout: 1 }
authorization { token: a, timeout: 0.5 }
authorization { token: a, timeout: "5s" }
authorization { users: [] }
authorization { users [ {user: a, pass: b}, {username: c, password: d} ] }
authorization { user: a, password: $2a$11$UP3xizk94sWF9SHF/wkklOfBT9jphTGNrhZqz2OHoBdk9yO1kvErG }
mine: 4333\\nport: $mine
port: $PORT
server_name: $WORD
server_name: $EMPTY
a: "x"\\nauthorization { b: $a, user: $b, pass: $a }
log_file: (\\n)\\n
server_name: #x
server_name: 'a"b'
server_name: "a\\\\x41"
log_file: ab\\\\tc
server_name: 2s
server_name: 1kx
server_name: "2020-01-01"
server_name: "\u00e9"
authorization\\n{\\n  user: a\\n}\\n
include part.conf
include 'part.conf'
include "./part.conf"\\nport: 4333
authorization { include user.conf }
"""

REFUSED = """
port
port =
port: "4222"
port: true
port: 4222 4223
port: 4222 debug: true
= 4222
port: [
port: ]
listen: here
listen: "a:b"
listen: 1:2:3
listen: true
listen: {}
host: 5
debug: 1
debug: "true"
server_name: 5
server_name: "a b"
server_name: "open
server_name: 'open
server_name: "\\\\q"
server_name: "\\\\xzz"
server_name: (open
server_name: 2020-13-01T00:00:00Z
max_payload: "8MB"
max_payload: 3000000000
max_payload: 1.5
max_control_line: 3000000000
max_connections: x
max_subs: {}
ping_interval: 30
ping_interval: 2.5
ping_interval: soon
ping_interval: 2m
write_deadline: 10
ping_max: "3"
lame_duck_duration: 60
lame_duck_duration: "29s"
lame_duck_duration: "x"
lame_duck_grace_period: "-1s"
no_header_support: 1
log_file: 5
pid_file: true
authorization: 5
authorization { user: a, token: b }
authorization { user: a, users: [] }
authorization { token: a, users: [] }
authorization { users: {} }
authorization { users: [a] }
authorization { users: [{password: a}] }
authorization { users: [{user: a}, {user: a}] }
authorization { users: [{user: a, color: b}] }
authorization { user: 5 }
authorization { password: 1234, user: a }
authorization { token: a, timeout: true }
authorization { token: a, timeout: 90 }
authorization { token: a, timeout: 1m }
authorization { usr: a }
jetstream: maybe
jetstream: 5
jetstream { max_mem: "1X" }
jetstream { max_mem: true }
jetstream { sync_interval: soon }
jetstream { strict: 1 }
jetstream { max_concurrent_io: 2 }
jetstream { meta_compact: -1 }
jetstream { limits: 5 }
jetstream { limits { max_ack: 5 } }
jetstream { stor_dir: x }
store_dir: a, jetstream { store_dir: b }
prot: 4222
mine: 4222
port: $mine
port: $mine\\nmine: 4222
port: $LOOP
port: $WORD
include none.conf
include 5
include
include [x]
include broken.conf
port: 99999999999999999999
a [1 2]
a [, 1]
a {b 1, , c 2}
a {b = }
"""

# Text, whether penstock accepts it, whether the reference does, and why they differ.
DIFFERENCES = (
    # penstock is more patient: what was meant is clear.
    ("authorization{ user: a }", True, False, "a brace may follow its key at once"),
    ("authorization =\n{ user: a }", True, False, "a block may start on the next line"),
    ("store_dir: ./data", True, False, "a relative path needs no quotes"),
    ("server_name: -a", True, False, "a word may start with a dash"),
    ("server_name: 2020-01-01", True, False, "half a date-time is a word"),
    ("ping_interval: 1.5s", True, False, "a duration with a fraction needs no quotes"),
    ("authorization { users [{user: a}\n, {user: b}] }", True, False, "a line may start with ','"),
    ("ping_max_out: 3", True, False, "the name in the reference's /varz"),
    ("\ufeffport: 4222", True, False, "a byte order mark is no part of a key"),
    ("mine: $2b$11$x\nserver_name: $mine", True, False, "every bcrypt prefix is no variable"),
    # penstock is stricter: the reference starts with something that was not meant.
    ("port: 65536", False, True, "not a port; the reference fails when it listens"),
    ("port: -2", False, True, "not a port; the reference fails when it listens"),
    ("listen: localhost:65536", False, True, "not a port"),
    ("max_payload: 100MB", False, True, "the reference fails later, above max_pending"),
    ("max_payload: 2MB, max_pending: 1MB", False, True, "the reference fails later"),
    ("max_payload: -1", False, True, "a negative size"),
    ("max_connections: -2", False, True, "a negative size"),
    ("max_pending: -1", False, True, "a negative size"),
    ("ping_interval: '-2s'", False, True, "a negative duration"),
    ("jetstream { sync_interval: '0s' }", False, True, "two minutes to the reference"),
    ("authorization { token: a, timeout: -1 }", False, True, "a negative duration"),
    ("authorization { password: a }", False, True, "the reference lets everybody in"),
    ("lame_duck_duration: 30s, lame_duck_grace_period: 30s", False, True, "fails later there"),
    ("client_advertise: ':4222'", False, True, "no host to advertise"),
    ("server_name: 'a\tb'", False, True, "a tab is a blank too"),
    ("port: 4222 }", False, True, "a brace that closes nothing"),
    ("{ port: 4222\n", False, True, "a brace that nothing closes"),
    ("debug\ntrue", False, True, "a scalar stands on the line of its key"),
    ("max_pending: 16e", False, True, "an integer above 64 bits"),
    # penstock has no such feature, and says so.
    ("gateway { name: a, port: 7222 }", False, True, "not supported"),
    ("leafnodes { port: 7422 }", False, True, "not supported"),
    ("cluster { port: 6222 }", False, True, "not supported yet"),
    ("accounts { A: { users: [{user: a, password: b}] } }", False, True, "not supported yet"),
    ("system_account: A", False, True, "not supported yet"),
    ("authorization { user: a, permissions: { publish: x } }", False, True, "not supported yet"),
    ("jetstream { key: secret }", False, True, "no encryption at rest"),
)


def cases(table: str) -> list[str]:
    return [line.replace("\\n", "\n").replace("\\\\", "\\") for line in table.strip().splitlines()]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "part.conf").write_text("port: 4222\n")
    (tmp_path / "user.conf").write_text("user: a\npassword: b\n")
    (tmp_path / "broken.conf").write_text("port: [\n")
    return tmp_path


def opinions(text: str, directory: Path) -> tuple[bool, bool]:
    """Whether penstock and whether the reference accept `text`."""
    file = directory / "test.conf"
    file.write_text(text)
    try:
        ours = parse(["-t", "-c", str(file)], ENVIRONMENT).test_config
    except ConfigError:
        ours = False
    command = [str(REFERENCE), "-t", "-c", str(file)]
    theirs = subprocess.run(command, env=ENVIRONMENT, capture_output=True, check=False)
    return ours, theirs.returncode == 0


@pytest.mark.parametrize("text", cases(ACCEPTED))
def test_both_accept(text: str, directory: Path) -> None:
    assert opinions(text, directory) == (True, True)


@pytest.mark.parametrize("text", cases(REFUSED))
def test_both_refuse(text: str, directory: Path) -> None:
    assert opinions(text, directory) == (False, False)


@pytest.mark.parametrize(
    ("text", "ours", "theirs"), [(text, ours, theirs) for text, ours, theirs, _ in DIFFERENCES]
)
def test_deliberate_differences(text: str, ours: bool, theirs: bool, directory: Path) -> None:
    assert opinions(text, directory) == (ours, theirs)
