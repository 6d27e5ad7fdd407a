"""Backups have the consumers of a stream, where they are, and move them between the servers."""

import json
import time
from typing import Any

import pytest

from tests.parity.backup_peer import (
    OLD_BACKUP,
    Site,
    begin_restore,
    contents,
    delete,
    restore,
    snapshot,
    unpacked,
)
from tests.parity.numbered import ANSWER_SECONDS_MAX, Pub, frame
from tests.parity.servers import IMPLEMENTATIONS, PENSTOCK, REFERENCE, Implementation, Server
from tests.parity.streams_peer import Listen, Peer

ROUTES = [
    (REFERENCE, PENSTOCK, REFERENCE),
    (PENSTOCK, REFERENCE, PENSTOCK),
    (PENSTOCK, PENSTOCK),
]
LONG_NS = 600_000_000_000
# What INFO tells of a consumer and a backup has to keep.
FIGURES = ("name", "delivered", "ack_floor", "num_ack_pending", "num_redelivered", "num_pending")


def make(peer: Peer, stream: str, name: str, *, durable: bool = True, **config: Any) -> None:
    config = {"name": name, "ack_policy": "explicit", "ack_wait": LONG_NS} | config
    if durable:
        config["durable_name"] = name
    else:
        config.setdefault("inactive_threshold", LONG_NS)
    answer = peer.ask(f"CONSUMER.CREATE.{stream}.{name}", {"stream_name": stream, "config": config})
    assert "error" not in answer, answer


def pull(peer: Peer, stream: str, consumer: str, count: int) -> list[str]:
    """The acknowledgement subjects of the next messages."""
    inbox = f"pulled.{peer.sids}"
    peer.play(Listen(inbox))
    request = json.dumps({"batch": count, "expires": 25_000_000_000}).encode()
    subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
    peer.socket.sendall(frame(Pub(subject, request), inbox.encode()))
    deadline = time.monotonic() + ANSWER_SECONDS_MAX
    while len(peer.heard) < count:
        assert peer.pump(deadline), peer.heard
    taken, peer.heard = peer.heard[:count], peer.heard[count:]
    return [message.reply.decode() for message in taken]


def sequences(acks: list[str]) -> list[tuple[int, int]]:
    """Of each message its sequence, and how often it was delivered."""
    return [(int(ack.split(".")[5]), int(ack.split(".")[4])) for ack in acks]


def settle(peer: Peer, *acks: str, word: bytes = b"+ACK") -> None:
    for ack in acks:
        assert peer.request(ack, word) is not None


def populate(peer: Peer, stream: str, **config: object) -> None:
    """A stream with consumers of many kinds in many states."""
    body = {"name": stream, "subjects": [f"{stream}.>"], **config}
    assert "error" not in peer.ask(f"STREAM.CREATE.{stream}", body)
    for number in range(1, 21):
        peer.play(Pub(f"{stream}.{number % 3}", b"%d" % number))
    assert peer.ask(f"STREAM.MSG.DELETE.{stream}", {"seq": 2})["success"]
    make(peer, stream, "work")
    acks = pull(peer, stream, "work", 6)
    settle(peer, acks[0], acks[1], acks[3])
    make(peer, stream, "filtered", filter_subjects=[f"{stream}.1", f"{stream}.2"])
    settle(peer, *pull(peer, stream, "filtered", 4)[1:3])
    make(peer, stream, "again", ack_wait=1_000_000_000, max_deliver=9)
    acks = pull(peer, stream, "again", 19)
    settle(peer, *acks[:17])
    assert sequences(pull(peer, stream, "again", 2)) == [(19, 2), (20, 2)]
    make(peer, stream, "gone", ack_wait=100_000_000, max_deliver=1, filter_subject=f"{stream}.0")
    pull(peer, stream, "gone", 1)
    make(peer, stream, "everything", ack_policy="all")
    settle(peer, pull(peer, stream, "everything", 5)[2])
    make(peer, stream, "unacked", ack_policy="none", ack_wait=0)
    pull(peer, stream, "unacked", 3)
    make(peer, stream, "ephemeral", durable=False)
    pull(peer, stream, "ephemeral", 2)
    make(peer, stream, "push", deliver_subject=f"out.{stream}")
    make(peer, stream, "push-ephemeral", durable=False, deliver_subject=f"out2.{stream}")
    make(peer, stream, "paused", pause_until="2100-01-01T00:00:00Z")
    make(peer, stream, "memory", mem_storage=True)
    settle(peer, *pull(peer, stream, "memory", 2))
    make(peer, stream, "new", deliver_policy="new")
    make(peer, stream, "ahead", deliver_policy="by_start_sequence", opt_start_seq=1000)


def consumers(server: Server, stream: str) -> dict[str, Any]:
    peer = Peer(server)
    listed = peer.ask(f"CONSUMER.LIST.{stream}")["consumers"]
    peer.close()
    for consumer in listed:
        consumer["delivered"].pop("last_active", None)
        consumer["ack_floor"].pop("last_active", None)
    shown = ("config", "paused", *FIGURES)
    return {row["name"]: {key: row.get(key) for key in shown} for row in listed}


def settled_consumers(server: Server, stream: str) -> dict[str, Any]:
    """When what "gone" had is given up, in a server's own time."""
    deadline = time.monotonic() + ANSWER_SECONDS_MAX
    while (found := consumers(server, stream))["gone"]["num_ack_pending"]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


@pytest.mark.parametrize("storage", ["file", "memory"])
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: "-".join(kind.name for kind in route))
def test_consumers_go_on_where_they_were(
    site: Site, route: tuple[Implementation, ...], storage: str
) -> None:
    stream = "-".join((*(kind.name for kind in route), storage))
    origin, *places = route
    populate(site.peer(site.servers[origin]), stream, storage=storage)
    wanted = settled_consumers(site.servers[origin], stream)
    assert len(wanted) == 13
    before = origin
    for place in places:
        backup = snapshot(site.servers[before], stream)
        assert backup.state["consumer_count"] == len(wanted)
        delete(site.servers[before], stream)
        reply = restore(site.servers[place], backup.config, backup.data)
        assert "error" not in reply, reply
        assert reply["state"]["consumer_count"] == len(wanted)
        assert consumers(site.servers[place], stream) == wanted
        before = place
    peer = site.peer(site.servers[before])
    assert sequences(pull(peer, stream, "again", 2)) == [(19, 3), (20, 3)]
    new = {"work": 8, "filtered": 8, "everything": 7, "unacked": 5, "ephemeral": 4, "memory": 4}
    for name, sequence in new.items():
        assert sequences(pull(peer, stream, name, 1)) == [(sequence, 1)], name
    # Whoever had messages at the old server acknowledges them at the new one.
    settle(peer, f"$JS.ACK.{stream}.work.1.4.3.0.0")
    work = consumers(site.servers[before], stream)["work"]
    assert (work["ack_floor"]["stream_seq"], work["num_ack_pending"]) == (5, 3)
    peer.play(Listen(f"out.{stream}"))
    deadline = time.monotonic() + ANSWER_SECONDS_MAX
    while len(peer.heard) < 19:
        assert peer.pump(deadline)
    delete(site.servers[before], stream)


@pytest.mark.parametrize("kind", IMPLEMENTATIONS, ids=lambda kind: kind.name)
def test_a_backup_without_consumers_has_none(site: Site, kind: Implementation) -> None:
    server = site.servers[kind]
    peer = site.peer(server)
    peer.ask("STREAM.CREATE.NONE", {"name": "NONE", "subjects": ["none"]})
    make(peer, "NONE", "left")
    backup = snapshot(server, "NONE", no_consumers=True)
    assert backup.state["consumer_count"] == 1
    assert b"consumers/" not in unpacked(backup.data)
    delete(server, "NONE")
    for place in IMPLEMENTATIONS:
        reply = restore(site.servers[place], backup.config, backup.data)
        assert reply["state"]["consumer_count"] == 0
        delete(site.servers[place], "NONE")


@pytest.mark.parametrize("place", IMPLEMENTATIONS, ids=lambda kind: kind.name)
def test_consumers_of_the_format_before_2_15(site: Site, place: Implementation) -> None:
    old = json.loads((OLD_BACKUP / "consumers.json").read_text())
    data = (OLD_BACKUP / "consumers.tar.s2").read_bytes()
    server = site.servers[place]
    assert "error" not in restore(server, old["config"], data)
    found = consumers(server, "OLDC")
    peer = site.peer(server)
    for wanted in old["consumers"]:
        wanted["delivered"].pop("last_active", None)
        wanted["ack_floor"].pop("last_active", None)
        consumer = found.pop(wanted["name"])
        if wanted["name"] == "gone":  # what it gave up was still pending in its state
            consumer["num_ack_pending"] = wanted["num_ack_pending"]
        assert {key: consumer[key] for key in FIGURES} == {key: wanted[key] for key in FIGURES}
        info = peer.request(f"$JS.API.CONSUMER.INFO.OLDC.{wanted['name']}", b"")
        assert info is not None
        created: str = json.loads(info.payload)["created"]
        assert created[:19] == wanted["created"][:19]  # it told a moment from before it was written
    assert found == {}
    assert sequences(pull(peer, "OLDC", "fresh", 1)) == [(1, 1)]
    delete(server, "OLDC")


@pytest.mark.parametrize("retention", ["workqueue", "interest"])
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: "-".join(kind.name for kind in route))
def test_a_stream_kept_for_its_consumers_keeps_what_they_need(
    site: Site, route: tuple[Implementation, ...], retention: str
) -> None:
    stream = "-".join((*(kind.name for kind in route), retention))
    origin, *places = route
    server = site.servers[origin]
    peer = site.peer(server)
    body = {"name": stream, "subjects": [f"{stream}.>"], "retention": retention}
    assert "error" not in peer.ask(f"STREAM.CREATE.{stream}", body)
    make(peer, stream, "a", filter_subject=f"{stream}.a")
    make(peer, stream, "b", filter_subject=f"{stream}.b", max_deliver=1, ack_wait=100_000_000)
    for number in range(1, 11):
        peer.play(Pub(f"{stream}.{'ab'[number % 2]}", b"%d" % number))
    settle(peer, *pull(peer, stream, "a", 3)[1:])
    pull(peer, stream, "b", 1)  # and given up, but kept
    deadline = time.monotonic() + ANSWER_SECONDS_MAX
    while consumers(server, stream)["b"]["num_ack_pending"]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    wanted = [1, 2, 3, 5, 7, 8, 9, 10]
    for place in places:
        backup = snapshot(server, stream)
        delete(server, stream)
        server = site.servers[place]
        assert "error" not in restore(server, backup.config, backup.data)
        if place is PENSTOCK:
            site.restart(PENSTOCK)
            server = site.servers[PENSTOCK]
        found = [message.get("seq") for message in contents(server, stream)[1]]
        assert [sequence for sequence in found if sequence] == wanted
    peer = site.peer(server)
    settle(peer, *pull(peer, stream, "a", 2), *pull(peer, stream, "b", 4))
    found = [message.get("seq") for message in contents(server, stream)[1]]
    assert [sequence for sequence in found if sequence] == [1, 2]
    delete(server, stream)


@pytest.mark.parametrize("place", IMPLEMENTATIONS, ids=lambda kind: kind.name)
def test_an_ephemeral_consumer_that_nobody_uses_goes(site: Site, place: Implementation) -> None:
    server = site.servers[place]
    peer = site.peer(server)
    peer.ask("STREAM.CREATE.EPH", {"name": "EPH", "subjects": ["eph"]})
    make(peer, "EPH", "soon", durable=False, inactive_threshold=4_000_000_000)
    backup = snapshot(server, "EPH")
    delete(server, "EPH")
    assert restore(server, backup.config, backup.data)["state"]["consumer_count"] == 1
    deadline = time.monotonic() + ANSWER_SECONDS_MAX
    while consumers(server, "EPH"):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    delete(server, "EPH")


@pytest.mark.parametrize("persist_mode", ["default", "async"])
def test_restored_consumers_survive_kill(site: Site, persist_mode: str) -> None:
    populate(site.peer(site.servers[REFERENCE]), "KILLED", persist_mode=persist_mode)
    wanted = settled_consumers(site.servers[REFERENCE], "KILLED")
    backup = snapshot(site.servers[REFERENCE], "KILLED")
    delete(site.servers[REFERENCE], "KILLED")
    assert "error" not in restore(site.servers[PENSTOCK], backup.config, backup.data)
    peer = site.peer(site.servers[PENSTOCK])
    settle(peer, *pull(peer, "KILLED", "work", 1))
    wanted["work"] = consumers(site.servers[PENSTOCK], "KILLED")["work"]
    site.kill(PENSTOCK)
    del wanted["memory"]  # as any that is kept in memory
    found = consumers(site.servers[PENSTOCK], "KILLED")
    assert found == wanted
    peer = site.peer(site.servers[PENSTOCK])
    assert sequences(pull(peer, "KILLED", "work", 1)) == [(9, 1)]
    make(peer, "KILLED", "another")  # its number in the log is a new one
    site.kill(PENSTOCK)
    assert len(consumers(site.servers[PENSTOCK], "KILLED")) == len(wanted) + 1
    delete(site.servers[PENSTOCK], "KILLED")


@pytest.mark.parametrize("wait_seconds", [0, 0.005, 0.01, 0.02, 0.04])
def test_a_kill_at_the_end_of_a_restore_leaves_all_or_nothing(
    site: Site, wait_seconds: float
) -> None:
    populate(site.peer(site.servers[REFERENCE]), "EITHER")
    count = len(settled_consumers(site.servers[REFERENCE], "EITHER"))
    backup = snapshot(site.servers[REFERENCE], "EITHER")
    delete(site.servers[REFERENCE], "EITHER")
    peer = site.peer(site.servers[PENSTOCK])
    subject = begin_restore(peer, backup.config)
    peer.request(subject, backup.data)
    peer.socket.sendall(frame(Pub(subject, b""), b"nobody"))
    time.sleep(wait_seconds)  # no promise: wherever it is by then
    site.kill(PENSTOCK)
    info = site.peer(site.servers[PENSTOCK]).ask("STREAM.INFO.EITHER")
    if "error" in info:
        assert info["error"]["err_code"] == 10059
    else:
        assert info["state"]["messages"] == 19
        assert info["state"]["consumer_count"] == count - 1  # but for the one in memory
        delete(site.servers[PENSTOCK], "EITHER")
    assert site.left_behind() == []
