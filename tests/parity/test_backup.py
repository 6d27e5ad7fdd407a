"""Backups move between the servers, with everything that is in them.

With the `nats` CLI (named by NATS_CLI, or on the path) the real client makes and restores them too.
"""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.interop.nats_command import find_nats
from tests.parity.backup_peer import (
    OLD_BACKUP,
    STATE_KEYS,
    Site,
    begin_restore,
    contents,
    delete,
    end_restore,
    fill,
    restore,
    snapshot,
)
from tests.parity.numbered import ANSWER_SECONDS_MAX, Pub
from tests.parity.servers import IMPLEMENTATIONS, PENSTOCK, REFERENCE, Implementation, Server
from tests.parity.streams_peer import Heard, Listen, Quiet

CLI = find_nats() or Path("nats")
PAIRS = [(origin, place) for origin in IMPLEMENTATIONS for place in IMPLEMENTATIONS]


@pytest.mark.parametrize(("origin", "place"), PAIRS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("storage", ["file", "memory"])
def test_a_backup_restores_with_everything(
    site: Site, origin: Implementation, place: Implementation, storage: str
) -> None:
    name = f"MOVE{origin.name}{place.name}{storage}"
    fill(site.servers[origin], name, storage=storage)
    wanted = contents(site.servers[origin], name)
    backup = snapshot(site.servers[origin], name)
    assert {key: backup.state.get(key) for key in STATE_KEYS if key != "deleted"} == {
        key: value for key, value in wanted[0].items() if key != "deleted"
    }
    delete(site.servers[origin], name)
    reply = restore(site.servers[place], backup.config, backup.data)
    assert "error" not in reply, reply
    assert contents(site.servers[place], name) == wanted
    assert reply["state"]["last_seq"] == 30
    assert site.left_behind() == []
    peer = site.peer(site.servers[place])  # it goes on where it was, and remembers its message ids
    if place is PENSTOCK:  # *ours*: the reference has forgotten the ids
        again = peer.play(Pub(f"{name}.1", b"", {"Nats-Msg-Id": f"{name}-29"}))
        assert json.loads(again) == {"stream": name, "seq": 29, "duplicate": True}
    assert json.loads(peer.play(Pub(f"{name}.1", b"new")))["seq"] == 31
    delete(site.servers[place], name)


@pytest.mark.skipif(not CLI.exists(), reason="the nats CLI is not there")
@pytest.mark.parametrize(("origin", "place"), PAIRS, ids=lambda kind: kind.name)
def test_the_cli_moves_a_stream(
    site: Site, origin: Implementation, place: Implementation, tmp_path: Path
) -> None:
    name = f"CLI{origin.name}{place.name}"
    fill(site.servers[origin], name)
    wanted = contents(site.servers[origin], name)
    folder = str(tmp_path / "backup")
    run_cli(site.servers[origin], "stream", "backup", name, folder, "--no-progress")
    delete(site.servers[origin], name)
    run_cli(site.servers[place], "stream", "restore", folder, "--no-progress")
    assert contents(site.servers[place], name) == wanted
    delete(site.servers[place], name)


def run_cli(server: Server, *arguments: str) -> str:
    command = [str(CLI), "-s", server.url, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", IMPLEMENTATIONS, ids=lambda kind: kind.name)
def test_an_emptied_stream_keeps_its_last_sequence(site: Site, kind: Implementation) -> None:
    name = f"EMPTIED{kind.name}"
    fill(site.servers[kind], name)
    peer = site.peer(site.servers[kind])
    assert peer.ask(f"STREAM.PURGE.{name}")["purged"] == 24
    backup = snapshot(site.servers[kind], name)
    delete(site.servers[kind], name)
    for place in IMPLEMENTATIONS:
        reply = restore(site.servers[place], backup.config, backup.data)
        state = reply["state"]
        assert (state["messages"], state["first_seq"], state["last_seq"]) == (0, 31, 30)
        if place is PENSTOCK:
            site.restart(PENSTOCK)
        peer = site.peer(site.servers[place])
        assert json.loads(peer.play(Pub(f"{name}.x")))["seq"] == 31
        delete(site.servers[place], name)


def test_an_empty_stream_restores(site: Site) -> None:
    for kind in IMPLEMENTATIONS:
        peer = site.peer(site.servers[kind])
        peer.ask("STREAM.CREATE.NEVER", {"name": "NEVER", "subjects": ["never"]})
        backup = snapshot(site.servers[kind], "NEVER")
        delete(site.servers[kind], "NEVER")
        reply = restore(site.servers[PENSTOCK], backup.config, backup.data)
        assert reply["state"]["last_seq"] == 0
        peer = site.peer(site.servers[PENSTOCK])
        assert json.loads(peer.play(Pub("never")))["seq"] == 1
        delete(site.servers[PENSTOCK], "NEVER")


@pytest.mark.parametrize("kind", IMPLEMENTATIONS, ids=lambda kind: kind.name)
@pytest.mark.parametrize(
    ("wanted", "chunk_bytes"),
    [
        ({"chunk_size": 1, "window_size": 1}, 1024),
        ({"chunk_size": 5000, "window_size": 20_000}, 5000),
        ({"chunk_size": 2_000_000}, 1 << 20),
        ({"no_consumers": True, "jsck": True}, 128 * 1024),
    ],
)
def test_chunks_come_as_asked(
    site: Site, kind: Implementation, wanted: dict[str, Any], chunk_bytes: int
) -> None:
    name = "CHUNKS"
    fill(site.servers[kind], name)
    backup = snapshot(site.servers[kind], name, **wanted)
    *chunks, end = backup.messages
    whole = [chunk for chunk in chunks if chunk.reply]
    assert [len(chunk.payload) for chunk in whole] == [chunk_bytes] * len(whole)
    for number, chunk in enumerate(whole, 1):
        words = chunk.reply.decode().split(".")
        assert words[:4] == ["$JS", "SNAPSHOT", "ACK", name]
        assert words[5:] == [str(chunk_bytes), str(number)]
    assert len(chunks) - len(whole) <= 1
    assert (end.payload, end.reply) == (b"", b"")
    assert end.headers == (b"NATS/1.0 204\r\n\r\n" if whole else b"")
    assert bool(whole) == (len(backup.data) >= chunk_bytes)
    delete(site.servers[kind], name)


def test_a_taken_subject_is_refused_at_the_start_or_at_the_end(site: Site) -> None:
    server = site.servers[PENSTOCK]
    fill(server, "LATE")
    backup = snapshot(server, "LATE")
    delete(server, "LATE")
    peer = site.peer(server)
    subject = begin_restore(peer, backup.config)
    peer.request(subject, backup.data)
    peer.ask("STREAM.CREATE.TAKER", {"name": "TAKER", "subjects": ["LATE.1.*"]})
    assert end_restore(peer, subject)["error"]["err_code"] == 10065
    assert begin_restore(peer, backup.config)["error"]["err_code"] == 10065
    assert site.left_behind() == []
    delete(server, "TAKER")
    assert "error" not in restore(server, backup.config, backup.data)
    subject = begin_restore(peer, backup.config | {"name": "LATE"})
    assert subject["error"]["err_code"] == 10130
    delete(server, "LATE")


def test_two_restores_of_one_name_make_one_stream(site: Site) -> None:
    server = site.servers[PENSTOCK]
    fill(server, "TWICE")
    wanted = contents(server, "TWICE")
    backup = snapshot(server, "TWICE")
    delete(server, "TWICE")
    peer = site.peer(server)
    subjects = [begin_restore(peer, backup.config) for _ in range(2)]
    for subject in subjects:
        peer.request(subject, backup.data)
    replies = [end_restore(peer, subject) for subject in subjects]
    assert "error" not in replies[0]
    assert replies[1]["error"]["err_code"] == 10130
    assert contents(server, "TWICE") == wanted
    assert site.left_behind() == []
    delete(server, "TWICE")


def test_a_restored_stream_survives_kill(site: Site) -> None:
    server = site.servers[PENSTOCK]
    fill(server, "KILLED")
    wanted = contents(server, "KILLED")
    backup = snapshot(server, "KILLED")
    delete(server, "KILLED")
    assert "error" not in restore(server, backup.config, backup.data)
    begin_restore(site.peer(server), backup.config | {"name": "HALF", "subjects": ["half"]})
    site.restart(PENSTOCK)
    assert contents(site.servers[PENSTOCK], "KILLED") == wanted
    assert site.left_behind() == []
    delete(site.servers[PENSTOCK], "KILLED")


def test_a_stalled_restore_leaves_nothing(site: Site) -> None:
    server = site.servers[PENSTOCK]
    fill(server, "STALLED")
    backup = snapshot(server, "STALLED")
    delete(server, "STALLED")
    peer = site.peer(server)
    subject = begin_restore(peer, backup.config)
    peer.request(subject, backup.data[:20_000])
    assert site.left_behind() != []
    deadline = time.monotonic() + ANSWER_SECONDS_MAX
    while site.left_behind() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert site.left_behind() == []
    message = peer.request(subject, b"")
    assert message is not None
    assert message.headers.startswith(b"NATS/1.0 503")
    assert peer.ask("STREAM.INFO.STALLED")["error"]["err_code"] == 10059


def test_messages_removed_during_a_snapshot_are_not_in_it(site: Site) -> None:
    """Only whole chunks wait for an acknowledgement, so the window stops the server in between."""
    server = site.servers[PENSTOCK]
    peer = site.peer(server)
    peer.ask("STREAM.CREATE.MOVING", {"name": "MOVING", "subjects": ["moving"]})
    for _ in range(200):
        peer.play(Pub("moving", os.urandom(10_000)))
    peer.play(Listen("chunks"))
    wanted = {"deliver_subject": "chunks", "chunk_size": 1024, "window_size": 1024}
    peer.request("$JS.API.STREAM.SNAPSHOT.MOVING", json.dumps(wanted).encode())
    data = b""
    peer.play(Quiet())
    peer.ask("STREAM.MSG.DELETE.MOVING", {"seq": 150})
    peer.play(Pub("moving", b"too late"))
    while True:
        while not peer.heard:
            assert peer.pump(time.monotonic() + ANSWER_SECONDS_MAX)
        message = peer.heard.pop(0)
        if not message.payload:
            break
        data += message.payload
        if message.reply:
            peer.play(Pub(message.reply.decode(), b"", acked=False))
    config = peer.ask("STREAM.INFO.MOVING")["config"]
    config["metadata"] = {}
    delete(server, "MOVING")
    state = restore(server, config, data)["state"]
    assert (state["messages"], state["last_seq"], state["num_deleted"]) == (199, 200, 1)
    delete(server, "MOVING")


def test_snapshots_end_when_nobody_acknowledges(site: Site) -> None:
    for kind in IMPLEMENTATIONS:
        server = site.servers[kind]
        fill(server, "SILENT")
        peer = site.peer(server)
        peer.play(Listen("silent"))
        wanted = {"deliver_subject": "silent", "chunk_size": 1024, "window_size": 1024}
        peer.request("$JS.API.STREAM.SNAPSHOT.SILENT", json.dumps(wanted).encode())
        peer.play(Heard(1))
        while not peer.heard:
            assert peer.pump(time.monotonic() + ANSWER_SECONDS_MAX)
        assert peer.heard[0].headers == b"NATS/1.0 408 No Flow Response\r\n\r\n"
        delete(server, "SILENT")


@pytest.mark.parametrize("kind", IMPLEMENTATIONS, ids=lambda kind: kind.name)
def test_the_format_before_2_15_restores(site: Site, kind: Implementation) -> None:
    backup = json.loads((OLD_BACKUP / "backup.json").read_text())
    server = site.servers[kind]
    reply = restore(server, backup["config"], (OLD_BACKUP / "stream.tar.s2").read_bytes())
    assert "error" not in reply, reply
    assert reply["created"] == "2026-11-16T04:50:08.245295207Z"
    state, messages = contents(server, "OLD")
    expected = {key: backup["state"].get(key) for key in STATE_KEYS} | {"deleted": [3, 8]}
    assert state == expected
    assert [entry.get("seq") for entry in messages] == [2, None, 4, 5, 6, 7, None]
    assert {entry["subject"] for entry in messages if "seq" in entry} == {
        "o.2", "o.4", "o.5", "o.6", "o.7"
    }  # fmt: skip
    assert messages[0]["time"] == backup["state"]["first_ts"]
    delete(server, "OLD")


def test_a_sealed_stream_restores_sealed(site: Site) -> None:
    fill(site.servers[REFERENCE], "SEALED")
    peer = site.peer(site.servers[REFERENCE])
    peer.ask("STREAM.UPDATE.SEALED", {"name": "SEALED", "subjects": ["SEALED.>"], "sealed": True})
    backup = snapshot(site.servers[REFERENCE], "SEALED")
    reply = restore(site.servers[PENSTOCK], backup.config, backup.data)
    assert "error" not in reply, reply
    assert reply["config"]["sealed"]
    assert contents(site.servers[PENSTOCK], "SEALED") == contents(site.servers[REFERENCE], "SEALED")
    for server in site.servers.values():
        delete(server, "SEALED")


def test_advisories_tell_of_backups(site: Site) -> None:
    told = []
    for kind in (REFERENCE, PENSTOCK):
        server = site.servers[kind]
        fill(server, "TOLD")
        peer = site.peer(server)
        peer.play(Listen("$JS.EVENT.ADVISORY.STREAM.>"))
        backup = snapshot(server, "TOLD")
        delete(server, "TOLD")
        restore(server, backup.config, backup.data)
        heard = peer.play(Heard(6))
        for _, _, fields in heard:
            assert ("bytes" in fields) == fields["type"].endswith("restore_complete")
            fields.pop("bytes", None)
            fields.get("client", {}).pop("rtt", None)  # known to the reference at once
        told.append(sorted(heard, key=str))
        delete(server, "TOLD")
    assert told[1] == told[0]
