"""Requests and archives that are not what they should be: refused, and nothing is left behind."""

import io
import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.kernel.storage import encode_entry
from penstock.storage.archive import END, MAGIC, Entry
from tests.parity.backup_peer import (
    OLD_BACKUP,
    Site,
    begin_restore,
    delete,
    packed,
    restore,
    unpacked,
)
from tests.parity.servers import IMPLEMENTATIONS, PENSTOCK, REFERENCE, Server
from tests.parity.streams_peer import Api, Peer

REFUSED_SNAPSHOTS = [
    ("S", b""),
    ("S", b"  "),
    ("NOBODY", b"{}"),
    ("NOBODY", b"{"),
    ("S", b"{"),
    ("S", b"[]"),
    ("S", b"{}"),
    ("S", b'{"deliver_subject":"a.*"}'),
    ("S", b'{"deliver_subject":"a..b"}'),
    ("S", b'{"deliver_subject":"a b"}'),
    ("S", b'{"deliver_subject":1}'),
    ("S", b'{"deliver_subject":"a","chunk_size":"1"}'),
    ("S", b'{"deliver_subject":"a","unknown":1}'),
]
REFUSED_RESTORES = [
    ("N", b""),
    ("N", b"{"),
    ("N", b"[]"),
    ("N", b'{"config":1}'),
    ("N", b'{"config":{"name":"M"}}'),
    ("N", b'{"config":{"name":"N","unknown":1}}'),
    ("N", b'{"config":{"name":"N"},"unknown":1}'),
    ("N", b'{"config":{"name":"N"},"state":1}'),
    ("N", b'{"config":{"name":"N","max_age":1}}'),
    ("N", b'{"config":{"name":"N","subjects":["a..b"]}}'),
    ("N", b'{"config":{"name":"N","num_replicas":-1}}'),
    ("a/b", b'{"config":{"name":"a/b"}}'),
    ("S", b'{"config":{"name":"S","subjects":["s"]}}'),
    ("S", b'{"config":{"name":"S","subjects":["other"]}}'),
]


@pytest.fixture
def refusing(site: Site) -> Iterator[Site]:
    for server in site.servers.values():
        site.peer(server).ask("STREAM.CREATE.S", {"name": "S", "subjects": ["s"]})
    yield site
    for server in site.servers.values():
        delete(server, "S")


@pytest.mark.parametrize(
    ("verb", "name", "payload"),
    [("SNAPSHOT", *case) for case in REFUSED_SNAPSHOTS]
    + [("RESTORE", *case) for case in REFUSED_RESTORES],
    ids=str,
)
def test_refusals_are_the_reference_s(refusing: Site, verb: str, name: str, payload: bytes) -> None:
    step = Api(f"STREAM.{verb}.{name}", payload)
    answers = [refusing.peer(refusing.servers[kind]).play(step) for kind in (REFERENCE, PENSTOCK)]
    assert "error" in answers[0]
    assert answers[1] == answers[0]
    assert refusing.left_behind() == []


# Archives that are not what they should be: (code of the reference or None for success, content)


def entries(*made: Entry, state: object = None) -> bytes:
    shown = json.dumps(state if state is not None else {"first_seq": 1, "last_seq": 3}).encode()
    first = Entry(b"state.json", 1, 0, b"", shown)
    return MAGIC + b"".join(encode_entry(*entry) for entry in (first, *made))


def message(sequence: int, **changes: Any) -> Entry:
    return Entry(b"bad.x", 10**18, sequence, b"", b"payload")._replace(**changes)


DURABLE = {"durable_name": "D", "name": "D", "ack_policy": "explicit"}


def consumer(
    found_as: str = "D",
    /,
    places: tuple[int, int, int, int] = (0, 0, 0, 0),
    pending: object = None,
    redelivered: object = None,
    **config: object,
) -> Entry:
    """Places are those of what was delivered, and of the floor."""
    keys = ("consumer_seq", "stream_seq")
    delivered, floor = (dict(zip(keys, pair, strict=True)) for pair in (places[:2], places[2:]))
    state: dict[str, object] = {"delivered": delivered, "ack_floor": floor}
    state |= {"pending": pending} if pending else {}
    state |= {"redelivered": redelivered} if redelivered else {}
    fields = {key: value for key, value in (DURABLE | config).items() if value is not None}
    return consumer_entry(found_as, {"config": fields, "state": state})


def consumer_entry(name: str, content: object) -> Entry:
    payload = content if isinstance(content, bytes) else json.dumps(content).encode()
    return Entry(b"consumers/" + name.encode(), 1, 0, b"", payload)


def with_consumers(*made: Entry, count: int | None = None) -> bytes:
    state = {"first_seq": 1, "last_seq": 3, "consumer_count": len(made) if count is None else count}
    return entries(*made, *map(message, (1, 2, 3)), END, state=state)


def old_archive(**changes: bytes | None) -> bytes:
    """The tar of the old backup with other files, or without some."""
    data = unpacked((OLD_BACKUP / "stream.tar.s2").read_bytes())
    target = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(data)) as old,
        tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for info in old.getmembers():
            file = old.extractfile(info)
            assert file is not None
            content = changes.get(info.name, file.read())
            if content is not None:
                info.size = len(content)
                new.addfile(info, io.BytesIO(content))
        for name, added in changes.items():
            if added is not None and name not in old.getnames():
                new.addfile(*_member(name, added))
    return target.getvalue()


def _member(name: str, content: bytes) -> tuple[tarfile.TarInfo, io.BytesIO]:
    info = tarfile.TarInfo(name)
    if content.startswith(b"->"):
        info.type, info.linkname = tarfile.SYMTYPE, content[2:].decode()
    else:
        info.size = len(content)
    return info, io.BytesIO(content)


def old_block() -> bytearray:
    data = unpacked((OLD_BACKUP / "stream.tar.s2").read_bytes())
    with tarfile.open(fileobj=io.BytesIO(data)) as old:
        file = old.extractfile("msgs/1.blk")
        assert file is not None
        return bytearray(file.read())


def flipped_block() -> bytes:
    block = old_block()
    at = block.index(b"hello 5")
    block[at] ^= 1
    return bytes(block)


GOOD = entries(message(1), message(3), END)
BAD_ENTRIES: dict[str, bytes] = {
    "no state": MAGIC + encode_entry(*message(1)) + encode_entry(*END),
    "state is no JSON": MAGIC + encode_entry(*Entry(b"state.json", 1, 0, b"", b"{")) + bytes(5),
    "state of wrong type": entries(END, state={"first_seq": "x"}),
    "no end": entries(message(1)),
    "cut in a message": GOOD[:-12],
    "out of order": entries(message(2), message(1), END),
    "twice": entries(message(2), message(2), END),
    "consumer missing": entries(message(1), END, state={"first_seq": 1, "consumer_count": 1}),
    "sequence 0": entries(message(0), END),
    "length overflows": entries() + bytes(3) + b"\xff" * 9 + b"\x01" + bytes(1),
    "varint without end": entries() + b"\xff" * 20,
    "message above max_payload": entries(message(1, payload=bytes(1_100_000)), END),
    "only magic": MAGIC,
    "half of the magic": MAGIC[:4],
}
# Accepted by the reference, and not by us.
OURS_ENTRIES: dict[str, bytes] = {
    "subject with a blank": entries(message(1, name=b"bad x"), END),
    "subject with a line break": entries(message(1, name=b"bad\r\nPUB x 0"), END),
    "subject with a wildcard": entries(message(1, name=b"bad.*"), END),
    "no subject": entries(message(1, name=b""), END),
    "headers that are none": entries(message(1, headers=b"x"), END),
    "sequence above 2^62": entries(message(2**62), END),
    "more behind the end": GOOD + encode_entry(*message(5)),
}
BAD_TARS: dict[str, bytes] = {
    "path upwards": old_archive(**{"../../x": b"x"}),
    "symlink": old_archive(**{"msgs/9.blk": b"->/etc/passwd"}),
    "no meta": old_archive(**{"meta.inf": None}),
    "meta of another": old_archive(**{"meta.inf": b'{"name":"OTHER"}'}),
    "meta is no JSON": old_archive(**{"meta.inf": b"{"}),
    "no tar": b"this is no tar at all " * 100,
}
OURS_TARS: dict[str, bytes] = {
    "a flipped bit": old_archive(**{"msgs/1.blk": flipped_block()}),
    "random bytes": old_archive(**{"msgs/1.blk": os.urandom(500)}),
    "random bytes after": old_archive(**{"msgs/2.blk": os.urandom(500)}),
    "a block cut": old_archive(**{"msgs/1.blk": bytes(old_block()[:-10])}),
    "a block under another number": old_archive(
        **{"msgs/1.blk": None, "msgs/7.blk": bytes(old_block())}
    ),
    "cut": old_archive()[:3000],
    "another file": old_archive(**{"description.json": b"x"}),
}


WAITING = {"Sequence": 2, "Timestamp": 1}
BAD_CONSUMERS: dict[str, bytes] = {
    "floor above, in deliveries": with_consumers(consumer(places=(1, 2, 2, 1))),
    "floor above, in messages": with_consumers(consumer(places=(2, 1, 1, 2))),
    "pending above": with_consumers(consumer(places=(2, 2, 1, 1), pending={"3": WAITING})),
    "pending below": with_consumers(consumer(places=(2, 2, 1, 1), pending={"1": WAITING})),
    "pending under a word": with_consumers(consumer(places=(2, 2, 1, 1), pending={"x": WAITING})),
    "no configuration": with_consumers(consumer_entry("D", {"state": {}})),
    "configuration is null": with_consumers(consumer_entry("D", {"config": None, "state": {}})),
    "no state": with_consumers(consumer_entry("D", {"config": DURABLE})),
    "consumer is no JSON": with_consumers(consumer_entry("D", b"{")),
    "consumer is a list": with_consumers(consumer_entry("D", b"[]")),
    "negative place": with_consumers(consumer(places=(-1, 0, 0, 0))),
    "too few consumers": with_consumers(consumer(), count=2),
    "too many consumers": with_consumers(consumer(), count=0),
    "countless consumers": with_consumers(consumer(), count=2**60),
    "negative consumers": with_consumers(count=-1),
    "name with a slash": with_consumers(consumer("a/b", durable_name="a/b", name="a/b")),
    "ephemeral with a slash": with_consumers(consumer("a/b", durable_name=None, name="a/b")),
    "name of dots": with_consumers(consumer("..", durable_name="..", name="..")),
    "two names": with_consumers(consumer(name="E")),
    "two names of an ephemeral": with_consumers(consumer("E", durable_name=None)),
    "twice, and different": with_consumers(consumer(), consumer(deliver_policy="new")),
    "policy that is none": with_consumers(consumer(ack_policy="some")),
    "filter that is none": with_consumers(consumer(filter_subject="a..b")),
    "three replicas": with_consumers(consumer(num_replicas=3)),
    "delivers into the stream": with_consumers(consumer(deliver_subject="bad.x")),
    "start without a sequence": with_consumers(consumer(deliver_policy="by_start_sequence")),
    "good one before a bad one": with_consumers(consumer(), consumer("F", name="F")),
}
# Accepted by the reference: messages would be passed over, or nobody could tell what is meant; and
# what penstock does not have.
OURS_CONSUMERS: dict[str, bytes] = {
    "twice": with_consumers(consumer(), consumer(places=(2, 2, 2, 2))),
    "no name": with_consumers(consumer("", durable_name=None, name=None)),
    "delivered beyond the end": with_consumers(consumer(places=(2, 200, 1, 1))),
    "pending beyond the end": with_consumers(
        consumer(places=(2, 200, 1, 1), pending={"100": WAITING})
    ),
    "largest places": with_consumers(consumer(places=(2**64 - 1, 2**64 - 1, 0, 0))),
    "delivery that was none": with_consumers(consumer(places=(1, 2, 0, 1), pending={"2": WAITING})),
    "redelivered beyond": with_consumers(consumer(places=(2, 2, 1, 1), redelivered={"3": 1})),
    "redelivered forever": with_consumers(
        consumer(places=(2, 2, 1, 1), pending={"2": WAITING}, redelivered={"2": 2**64 - 1})
    ),
    "pending without acks": with_consumers(
        consumer(places=(2, 2, 1, 1), pending={"2": WAITING}, ack_policy="none")
    ),
    "acks by flow control": with_consumers(
        consumer(ack_policy="flow_control", deliver_subject="out", max_ack_pending=1)
    ),
}


def old_state(*numbers: int) -> dict[str, bytes | None]:
    return {"obs/C/o.dat": bytes((22, 2, *numbers))}


BAD_OLD_CONSUMERS: dict[str, bytes] = {
    "consumer's meta is no JSON": old_archive(**{"obs/C/meta.inf": b"{"}),
    "no consumer's meta": old_archive(**{"obs/C/meta.inf": None}),
    "consumer's state is empty": old_archive(**{"obs/C/o.dat": b"x"}),
    "consumer's state is cut": old_archive(**old_state(0, 0, 1)),
}
OURS_OLD_CONSUMERS: dict[str, bytes] = {
    "no consumer's state": old_archive(**{"obs/C/o.dat": None}),
    "old floor above": old_archive(**old_state(2, 2, 1, 1, 0, 0)),
    "old pending above": old_archive(**old_state(0, 0, 1, 1, 1, 0, 2, 1, 0, 0)),
    "old pending without end": old_archive(**old_state(0, 0, 1, 1, *b"\xff" * 8, 1)),
    "old number without end": old_archive(**old_state(*b"\xff" * 5000)),
}


REFUSED_BY_BOTH = (BAD_ENTRIES, BAD_TARS, BAD_CONSUMERS, BAD_OLD_CONSUMERS)
REFUSED_BY_US = (OURS_ENTRIES, OURS_TARS, OURS_CONSUMERS, OURS_OLD_CONSUMERS)


def bad_config(content: bytes) -> dict[str, Any]:
    if content.startswith(MAGIC[:4]):
        return {"name": "BAD", "subjects": ["bad.>"]}
    config: dict[str, Any] = json.loads((OLD_BACKUP / "backup.json").read_text())["config"]
    return config


@pytest.mark.parametrize(
    "content",
    [case for group in REFUSED_BY_BOTH for case in group.values()],
    ids=[name for group in REFUSED_BY_BOTH for name in group],
)
def test_bad_archives_are_refused_by_both(site: Site, content: bytes) -> None:
    config = bad_config(content)
    for kind in IMPLEMENTATIONS:
        refused = restore(site.servers[kind], config, packed(content))
        assert (refused["error"]["code"], refused["error"]["err_code"]) == (500, 10062), kind
        if kind is PENSTOCK:
            assert_nothing_left(site, config, refused)
        delete(site.servers[kind], config["name"])  # the reference keeps what it has


@pytest.mark.parametrize(
    "content",
    [case for group in REFUSED_BY_US for case in group.values()],
    ids=[name for group in REFUSED_BY_US for name in group],
)
def test_bad_archives_are_refused_by_us(site: Site, content: bytes) -> None:
    config = bad_config(content)
    refused = restore(site.servers[PENSTOCK], config, packed(content))
    assert (refused["error"]["code"], refused["error"]["err_code"]) == (500, 10062)
    assert_nothing_left(site, config, refused)


def assert_nothing_left(site: Site, config: dict[str, Any], refused: dict[str, Any]) -> None:
    server = site.servers[PENSTOCK]
    text = refused["error"]["description"]
    assert "/" not in text.replace("msgs/", "").replace('"a/b"', "").replace("'/'", "")
    info = site.peer(server).ask(f"STREAM.INFO.{config['name']}")
    assert info["error"]["err_code"] == 10059
    assert site.left_behind() == []
    assert server.alive


@pytest.mark.parametrize(
    "data",
    [
        b"not s2",
        packed(GOOD)[:-3],
        packed(GOOD)[:30] + b"?" + packed(GOOD)[31:],
        b"\xff\x06\x00\x00",
    ],
    ids=["not s2", "cut", "damaged", "only a start"],
)
def test_what_is_not_s2_is_refused(site: Site, data: bytes) -> None:
    config = bad_config(GOOD)
    for kind in IMPLEMENTATIONS:
        refused = restore(site.servers[kind], config, data)
        assert (refused["error"]["code"], refused["error"]["err_code"]) == (500, 10062), kind
        if kind is PENSTOCK:
            assert_nothing_left(site, config, refused)
        delete(site.servers[kind], config["name"])


def test_a_message_above_the_stream_s_limit_is_refused(site: Site) -> None:
    config = bad_config(GOOD) | {"max_msg_size": 3}
    for kind in IMPLEMENTATIONS:
        refused = restore(site.servers[kind], config, packed(GOOD))
        assert refused["error"]["err_code"] == 10062
        delete(site.servers[kind], config["name"])
    assert site.left_behind() == []


def test_a_stream_with_more_replicas_than_servers_is_refused(site: Site) -> None:
    config = bad_config(GOOD) | {"num_replicas": 3}
    answers = [restore(site.servers[kind], config, packed(GOOD)) for kind in IMPLEMENTATIONS]
    assert answers[0]["error"]["err_code"] == 10062
    assert answers[1] == answers[0]
    for kind in IMPLEMENTATIONS:
        assert site.peer(site.servers[kind]).ask("STREAM.INFO.BAD")["error"]["err_code"] == 10059
    assert site.left_behind() == []


def test_a_stream_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    config = (
        f'jetstream {{ store_dir: "{tmp_path}", max_file_store: 50KB, max_memory_store: 50KB }}'
    )
    content = entries(*(message(number, payload=bytes(1000)) for number in range(1, 101)), END)
    with Server(PENSTOCK, config=config) as server:
        for storage, code in (("file", 10047), ("memory", 10028)):
            wanted = bad_config(content) | {"storage": storage}
            assert restore(server, wanted, packed(content))["error"]["err_code"] == code
            assert [*(tmp_path / "jetstream" / "restores").glob("*")] == []
            assert [*(tmp_path / "jetstream" / "streams").glob("*")] == []


def test_a_server_that_stops_leaves_no_restore_behind(tmp_path: Path) -> None:
    with Server(PENSTOCK, ("-js", "-sd", str(tmp_path))) as server:
        peer = Peer(server)
        subject = begin_restore(peer, bad_config(GOOD))
        peer.request(subject, packed(GOOD)[:50])
        assert [*(tmp_path / "jetstream" / "restores").glob("*")] != []
        server.signal("SIGTERM")
        server.wait_exit()
        peer.close()
        assert "Traceback" not in server.log
        assert [*(tmp_path / "jetstream" / "restores").glob("*")] == []
