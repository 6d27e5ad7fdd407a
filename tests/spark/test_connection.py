"""Connections: who is let in, and what a break in the middle of a read costs."""

import json
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.datasource import CaseInsensitiveDict

from penstock.contexts import credentials
from pyspark_jetstream.connection import Connection, NotConnectedError
from pyspark_jetstream.options import ReadOptions, read_options, sink_options
from pyspark_jetstream.ranges import Range
from pyspark_jetstream.reading import read_range
from pyspark_jetstream.sink import write_partition
from pyspark_jetstream.sink_plan import plan_of
from pyspark_jetstream.stream_facts import look
from tests.parity.servers import IMPLEMENTATIONS, REFERENCE, Implementation, Server
from tests.spark.keys import certificate, operator, user_key
from tests.spark.ports import free_port
from tests.spark.sink_bench import TASK, in_order, numbered
from tests.spark.streams import Published, make, publish

both = pytest.mark.parametrize("implementation", IMPLEMENTATIONS, ids=lambda one: one.name)


def options(server: Server, **given: str) -> ReadOptions:
    return read_options(CaseInsensitiveDict({"servers": server.url, "stream": "A"} | given))


@both
@pytest.mark.parametrize(
    ("config", "right", "wrong"),
    [
        (
            'authorization { user: "a", password: "b" }',
            {"user": "a", "password": "b"},
            {"user": "a", "password": "c"},
        ),
        ('authorization { token: "secret" }', {"token": "secret"}, {}),
    ],
)
def test_who_is_let_in(
    implementation: Implementation, config: str, right: dict[str, str], wrong: dict[str, str]
) -> None:
    with Server(implementation, config=config) as server:
        with Connection(options(server, **right).connection) as connection:
            assert connection.client.is_connected
        refused = pytest.raises(NotConnectedError, match="does not let us in: see user, password")
        with refused, Connection(options(server, **wrong).connection):
            pass


@both
def test_a_server_without_jetstream_says_so(implementation: Implementation) -> None:
    refused = pytest.raises(NotConnectedError, match="no JetStream there: enable it")
    with (
        Server(implementation) as server,
        Connection(options(server).connection) as connection,
        refused,
    ):
        connection.api("STREAM.INFO.A")


@both
def test_a_read_outlives_its_server(implementation: Implementation, tmp_path: Path) -> None:
    """Killed with batches on their way and started again, it gives every row once."""
    count = 60_000
    flags = ("-js", "-sd", str(tmp_path), "-p", str(free_port()))
    with Server(implementation, flags) as server:
        make(server, "A")
        publish(server, [Published("A.x", b"%d" % number) for number in range(1, count + 1)])
        asked = options(server)
        with Connection(asked.connection) as connection:
            facts = look(connection, "A")
        part = Range("A", 1, facts.end, created=facts.created)
        batches = read_range(asked, ("seq", "data"), part)
        found = [next(batches)]
        server.kill()
    with Server(implementation, flags):
        found += list(batches)
    rows = [number for batch in found for number in batch["seq"].to_pylist()]
    assert rows == [*range(1, count + 1)]
    data = [int(text) for batch in found for text in batch["data"].to_pylist()]
    assert data == rows


ROWS = 3000


def round_trip(**given: str) -> None:
    """A stream is made, written in both modes of the sink, and read again."""
    access = CaseInsensitiveDict(given)
    for mode in ("msgid", "batch"):
        stream = mode.upper()
        asked = read_options(CaseInsensitiveDict(given | {"stream": stream}))
        config = {"name": stream, "subjects": [f"{stream}.>"], "storage": "file"}
        config |= {"allow_direct": True, "allow_atomic": True}
        with Connection(asked.connection) as connection:
            connection.api(f"STREAM.CREATE.{stream}", config)
            ledger = {"ledgerSubject": f"{stream}.ledger"} if mode == "batch" else {}
            sink = sink_options({**access, "stream": stream, "sinkMode": mode, **ledger})
            plan = plan_of(sink, ("subject", "data"))
            write_partition(plan, TASK, iter([numbered(ROWS, subject=f"{stream}.x")]))
            facts = look(connection, stream)
        part = Range(stream, 1, facts.end, created=facts.created)
        found = read_range(asked, ("subject", "data"), part)
        pairs = [row for batch in found for row in batch.to_pylist()]
        data = [row["data"] for row in pairs if not row["subject"].startswith(f"{stream}.ledger")]
        assert data == in_order(ROWS)


@both
@pytest.mark.parametrize(
    ("config", "given"),
    [
        ("", {}),
        ('authorization { user: "a", password: "b" }', {"user": "a", "password": "b"}),
        ('authorization { token: "secret" }', {"token": "secret"}),
    ],
)
def test_reads_and_writes(
    implementation: Implementation, config: str, given: dict[str, str], tmp_path: Path
) -> None:
    with Server(implementation, ("-js", "-sd", str(tmp_path)), config) as server:
        round_trip(servers=server.url, **given)


# What penstock does not have: with the reference


def test_reads_and_writes_with_an_nkey(tmp_path: Path) -> None:
    key, seed = user_key(), tmp_path / "seed"
    seed.write_text(f"{key.seed}\n")
    config = f"authorization {{ users: [ {{ nkey: {key.public} }} ] }}"
    with Server(REFERENCE, ("-js", "-sd", str(tmp_path / "store")), config) as server:
        round_trip(servers=server.url, nkey=str(seed))
        seed.write_text(user_key().seed)
        refused = pytest.raises(NotConnectedError, match="does not let us in")
        with refused, Connection(options(server, nkey=str(seed)).connection):
            pass
        seed.write_text("no seed")
        wrong = pytest.raises(
            NotConnectedError, match="option nkey has no seed, which begins with SU"
        )
        with wrong, Connection(options(server, nkey=str(seed)).connection):
            pass


@pytest.mark.parametrize("way", ["creds", "context"])
def test_reads_and_writes_as_a_user_of_an_operator(way: str, tmp_path: Path) -> None:
    made, file = operator(), tmp_path / "user"
    text = credentials(made.jwt, made.seed)
    if way == "context":
        text = json.dumps({"user_jwt": made.jwt, "user_seed": made.seed})
    file.write_text(text)
    with Server(REFERENCE, ("-js", "-sd", str(tmp_path / "store")), made.config) as server:
        round_trip(servers=server.url, **{way: str(file)})
        text = credentials(operator().jwt, made.seed)
        file.write_text(text)
        refused = pytest.raises(NotConnectedError, match="does not let us in")
        with refused, Connection(options(server, creds=str(file)).connection):
            pass
        file.write_text(made.jwt)
        wrong = pytest.raises(NotConnectedError, match="option creds has no user's token and seed")
        with wrong, Connection(options(server, creds=str(file)).connection):
            pass


def test_reads_and_writes_in_a_domain(tmp_path: Path) -> None:
    store = f'jetstream {{ domain: hub, store_dir: "{tmp_path}" }}'
    with Server(REFERENCE, (), store) as server:
        round_trip(servers=server.url, domain="hub")
        nowhere = pytest.raises(NotConnectedError, match=r"nobody answers \$JS.spoke.API.STREAM")
        with nowhere, Connection(options(server, domain="spoke").connection) as connection:
            connection.api("STREAM.INFO.A")


@pytest.mark.parametrize("way", ["tls", "verified", "first"])
def test_reads_and_writes_through_tls(way: str, tmp_path: Path) -> None:
    made = certificate(tmp_path)
    more = {"tls": "", "verified": f'ca_file: "{made.file}", verify: true'}
    more["first"] = "handshake_first: true"
    config = f'tls {{ cert_file: "{made.file}", key_file: "{made.key}", {more[way]} }}'
    given = {"tls.ca": made.file}
    given |= {"tls.cert": made.file, "tls.key": made.key} if way == "verified" else {}
    given |= {"tls.first": "true"} if way == "first" else {}
    with Server(REFERENCE, ("-js", "-sd", str(tmp_path / "store")), config) as server:
        round_trip(servers=server.url, **given)
        if way == "tls":
            unknown = pytest.raises(NotConnectedError, match=r"no TLS with .*tls.ca names who is")
            with unknown, Connection(options(server, **{"tls.first": "false"}).connection):
                pass


def test_files_of_tls_that_are_not_there_are_named(tmp_path: Path) -> None:
    asked = read_options({"stream": "A", "tls.ca": str(tmp_path / "none.pem")})
    with (
        pytest.raises(
            NotConnectedError, match=r"files of tls\.\* cannot be used \(.*none\.pem\): "
        ),
        Connection(asked.connection),
    ):
        pass
