"""`penstock.Server` and `penstock.serve`: start, stop, what is left behind, and what goes wrong."""

import asyncio
import contextlib
import gc
import logging
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import nats
import pytest
import uvloop
from nats.js.api import StreamConfig

import penstock

ANSWER_SECONDS_MAX = 30.0  # a loaded machine may be that late
STREAM = StreamConfig(name="ORDERS", subjects=["orders.>"])


async def stored(url: str, payload: bytes | None = None) -> int:
    """How many messages a server has, after one more if there is a payload."""
    client = await nats.connect(url)
    try:
        jetstream = client.jetstream(timeout=ANSWER_SECONDS_MAX)
        await jetstream.add_stream(STREAM)
        if payload is not None:
            await jetstream.publish("orders.eu", payload)
        return int((await jetstream.stream_info("ORDERS")).state.messages)
    finally:
        await client.close()


def wait_no_log_thread() -> None:
    """Threads that were joined stay in the list for a moment."""
    wait_until(lambda: not any("penstock-log" in name for name in thread_names()))


def wait_until(is_gone: Callable[[], bool]) -> None:
    """For what ends in its own time, and what earlier tests have left that ends meanwhile."""
    deadline = time.monotonic() + ANSWER_SECONDS_MAX
    while not is_gone():
        assert time.monotonic() < deadline, "something is left"
        time.sleep(0.001)


def opened_files() -> list[Path]:
    """By this process."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # it was closed meanwhile
            found.append(link.readlink())
    return found


def thread_names() -> list[str]:
    """Of all threads, native ones included."""
    names = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it ended meanwhile
            names.append((task / "comm").read_text())
    return names


def descriptors() -> int:
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_server_on_the_running_loop() -> None:
    async def program() -> Path:
        server = penstock.Server()
        assert not server.is_running
        async with server:
            assert server.is_running
            assert await stored(server.url, b"first") == 1
            assert await stored(server.url, b"second") == 2
            assert server.store_dir is not None
            assert (server.store_dir / "jetstream").is_dir()
            kept = server.store_dir
        assert not server.is_running
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", server.port), timeout=ANSWER_SECONDS_MAX)
        await server.stop()
        return kept

    assert not asyncio.run(program()).exists()


def test_a_directory_keeps_its_streams(tmp_path: Path) -> None:
    async def program() -> None:
        for count in (1, 2, 3):
            async with penstock.Server(tmp_path / "store") as server:
                assert await stored(server.url, b"more") == count
        again = penstock.Server(str(tmp_path / "store"))
        for _ in range(2):
            await again.start()
            assert await stored(again.url) == 3
            await again.stop()

    asyncio.run(program())


def test_ten_in_one_process_and_nothing_left_behind() -> None:
    async def program() -> None:
        servers = [await penstock.Server(name=f"server-{n}").start() for n in range(10)]
        assert len({server.port for server in servers}) == 10
        counts = await asyncio.gather(
            *(stored(server.url, b"x" * n) for n, server in enumerate(servers))
        )
        assert counts == [1] * 10
        for server in servers:
            await server.stop()

    asyncio.run(program())  # whatever is made once, such as a pool of threads
    wait_no_log_thread()
    before = descriptors()
    asyncio.run(program())
    wait_no_log_thread()
    wait_until(lambda: descriptors() <= before)


def test_files_are_closed_before_any_garbage_is_collected() -> None:
    async def program() -> Path:
        async with penstock.Server() as server:
            await stored(server.url, b"first")
            assert server.store_dir is not None
            return server.store_dir

    gc.disable()
    try:
        store = str(asyncio.run(program()))
        opened = opened_files()
        assert not [path for path in opened if str(path).startswith(store)]
    finally:
        gc.enable()


def test_on_uvloop_too() -> None:
    async def program() -> None:
        async with penstock.Server() as server:
            assert await stored(server.url, b"first") == 1

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(program())


def test_no_signal_handler_and_no_limit_is_touched() -> None:
    def state() -> object:
        handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
        return handlers, resource.getrlimit(resource.RLIMIT_NOFILE)

    async def program() -> None:
        before = state()
        async with penstock.Server():
            assert state() == before

    asyncio.run(program())


def test_a_server_in_a_thread() -> None:
    before = threading.active_count()
    with penstock.serve(name="threaded") as url:
        assert asyncio.run(stored(url, b"first")) == 1
        assert asyncio.run(stored(url, b"second")) == 2
    wait_until(lambda: threading.active_count() <= before)
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(
            ("127.0.0.1", int(url.rpartition(":")[2])), timeout=ANSWER_SECONDS_MAX
        )


def test_started_and_stopped_by_hand(tmp_path: Path) -> None:
    running = penstock.serve(tmp_path, monitor_port=0)
    running.start()
    try:
        assert running.url == f"nats://127.0.0.1:{running.port}"
        assert running.store_dir == tmp_path
        assert running.monitor_url is not None
        host, _, port = running.monitor_url.removeprefix("http://").partition(":")
        with contextlib.closing(
            HTTPConnection(host, int(port), timeout=ANSWER_SECONDS_MAX)
        ) as monitor:
            monitor.request("GET", "/healthz")
            assert monitor.getresponse().status == 200
    finally:
        running.stop()
    running.stop()


def test_started_twice_is_refused_and_the_first_goes_on() -> None:
    running = penstock.serve()
    with running as url:
        with pytest.raises(penstock.ServerStartError, match=r"running already; stop it first"):
            running.start()
        assert asyncio.run(stored(url, b"first")) == 1


def test_started_again(tmp_path: Path) -> None:
    running = penstock.serve(tmp_path)
    for count in (1, 2, 3):
        with running as url:
            assert asyncio.run(stored(url, b"more")) == count


def test_a_program_that_never_stops_it() -> None:
    """It ends as if nothing was there, and leaves nothing behind."""
    program = "import penstock; print(penstock.serve().start().store_dir)"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stderr == ""
    assert not Path(ran.stdout.strip()).exists()


def test_a_taken_port_is_refused_with_a_hint() -> None:
    async def program() -> None:
        async with penstock.Server() as first:
            with pytest.raises(penstock.ServerStartError) as refused:
                await penstock.Server(port=first.port).start()
            assert f"127.0.0.1:{first.port}" in refused.value.reason
            assert "leave the port out" in refused.value.hint
            with pytest.raises(penstock.ServerStartError, match="leave the port out"):
                penstock.serve(port=first.port).start()
            with pytest.raises(penstock.ServerStartError, match="leave the port out"):
                await penstock.Server(monitor_port=first.port).start()
            with pytest.raises(penstock.ServerStartError, match="running already"):
                await first.start()
        with pytest.raises(penstock.ServerStartError, match="leave the host out"):
            await penstock.Server(host="192.0.2.1").start()

    asyncio.run(program())
    wait_no_log_thread()


def test_a_directory_in_use_is_refused_with_a_hint(tmp_path: Path) -> None:
    async def program() -> None:
        async with penstock.Server(tmp_path):
            with pytest.raises(penstock.ServerStartError, match="in use by another server") as one:
                await penstock.Server(tmp_path).start()
            assert str(tmp_path) in str(one.value)
        async with penstock.Server(tmp_path):
            pass
        file = tmp_path / "file"
        file.write_text("no directory")
        with pytest.raises(penstock.ServerStartError, match="not a directory"):
            await penstock.Server(file).start()

    asyncio.run(program())


def test_tokens_and_limits() -> None:
    async def program() -> None:
        async with penstock.Server(token="secret", max_payload=1000, jetstream=False) as server:
            assert server.store_dir is None
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"CONNECT {}\r\n")
            assert b"Authorization Violation" in await reader.read()
            writer.close()
            await writer.wait_closed()
            client = await nats.connect(server.url, token="secret")
            assert client.max_payload == 1000
            with pytest.raises(nats.errors.NoRespondersError):
                await client.request("$JS.API.INFO", timeout=ANSWER_SECONDS_MAX)
            await client.close()

    asyncio.run(program())


def test_the_log_is_the_hosts(caplog: pytest.LogCaptureFixture) -> None:
    async def program() -> None:
        async with penstock.Server():
            pass

    with caplog.at_level(logging.INFO, logger="penstock"):
        asyncio.run(program())
    assert any("Listening for client" in record.getMessage() for record in caplog.records)
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="penstock"):
        asyncio.run(program())
    assert not caplog.records


def test_importing_loads_nothing_that_is_not_asked_for() -> None:
    program = """
import sys
import penstock
assert {"Server", "serve"} <= set(dir(penstock))
heavy = {"asyncio", "msgspec", "nats", "penstock.server", "penstock.kernel"} & set(sys.modules)
assert not heavy, heavy
assert penstock.__version__
try:
    penstock.no_such_thing
except AttributeError as error:
    print(error)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "no_such_thing" in ran.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        {"port": 99_999},
        {"port": -5},
        {"monitor_port": 70_000},
        {"name": "a b"},
        {"max_payload": -1},
        {"max_payload": 0},
        {"sync_interval": -1},
        {"sync_interval": 0},
        {"sync_interval": float("nan")},
        {"sync_interval": float("inf")},
        {"port": "x"},
        {"port": None},
        {"monitor_port": "8222"},
        {"name": 5},
        {"host": None},
        {"max_payload": "1MB"},
        {"sync_interval": "2m"},
        {"store_dir": 5},
        {"token": b"secret"},
    ],
    ids=str,
)
def test_arguments_that_no_server_has(arguments: dict[str, Any]) -> None:
    for make in (penstock.Server, penstock.serve):
        with pytest.raises(penstock.ServerStartError) as refused:
            make(**arguments)
        assert refused.value.hint
