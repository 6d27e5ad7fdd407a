"""Backups over the wire, as a client does them: the receiving and the sending half."""

import json
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.kernel.storage import S2Reader, s2_chunk, s2_start
from tests.parity.numbered import ANSWER_SECONDS_MAX, Message, Pub
from tests.parity.servers import IMPLEMENTATIONS, PENSTOCK, Implementation, Server
from tests.parity.streams_peer import Listen, Peer

OLD_BACKUP = Path(__file__).parent / "backups" / "2.12.1"
CHUNK_BYTES = 64 * 1024  # what the CLI sends


@dataclass
class Backup:
    """A snapshot: the reply to its request, and what came."""

    config: dict[str, Any]
    state: dict[str, Any]
    messages: list[Message]

    @property
    def data(self) -> bytes:
        return b"".join(message.payload for message in self.messages)

    @property
    def end(self) -> bytes:
        return self.messages[-1].headers


def snapshot(server: Server, stream: str, **wanted: object) -> Backup:
    peer = Peer(server)
    deliver = f"deliver.{stream}"
    peer.play(Listen(deliver))
    request = json.dumps({"deliver_subject": deliver, **wanted}).encode()
    reply = peer.request(f"$JS.API.STREAM.SNAPSHOT.{stream}", request)
    assert reply is not None
    fields = json.loads(reply.payload)
    assert "error" not in fields, fields
    messages: list[Message] = []
    deadline = time.monotonic() + ANSWER_SECONDS_MAX
    while not messages or messages[-1].payload:
        while not peer.heard:
            assert peer.pump(deadline), "the snapshot does not end"
        messages.append(message := peer.heard.pop(0))
        if message.reply:
            peer.play(Pub(message.reply.decode(), b"", acked=False))
    peer.close()
    return Backup(fields["config"], fields["state"], messages)


def restore(server: Server, config: dict[str, Any], data: bytes) -> dict[str, Any]:
    """The last reply; a request that is refused is the last one."""
    peer = Peer(server)
    try:
        subject = begin_restore(peer, config)
        if isinstance(subject, dict):
            return subject
        for at in range(0, len(data), CHUNK_BYTES):
            reply = peer.request(subject, data[at : at + CHUNK_BYTES])
            assert reply is not None
            assert reply.payload == b"", reply.payload
        return end_restore(peer, subject)
    finally:
        peer.close()


def begin_restore(peer: Peer, config: dict[str, Any]) -> Any:
    """Where the chunks go, or the refusal."""
    request = json.dumps({"config": config, "state": {}}).encode()
    reply = peer.request(f"$JS.API.STREAM.RESTORE.{config['name']}", request)
    assert reply is not None
    fields = json.loads(reply.payload)
    return fields if "error" in fields else fields["deliver_subject"]


def end_restore(peer: Peer, subject: str) -> dict[str, Any]:
    reply = peer.request(subject, b"")
    assert reply is not None
    fields: dict[str, Any] = json.loads(reply.payload)
    assert fields["type"] == "io.nats.jetstream.api.v1.stream_create_response"
    return fields


def unpacked(data: bytes) -> bytes:
    reader = S2Reader()
    reader.feed(data)
    blocks = []
    while (block := reader.next_block()) is not None:
        blocks.append(block)
    assert reader.is_whole()
    return b"".join(blocks)


def packed(content: bytes) -> bytes:
    size = 1 << 20
    parts = [content[at : at + size] for at in range(0, len(content), size)]
    return s2_start() + b"".join(s2_chunk(part) for part in parts)


def contents(server: Server, stream: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Everything that a copy of a stream has to have in common with it."""
    peer = Peer(server)
    reply = peer.request(f"$JS.API.STREAM.INFO.{stream}", b'{"deleted_details":true}')
    assert reply is not None
    info = json.loads(reply.payload)
    assert "error" not in info, info
    state = {key: info["state"].get(key) for key in STATE_KEYS}
    messages = []
    for sequence in range(state["first_seq"], state["last_seq"] + 1):
        reply = peer.request(f"$JS.API.STREAM.MSG.GET.{stream}", b'{"seq":%d}' % sequence)
        assert reply is not None
        fields = json.loads(reply.payload)
        messages.append(fields.get("message") or {"missing": sequence})
    peer.close()
    return state, messages


STATE_KEYS = (
    "messages",
    "bytes",
    "first_seq",
    "first_ts",
    "last_seq",
    "num_deleted",
    "deleted",
    "num_subjects",
)


def delete(server: Server, stream: str) -> None:
    peer = Peer(server)
    peer.ask(f"STREAM.DELETE.{stream}")
    peer.close()


def fill(server: Server, name: str, **config: object) -> None:
    """A stream with messages of many shapes, and holes at both ends and inside."""
    peer = Peer(server)
    created = peer.ask(f"STREAM.CREATE.{name}", {"name": name, "subjects": [f"{name}.>"], **config})
    assert "error" not in created, created
    for number in range(1, 31):
        payload = os.urandom(20_000) if number % 7 == 0 else b"x" * (number % 3 * number)
        headers = {"Number": str(number), "Nats-Msg-Id": f"{name}-{number}"}
        subject = f"{name}.{number % 5}.deep"
        peer.play(Pub(subject, payload, headers if number % 2 else None))
    for sequence in (1, 2, 11, 12, 20, 30):
        assert peer.ask(f"STREAM.MSG.DELETE.{name}", {"seq": sequence})["success"]
    peer.close()


class Site:
    """A server of each kind with a store of its own."""

    def __init__(self) -> None:
        self._folders = {
            kind: Path(tempfile.mkdtemp(prefix=f"backup-{kind.name}-")) for kind in IMPLEMENTATIONS
        }
        self.servers = {kind: self._start(kind) for kind in IMPLEMENTATIONS}
        self._peers: list[Peer] = []

    def _start(self, kind: Implementation) -> Server:
        return Server(kind, ("-js", "-sd", str(self._folders[kind])))

    def peer(self, server: Server) -> Peer:
        """A connection that lives as long as the test."""
        self._peers.append(peer := Peer(server))
        return peer

    def close_peers(self) -> None:
        while self._peers:
            self._peers.pop().close()

    def restart(self, kind: Implementation) -> None:
        self.servers[kind].close()
        self.servers[kind] = self._start(kind)

    def kill(self, kind: Implementation) -> None:
        """And starts it again."""
        self.close_peers()
        self.servers[kind].signal("SIGKILL")
        self.servers[kind].wait_exit()
        self.restart(kind)

    def left_behind(self) -> list[Path]:
        """What lies in penstock's store that belongs to no stream."""
        root = self._folders[PENSTOCK] / "jetstream"
        listed = self.peer(self.servers[PENSTOCK]).ask("STREAM.NAMES")["streams"] or []
        folders = [path for path in (root / "streams").glob("*") if path.suffix != ".deleted"]
        unnamed = [path for path in folders if path.stem not in listed]
        return [*(root / "restores").glob("*"), *unnamed]

    def close(self) -> None:
        for kind in IMPLEMENTATIONS:
            self.servers[kind].close()
            shutil.rmtree(self._folders[kind], ignore_errors=True)
