"""Counters as steps: a stream of them, an increment, and what a counter has come to."""

import base64
import json
from typing import Any

from tests.parity.numbered import Pub
from tests.parity.stream_api_cases import get, made
from tests.parity.streams_peer import Api, Peer, err_code

INCREMENT = "Nats-Incr"


def counter(name: str = "T", **fields: Any) -> Api:
    return made(name, allow_msg_counter=True, **fields)


def add(value: str, subject: str = "t.a", payload: bytes = b"", **more: str) -> Pub:
    names = {name.replace("_", "-"): text for name, text in more.items()}
    return Pub(subject, payload, {INCREMENT: value, **names})


def last(subject: str = "t.a") -> Api:
    return get(last_by_subj=subject)


def value_of(peer: Peer, subject: str = "t.a", stream: str = "T") -> int:
    answer = peer.ask(f"STREAM.MSG.GET.{stream}", {"last_by_subj": subject})
    body = json.loads(base64.b64decode(answer["message"]["data"]))
    assert list(body) == ["val"]
    return int(body["val"])


def sourced(*sources: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"allow_msg_counter": True, "sources": [*sources], **fields}


def rewritten(name: str, src: str, dest: str) -> dict[str, Any]:
    return {"name": name, "subject_transforms": [{"src": src, "dest": dest}]}


def increments(peer: Peer, name: str, *values: str, subject: str = "hits") -> None:
    for value in values:
        answer = peer.play(add(value, f"{name.lower()}.{subject}"))
        assert err_code(answer) == 0, answer


def recount(peer: Peer, stream: str, subject: str) -> int:
    """What the headers of all messages of a subject add up to."""
    total, sequence = 0, 1
    while True:
        body = {"seq": sequence, "next_by_subj": subject}
        answer = peer.ask(f"STREAM.MSG.GET.{stream}", body)
        if "error" in answer:
            return total
        message = answer["message"]
        headers = base64.b64decode(message["hdrs"]).decode()
        total += int(headers.split(f"{INCREMENT}: ")[1].split("\r\n")[0])
        assert json.loads(base64.b64decode(message["data"])) == {"val": str(total)}
        sequence = message["seq"] + 1
