"""Reads: the reference's answers, and those of our pure functions, byte for byte.

The reference gets streams with messages of many shapes and some of them removed; they are read
back one by one into a model store. Then both are asked the same. Answers of one stream come in
order, so a request that is refused at once marks the end of what another one got.
"""

import base64
import json
import random
from collections.abc import Iterator
from typing import Any, cast

import pytest

from penstock.api.streams import Keeper, StreamApi
from penstock.model.api_errors import ApiError
from penstock.model.stream_config import StreamConfig
from penstock.model.timestamps import canonical, rfc3339, unix_ns
from penstock.storage.store import Record
from penstock.streams.direct import answer
from penstock.streams.registry import Registry
from penstock.streams.stream import Stream
from tests.parity.asked import Asked
from tests.parity.client import Client, Entry
from tests.parity.notation import escape_line
from tests.parity.servers import REFERENCE, Server
from tests.unit.streams.model_store import ModelStore

CONNECT = b'CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true}\r\n'
MESSAGES = 30
REMOVED = (1, 2, 9, 10, 17, 30)  # at both ends and inside
SUBJECTS = ("{}.a", "{}.b", "{}.c.d", "{}.c.e", "{}.a", "{}.rare")
MANY = 1025
MIXES, MIXES_EACH = 600, 50

Body = dict[str, Any] | str


class Both:
    """One server with its streams, and the same streams on model stores."""

    def __init__(self, server: Server) -> None:
        self.api = Asked(server)
        self._client = Client(server)
        self._client.send(CONNECT + b"SUB R 1\r\nSUB END 2\r\n")
        self._client.barrier()
        self._client.inbox.clear()
        self._registry = Registry()
        self._ours = StreamApi(self._registry, cast(Keeper, None), lambda _name, _copies: None)

    def close(self) -> None:
        self._client.close()
        self.api.close()

    def create(
        self, name: str, storage: str, frames: list[bytes], removed: tuple[int, ...]
    ) -> None:
        config = {"name": name, "subjects": [f"{name}.>"], "storage": storage, "allow_direct": True}
        assert "error" not in self.api.ask(f"STREAM.CREATE.{name}", json.dumps(config).encode())
        self._client.send(b"".join(frames))
        self._client.barrier()
        while self.api.ask(f"STREAM.INFO.{name}", b"")["state"]["last_seq"] < len(frames):
            pass
        for sequence in removed:
            gone = self.api.ask(f"STREAM.MSG.DELETE.{name}", b'{"seq":%d}' % sequence)
            assert gone["success"]
        self._registry.add(self._copied(name, len(frames)))

    def _copied(self, name: str, last: int) -> Stream:
        store = ModelStore()
        for sequence in range(1, last + 1):
            reply = self.api.ask(f"STREAM.MSG.GET.{name}", b'{"seq":%d}' % sequence)
            if "message" in reply:
                store.append(record_of(reply["message"]))
        store.sequence_last = last
        return Stream(StreamConfig(name=name), store, 0)

    def theirs(self, subject: str, headers: bytes, payload: bytes) -> list[Entry]:
        place = subject.encode()
        sizes = b"%d %d" % (len(headers), len(headers) + len(payload))
        verb = (
            b"HPUB %s R %s" % (place, sizes) if headers else b"PUB %s R %d" % (place, len(payload))
        )
        whole = b".".join(place.split(b".")[:5])
        self._client.send(verb + b"\r\n" + headers + payload + b"\r\nPUB %s END 0\r\n\r\n" % whole)
        entries = []
        while not (entry := self._client.take())[0].startswith("HMSG END "):
            entries.append(entry)
        return entries

    def ours(self, subject: str, headers: bytes, payload: bytes) -> list[Entry]:
        stream = self._registry.require(subject.split(".")[4])
        return [shown(*each) for each in answer(stream, subject.encode(), headers, payload)]

    def got(self, name: str, payload: bytes) -> dict[str, Any]:
        """Our answer of STREAM.MSG.GET."""
        try:
            return self._ours.get(name, payload)
        except ApiError as error:
            return {"error": error.shown()}

    def moments(self, name: str, body: Body) -> bytes:
        """The payload of a request; `@7+1` stands for a nanosecond after message 7."""
        if isinstance(body, str):
            return body.encode()
        records = cast(ModelStore, self._registry.require(name).store).records
        filled = {}
        for field, value in body.items():
            filled[field] = value
            if field.endswith("_time") and isinstance(value, str) and value.startswith("@"):
                sequence, _, offset = value[1:].partition("+")
                filled[field] = rfc3339(records[int(sequence)].time_ns + int(offset or 0))
        return json.dumps(filled).encode()


def record_of(message: dict[str, Any]) -> Record:
    moment = canonical(message["time"])
    assert moment is not None
    headers, payload = (base64.b64decode(message.get(key, "")) for key in ("hdrs", "data"))
    subject = message["subject"].encode()
    return Record(message["seq"], unix_ns(moment), subject, headers, payload)


def shown(headers: bytes, payload: bytes) -> Entry:
    """An answer as the transcript of a client has it."""
    whole = len(headers) + len(payload)
    line = b"HMSG R 1 %d %d" % (len(headers), whole) if headers else b"MSG R 1 %d" % whole
    return escape_line(line + b"\r\n"), escape_line(headers + payload + b"\r\n")


def frame(name: str, number: int) -> bytes:
    subject = SUBJECTS[number % len(SUBJECTS) if number % 11 else 5].format(name).encode()
    payload = b"x" * (number * 7 % 40)
    headers = b""
    if number % 3 == 0:
        headers = b"NATS/1.0\r\nOne: %d\r\nTwo:2\r\nOne: again\r\n\r\n" % number
    if number % 13 == 0:
        headers = b"NATS/1.0\r\nNats-Sequence: 1000\r\n\r\n"
    if not headers:
        return b"PUB %s %d\r\n%s\r\n" % (subject, len(payload), payload)
    sizes = (len(headers), len(headers) + len(payload))
    return b"HPUB %s %d %d\r\n%s%s\r\n" % (subject, *sizes, headers, payload)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    directory = tmp_path_factory.mktemp("reads")
    with Server(REFERENCE, ("-js", "-sd", str(directory))) as server:
        pair = Both(server)
        for name, storage in (("F", "file"), ("M", "memory")):
            frames = [frame(name, number) for number in range(1, MESSAGES + 1)]
            pair.create(name, storage, frames, REMOVED)
        many = [b"PUB W.%d 1\r\nx\r\n" % number for number in range(1, MANY + 1)]
        pair.create("W", "file", many, ())
        pair.create("E", "file", [], ())
        yield pair
        pair.close()


def assert_same(both: Both, name: str, body: Body, rest: str = "", headers: bytes = b"") -> None:
    payload = both.moments(name, body)
    subject = f"$JS.API.DIRECT.GET.{name}{rest}"
    theirs = both.theirs(subject, headers, payload)
    assert both.ours(subject, headers, payload) == theirs, f"{subject} {payload!r}"


def label(value: object) -> str:
    return str(value)[:70]


ONE: list[Body] = [
    *({"seq": sequence} for sequence in (1, 3, 4, 9, 13, 29, 30, 31, 2**63, 2**64 - 1)),
    {"seq": 3, "no_hdr": True},
    {"seq": 4, "no_hdr": True},
    {"seq": 4, "max_bytes": 1},
    {"seq": 4, "up_to_seq": 1},
    *({"last_by_subj": it} for it in ("F.a", "F.*", "F.>", ">", "*.c.*", "F.none", "F", "*.*")),
    *({"last_by_subj": it} for it in ("F..a", "F.>.a", ".F", "F.a.", "F a", "*", "F.a*")),
    {"last_by_subj": "F.b", "no_hdr": True},
    *(
        {"next_by_subj": it}
        for it in ("F.a", "F.*", "F.>", ">", "*.c.*", "F.none", "F..a", "F.>.a")
    ),
    {"next_by_subj": "F.a", "seq": 5},
    {"next_by_subj": "F.a", "seq": 30},
    {"next_by_subj": "F.*", "seq": 9},
    {"next_by_subj": ">", "seq": 9},
    *({"start_time": it} for it in ("@3", "@3+-1", "@3+1", "@8", "@8+1", "@29", "@29+1")),
    *({"start_time": it} for it in ("1970-01-01T00:00:00Z", "2200-01-01T00:00:00+02:00")),
    {"start_time": "0001-01-01T00:00:00Z"},
    {"start_time": "@8+1", "next_by_subj": "F.a"},
    {"start_time": "@29+1", "next_by_subj": "F.a"},
    {"start_time": "@8", "no_hdr": True},
]
MANY_FROM: list[Body] = [
    *({"seq": 1, "batch": batch} for batch in (1, 2, 5, 24, 25, 1000, 2**63 - 1)),
    *({"seq": sequence, "batch": 3} for sequence in (8, 9, 28, 29, 30, 31, 2**64 - 1)),
    {"seq": 1, "batch": 5, "no_hdr": True},
    {"seq": 1, "batch": 100, "no_hdr": True},
    *({"seq": 1, "batch": 50, "max_bytes": size} for size in (-1, 1, 10, 50, 51, 100, 200, 9999)),
    {"seq": 1, "batch": 50, "max_bytes": 100, "no_hdr": True},
    *({"next_by_subj": it, "batch": 4} for it in ("F.a", "F.*", ">", "F.none", "F..a")),
    {"next_by_subj": "F.a", "batch": 4, "seq": 9},
    {"next_by_subj": "F.a", "batch": 40, "seq": 10},
    {"next_by_subj": "F.rare", "batch": 2, "seq": 29},
    {"start_time": "@8+1", "batch": 3},
    {"start_time": "@8", "next_by_subj": "F.c.*", "batch": 3},
    {"start_time": "@29+1", "batch": 3},
    {"seq": 5, "batch": -1},
    {"next_by_subj": "F.a", "batch": -1},
    {"last_by_subj": "F.a", "batch": -1},
]
LAST_OF_EACH: list[Body] = [
    *({"multi_last": it} for it in ([">"], ["F.a"], ["F.a", "F.b"], ["F.*", "F.a"], ["F.none"])),
    *({"multi_last": it} for it in ([""], [None], ["F..a"], ["F.>.a"], ["F..a", "F.b"])),
    *({"multi_last": [">"], "up_to_seq": it} for it in (1, 2, 3, 9, 12, 20, 29, 30)),
    {"multi_last": ["F.c.*"], "up_to_seq": 12},
    *({"multi_last": [">"], "up_to_time": it} for it in ("@3", "@3+1", "@8", "@8+1", "@29+1")),
    {"multi_last": [">"], "up_to_time": "2200-01-01T00:00:00Z"},
    {"multi_last": [">"], "up_to_time": "1970-01-01T00:00:00Z"},
    *({"multi_last": [">"], "batch": batch} for batch in (-1, 1, 2, 5, 6)),
    *({"multi_last": [">"], "seq": sequence} for sequence in (1, 20, 27, 31)),
    {"multi_last": [">"], "seq": 27, "batch": 1, "up_to_seq": 29},
    *({"multi_last": [">"], "max_bytes": size} for size in (-1, 1, 30, 60, 100)),
    {"multi_last": [">"], "no_hdr": True},
    {"multi_last": [">"], "start_time": "@20"},
]
REFUSED: list[Body] = [
    *("", " ", "\r\n", "{}", "null", "[]", "7", '"x"', "{", '{"seq":1}x', '{"seq":1,}', "\ufeff{}"),
    *({"seq": it} for it in (0, -1, 1.0, "1", None, True, 2**64)),
    '{"seq":1e0}',
    {"batch": 5},
    {"up_to_seq": 5},
    {"no_hdr": True},
    {"multi_last": []},
    *({"seq": 3, "batch": it} for it in ("1", 1.5, 2**63, -(2**63) - 1, None)),
    *({"start_time": it} for it in ("", 5, "8x", "2024-01-01", "2024-13-01T00:00:00Z", None)),
    {"multi_last": "F.a"},
    {"multi_last": [1]},
    {"multi_last": {}},
    {"multi_last": [["F.a"]]},
    {"last_by_subj": 5},
    {"no_hdr": 1, "seq": 3},
    {"seq": 3, "foo": 1},
    {"SEQ": 3},
    {"seq": 3, "last_by_subj": "F.a"},
    {"seq": 3, "start_time": "@3"},
    {"start_time": "@3", "last_by_subj": "F.a"},
    {"last_by_subj": "F.a", "next_by_subj": "F.a"},
    {"last_by_subj": "F.a", "batch": 1},
    {"last_by_subj": "F.a", "multi_last": ["F.a"]},
    {"next_by_subj": "F.a", "multi_last": ["F.a"]},
    {"multi_last": ["F.a"], "up_to_seq": 5, "up_to_time": "@3"},
    {"seq": 3, "up_to_seq": 5, "up_to_time": "@3"},
]


def on(name: str, body: Body) -> Body:
    """The same request for the stream of another name."""
    if isinstance(body, str):
        return body
    return cast(Body, json.loads(json.dumps(body).replace('"F', f'"{name}')))


@pytest.mark.parametrize("name", ["F", "M"])
@pytest.mark.parametrize("body", ONE + MANY_FROM + LAST_OF_EACH + REFUSED, ids=label)
def test_direct_get(both: Both, body: Body, name: str) -> None:
    assert_same(both, name, on(name, body))


@pytest.mark.parametrize("rest", ["a", "c.d", "none", "*", "c.*", ">", "a.>", "a*"])
def test_subject_appended(both: Both, rest: str) -> None:
    assert_same(both, "F", "", f".F.{rest}")
    assert_same(both, "F", '{"no_hdr":true}', f".F.{rest}")


@pytest.mark.parametrize("rest", [".F.a", ".>", ".*", ".*.a", ".F"])
@pytest.mark.parametrize(
    "body",
    [
        *(" ", "{}", "null", "[]", "{", '{"foo":1}', '{"max_bytes":1}', '{"no_hdr":1}'),
        *('{"batch":1}', '{"batch":-1}', '{"batch":0}', '{"seq":1}', '{"seq":0}', '{"seq":-1}'),
        *('{"last_by_subj":"F.a"}', '{"next_by_subj":"F.a"}', '{"multi_last":["F.a"]}'),
        *('{"start_time":"2024-01-01T00:00:00Z"}', '{"up_to_time":"2024-01-01T00:00:00Z"}'),
        *('{"up_to_seq":1}', '{"multi_last":[]}', '{"last_by_subj":""}'),
    ],
    ids=label,
)
def test_subject_appended_with_a_request(both: Both, body: str, rest: str) -> None:
    assert_same(both, "F", body, rest)


@pytest.mark.parametrize("level", ["", "0", "5", "6", "-1", "+5", "x", "5.0", "  5"])
def test_required_level(both: Both, level: str) -> None:
    headers = f"NATS/1.0\r\nNats-Required-Api-Level: {level}\r\n\r\n".encode()
    for body, rest in ((' {"seq":3}', ""), ("", ""), ("", ".F.a"), ("{", ".F.a")):
        assert_same(both, "F", body, rest, headers)


@pytest.mark.parametrize(
    "body",
    [
        {"multi_last": [">"]},
        {"multi_last": ["W.*"], "batch": 1},
        {"multi_last": [">"], "seq": 1025},
        {"multi_last": [">"], "up_to_seq": 1025},
        {"multi_last": [">"], "up_to_seq": 1024},
        {"multi_last": [">"], "up_to_seq": 1024, "batch": 3},
        {"multi_last": [f"W.{number}" for number in range(2000)], "max_bytes": 10},
        {"multi_last": [f"W.{number}" for number in range(1025)], "max_bytes": 100},
        {"seq": 1, "batch": 1025},
    ],
    ids=label,
)
def test_many_subjects(both: Both, body: Body) -> None:
    assert_same(both, "W", body)


@pytest.mark.parametrize(
    "body",
    [
        *({"seq": 1}, {"last_by_subj": ">"}, {"last_by_subj": "E.a"}, {"next_by_subj": ">"}),
        *({"seq": 1, "batch": 2}, {"seq": 1, "batch": -1}, {"multi_last": [">"]}),
        {"multi_last": [">"], "up_to_seq": 1},
        {"multi_last": [">"], "up_to_time": "2200-01-01T00:00:00Z"},
        {"start_time": "2024-01-01T00:00:00Z"},
        {"start_time": "2024-01-01T00:00:00Z", "batch": 5},
    ],
    ids=label,
)
def test_empty_stream(both: Both, body: Body) -> None:
    assert_same(both, "E", body)


MIX: dict[str, list[Any]] = {
    "seq": [0, 3, 9, 25, 31],
    "last_by_subj": ["", "F.a", "F.*", "F.none"],
    "next_by_subj": ["", "F.a", "F.>", "F.none"],
    "batch": [0, 1, 3, 50, -1],
    "max_bytes": [0, 40, -1],
    "start_time": [None, "@8", "@20+1"],
    "multi_last": [[], ["F.*"], ["F.a", "F.c.*"]],
    "up_to_seq": [0, 12, 30],
    "up_to_time": [None, "@20"],
    "no_hdr": [True, False],
    "foo": [1],
}


def mixed(seed: int) -> Body:
    """Several fields at once, so that the order of the rules decides."""
    chance = random.Random(seed)
    fields = chance.sample([*MIX], chance.randint(1, 4))
    return {field: chance.choice(MIX[field]) for field in fields}


@pytest.mark.parametrize("seed", range(0, MIXES, MIXES_EACH))
def test_combinations(both: Both, seed: int) -> None:
    for number in range(seed, seed + MIXES_EACH):
        assert_same(both, "F", mixed(number))


def assert_same_message(both: Both, name: str, payload: bytes) -> None:
    theirs = both.api.ask(f"STREAM.MSG.GET.{name}", payload)
    assert theirs.pop("type") == "io.nats.jetstream.api.v1.stream_msg_get_response"
    ours = both.got(name, payload)
    for error in (theirs.get("error", {}), ours.get("error", {})):
        if error.get("err_code") == 10025:  # the rest describes the reference's own structs
            error["description"] = error["description"][: len("invalid JSON: ")]
    assert ours == theirs, payload


@pytest.mark.parametrize("name", ["F", "M", "E", "NONE"])
@pytest.mark.parametrize("body", ONE + REFUSED, ids=label)
def test_message_get(both: Both, body: Body, name: str) -> None:
    source = "M" if name == "M" else "F"
    assert_same_message(both, name, both.moments(source, on(source, body)))


@pytest.mark.parametrize("seed", range(0, MIXES, MIXES_EACH))
def test_message_get_combinations(both: Both, seed: int) -> None:
    for number in range(seed, seed + MIXES_EACH):
        assert_same_message(both, "F", both.moments("F", mixed(number)))


def test_ours_a_bound_behind_the_end_bounds_nothing(both: Both) -> None:
    """Ours: the reference's two stores disagree, and the one in files finds nothing at all."""
    payload = b'{"multi_last":[">"],"up_to_seq":31}'
    memory, file = ("$JS.API.DIRECT.GET.M", b"", payload), ("$JS.API.DIRECT.GET.F", b"", payload)
    assert both.ours(*memory) == both.theirs(*memory)
    assert len(both.ours(*memory)) == len(both.ours(*file)) == 6
    assert both.theirs(*file) == [shown(b"NATS/1.0 404 No Results\r\n\r\n", b"")]


def test_ours_a_moment_after_all_of_them(both: Both) -> None:
    """Ours: the reference's nanoseconds wrap around, and the year 9999 is before every message."""
    start = ("$JS.API.DIRECT.GET.F", b"", b'{"start_time":"9999-12-31T00:00:00Z"}')
    none = [shown(b"NATS/1.0 404 Message Not Found\r\n\r\n", b"")]
    assert both.ours(*start) == none
    assert both.theirs(*start) == both.ours("$JS.API.DIRECT.GET.F", b"", b'{"seq":3}')
    end = b'{"multi_last":[">"],"up_to_time":"9999-12-31T00:00:00Z"}'
    whole = b'{"multi_last":[">"]}'
    subject = "$JS.API.DIRECT.GET.F"
    assert both.ours(subject, b"", end) == both.theirs(subject, b"", whole)
    assert both.theirs(subject, b"", end) == [shown(b"NATS/1.0 404 No Results\r\n\r\n", b"")]
