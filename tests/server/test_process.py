"""The server as a process: flags, files, signals, exit status."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from penstock.model import version
from tests.parity.servers import PENSTOCK, Server
from tests.server.peer import Peer
from tests.server_process import BIN


def penstock(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [str(BIN / "penstock"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("flag", ["--version", "-v", "-version"])
def test_version_names_the_reference_first_and_penstock_second(flag: str) -> None:
    for arguments in ([flag], ["serve", flag]):
        result = penstock(*arguments)
        assert result.returncode == 0
        assert result.stdout.splitlines() == [
            f"nats-server: v{version.REFERENCE_VERSION}",
            f"penstock: v{version.PENSTOCK_VERSION}",
        ]


def test_an_unknown_command_says_what_there_is() -> None:
    result = penstock("sirve")
    assert result.returncode == 2
    assert "No such command 'sirve'" in result.stderr
    assert "serve" in result.stderr


def test_a_wrong_flag_is_one_line_and_status_1() -> None:
    result = penstock("serve", "--no-such-flag")
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1


def test_a_bad_configuration_is_fatal_with_file_line_and_column(tmp_path: Path) -> None:
    config = tmp_path / "bad.conf"
    config.write_text("port: 4222\nmax_paylod: 1MB\n")
    result = penstock("serve", "-c", str(config))
    assert result.returncode == 1
    assert "[FTL]" in result.stderr
    assert f"{config}:2:1" in result.stderr
    assert "max_payload" in result.stderr  # what was probably meant


def test_testing_a_configuration_starts_nothing(tmp_path: Path) -> None:
    config = tmp_path / "good.conf"
    config.write_text('port: -1\nserver_name: "x"\n')
    result = penstock("serve", "-t", "-c", str(config))
    assert result.returncode == 0
    assert "is valid" in result.stderr


def test_a_taken_port_is_fatal() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = penstock("serve", "-a", "127.0.0.1", "-p", str(port))
    assert result.returncode == 1
    assert "[FTL]" in result.stderr
    assert "Address already in use; -p takes another port" in result.stderr


def refusal_of_store(store: Path, *flags: str) -> str:
    """What a server that cannot use its store says: one line, and nothing about listening."""
    result = penstock("serve", "-a", "127.0.0.1", "-p", "-1", "-js", "-sd", str(store), *flags)
    assert result.returncode == 1
    assert "listening" not in result.stderr
    assert "Traceback" not in result.stderr
    (line,) = [line for line in result.stderr.splitlines() if "Cannot use the store" in line]
    assert str(store) in line
    return line


def test_a_store_that_is_no_directory_is_fatal(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    line = refusal_of_store(tmp_path / "file")
    assert f"{tmp_path}/file: it is not a directory; choose another store_dir (-sd)" in line
    assert "[FTL]" in line
    (tmp_path / "jetstream").write_text("")
    assert f"{tmp_path}/jetstream: it is not a directory" in refusal_of_store(tmp_path)


def test_a_store_that_may_not_be_written_is_fatal() -> None:
    """Not even root may write there."""
    line = refusal_of_store(Path("/sys/kernel"))
    assert "permission denied to user" in line or "Read-only" in line
    assert "choose another store_dir (-sd)" in line


def test_a_store_in_use_is_fatal(tmp_path: Path) -> None:
    with Server(PENSTOCK, ("-js", "-sd", str(tmp_path))):
        line = refusal_of_store(tmp_path)
    assert "in use by another server; stop that one" in line


def test_a_store_of_another_format_is_fatal(tmp_path: Path) -> None:
    (tmp_path / "jetstream").mkdir()
    path = tmp_path / "jetstream" / "format"
    path.write_text("penstock store 99\n")
    line = refusal_of_store(tmp_path)
    assert str(path) in line
    assert "'penstock store 99', this server knows 'penstock store 1'" in line
    path.unlink()
    (tmp_path / "jetstream" / "streams" / "A.1").mkdir(parents=True)
    assert "the file and its copy are missing, but there are streams" in refusal_of_store(tmp_path)


@pytest.mark.parametrize("name", ["format", "salt", "log/00000000000000000001.log"])
def test_a_pipe_in_the_store_is_fatal_and_not_waited_for(tmp_path: Path, name: str) -> None:
    path = tmp_path / "jetstream" / name
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    assert f"{path}: is no regular file but a pipe" in refusal_of_store(tmp_path)


def test_a_log_that_cannot_be_opened_is_fatal(tmp_path: Path) -> None:
    (tmp_path / "jetstream").mkdir()
    (tmp_path / "jetstream" / "log").write_text("not a directory")
    refusal_of_store(tmp_path)


def test_a_refusal_goes_to_stderr_also_if_the_log_goes_to_a_file(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    (tmp_path / "jetstream").write_text("")
    line = refusal_of_store(tmp_path, "-l", str(log))
    assert line.removeprefix("penstock: ") in log.read_text()


@pytest.mark.parametrize("signal_name", ["SIGTERM", "SIGINT"])
def test_a_stop_signal_closes_clients_removes_files_and_ends_with_0(
    signal_name: str, tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"
    with Server(PENSTOCK, ("-P", str(pid_file))) as server:
        assert pid_file.read_text() == str(server.process.pid)
        assert len(list(server.directory.glob(f"*_{server.process.pid}.ports"))) == 1
        peer = Peer(server.port)
        server.signal(signal_name)
        assert peer.closed() == b""
        assert server.wait_exit() == 0
        assert not list(server.directory.glob("*.ports"))
        assert not pid_file.exists()
        assert "Server Exiting" in server.log


def test_killing_the_process_leaves_nothing_running() -> None:
    with Server(PENSTOCK) as server:
        peer = Peer(server.port)
        server.process.kill()
        server.wait_exit()
        assert peer.closed() == b""
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", server.port), timeout=30)


def test_the_log_has_the_lines_tools_wait_for() -> None:
    with Server(PENSTOCK) as server:
        assert f"[INF] Listening for client connections on 127.0.0.1:{server.port}" in server.log
        # The ports file is complete before this line, so wait for the process to have gone on.
        Peer(server.port)
        assert "[INF] Server is ready" in server.log


def test_the_log_file_is_opened_again_on_usr1(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with Server(PENSTOCK, ("-l", str(log), "-D")) as server:
        log.rename(tmp_path / "old.log")
        server.signal("SIGUSR1")
        # A signal is handled between turns, so an answered PING may still precede it.
        while not log.exists():
            Peer(server.port).close()
        peer = Peer(server.port)
        assert f"cid:{peer.info['client_id']} - Client connection created" in log.read_text()


def test_trace_shows_what_clients_say() -> None:
    with Server(PENSTOCK, ("-DV",)) as server:
        peer = Peer(server.port)
        peer.send(b"PUB trace.me 2\r\nhi\r\n")
        peer.barrier()
        assert "[TRC]" in server.log
        assert "trace.me" in server.log


def test_lame_duck_tells_clients_and_then_sends_them_away() -> None:
    config = 'lame_duck_duration: "30s"\nlame_duck_grace_period: "50ms"\n'
    with Server(PENSTOCK, config=config) as server:
        peer = Peer(server.port, b'CONNECT {"verbose":false,"protocol":1}\r\nPING\r\n')
        server.signal("SIGUSR2")
        assert b'"ldm":true' in peer.closed()
        assert server.wait_exit() == 0
