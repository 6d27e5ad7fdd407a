"""The sink's way to its server: let in or not, encrypted, gone for a while, too busy."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.client import JetStream
from pyspark_jetstream.sink import write_partition
from pyspark_jetstream.sink_errors import ServerSilentError, SinkError
from pyspark_jetstream.sink_link import PATIENCE_SECONDS, Link
from tests.parity.servers import IMPLEMENTATIONS, REFERENCE, Implementation, Server
from tests.spark.ports import free_port
from tests.spark.sink_bench import TASK, Bench, bench, in_order, payloads, rows

__all__ = ["bench"]  # a fixture

MODES = ("msgid", "batch")
both = pytest.mark.parametrize("implementation", IMPLEMENTATIONS, ids=lambda one: one.name)


@both
@pytest.mark.parametrize("mode", MODES)
def test_a_task_outlives_its_server(
    implementation: Implementation, mode: str, tmp_path: Path
) -> None:
    """Killed with rows on their way and started again, it has every row once."""
    flags = ("-js", "-sd", str(tmp_path), "-p", str(free_port()))
    running = [Server(implementation, flags)]
    bench = Bench(running[0].url, "ROWS")
    bench.create(allow_atomic=True, duplicate_window=3600)  # starting takes a busy machine long
    batches = rows(bench, 20_000, pieces=10)

    def killing() -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(batches):
            if number in (3, 7):
                running.pop().close()
                running.append(Server(implementation, flags))
            yield batch

    try:
        plan = bench.plan(batches[0].schema, sinkMode=mode)
        written = write_partition(plan, TASK, killing())
        assert written.rows == 20_000
        assert payloads(bench.stored()) == in_order(20_000)
    finally:
        running.pop().close()


@both
def test_a_user_is_let_in(implementation: Implementation, tmp_path: Path) -> None:
    config = 'authorization { user: "writer", password: "secret" }'
    with Server(implementation, ("-js", "-sd", str(tmp_path)), config) as server:
        bench = Bench(server.url.replace("//", "//writer:secret@"), "ROWS")
        bench.create()
        batches = rows(bench, 100)
        named = {"url": server.url, "user": "writer", "password": "secret"}
        plan = bench.plan(batches[0].schema, **named)
        assert write_partition(plan, TASK, iter(batches)).rows == 100


PERMISSIONS = """
authorization {
  users: [
    { user: "writer", password: "secret" },
    { user: "reader", password: "secret", permissions: { publish: ["$JS.>"], subscribe: [">"] } },
  ]
}
"""


def test_what_a_user_may_not_do_is_told(tmp_path: Path) -> None:
    """With the reference: penstock has no permissions."""
    with Server(REFERENCE, ("-js", "-sd", str(tmp_path)), PERMISSIONS) as server:
        bench = Bench(server.url.replace("//", "//writer:secret@"), "ROWS")
        bench.create()
        batches = rows(bench, 100)
        named = {"url": server.url, "user": "reader", "password": "secret"}
        plan = bench.plan(batches[0].schema, **named)
        with pytest.raises(SinkError, match="Permissions Violation for Publish"):
            write_partition(plan, TASK, iter(batches))
        assert bench.stored() == []


@pytest.mark.parametrize("mode", MODES)
def test_rows_go_through_tls(mode: str, tmp_path: Path) -> None:
    """With the reference: penstock has no TLS."""
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made by openssl, which is not on PATH")
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*made, *names, *files], check=True, capture_output=True)
    flags = ("-js", "-sd", str(tmp_path / "store"))
    with Server(REFERENCE, flags) as server:
        Bench(server.url, "ROWS").create(allow_atomic=True)
    config = f'tls {{ cert_file: "{certificate}", key_file: "{key}" }}'
    with Server(REFERENCE, flags, config) as server:
        bench = Bench(server.url, "ROWS")
        batches = rows(bench, 5000)
        trusted = {"tls.ca": str(certificate)}
        plan = bench.plan(batches[0].schema, sinkMode=mode, **trusted)
        write_partition(plan, TASK, iter(batches))
    with Server(REFERENCE, flags) as server:
        assert payloads(Bench(server.url, "ROWS").stored()) == in_order(5000)


def test_a_stream_with_too_many_open_batches_is_waited_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """50 batches of somebody else are open, and are gone when it tries again."""
    bench.create(allow_atomic=True)
    tried: list[str] = []
    reopen = Link.reopen

    async def discard(js: JetStream, batch_ids: list[str]) -> None:
        for batch_id in batch_ids:
            gap = {"Nats-Batch-Id": batch_id, "Nats-Batch-Sequence": "9"}
            await js.connection.publish(f"{bench.name}.crowd", b"", headers=gap)
        await js.connection.flush()

    async def crowd(js: JetStream) -> list[str]:
        crowded = [js.batch() for _ in range(50)]
        for batch in crowded:
            await batch.publish(f"{bench.name}.crowd", b"")
        return [batch.id for batch in crowded]

    batch_ids = bench.run(crowd)

    def cleared(link: Link, first: int, why: str) -> None:
        tried.append(why)
        bench.run(lambda js: discard(js, batch_ids))
        reopen(link, first, why)

    monkeypatch.setattr(Link, "reopen", cleared)
    bench.write(rows(bench, 10), sinkMode="batch")
    assert tried
    assert payloads(bench.stored()) == in_order(10)


def test_a_server_that_stays_silent_ends_the_task(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream that is deleted meanwhile has nobody who answers."""
    bench.create()
    batches = rows(bench, 10)
    plan = bench.plan(batches[0].schema)

    def deleting() -> Iterator[pa.RecordBatch]:
        async def delete(js: JetStream) -> None:
            await js.delete_stream(bench.name)

        bench.run(delete)
        yield from batches

    make_patience_short(monkeypatch, tries=1)
    with pytest.raises(ServerSilentError, match=r"nothing was stored for .* no stream listens"):
        write_partition(plan, TASK, deleting())


def make_patience_short(monkeypatch: pytest.MonkeyPatch, tries: int) -> None:
    reopen = Link.reopen

    def much_later(self: Link, first: int, why: str) -> None:
        self._progress.at -= PATIENCE_SECONDS / tries
        reopen(self, first, why)

    monkeypatch.setattr(Link, "reopen", much_later)


@pytest.mark.parametrize("mode", MODES)
def test_a_stream_that_stays_full_ends_the_task(
    bench: Bench, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fits into it is answered again with every try, which brings nobody on."""
    bench.create(allow_atomic=True, max_msgs=3, discard="new")
    tried: list[str] = []
    make_patience_short(monkeypatch, tries=3)
    reopen = Link.reopen

    def counted(self: Link, first: int, why: str) -> None:
        tried.append(why)
        assert len(tried) < 10, "it goes on for ever"
        reopen(self, first, why)

    monkeypatch.setattr(Link, "reopen", counted)
    with pytest.raises(ServerSilentError, match=r"nothing was stored for .* maximum messages"):
        bench.write(rows(bench, 5, pieces=1), sinkMode=mode)
    assert payloads(bench.stored()) == (in_order(3) if mode == "msgid" else [])
