"""Changes of streams through the API, each with its one answer."""

import json
from collections.abc import Callable
from typing import Any

from tests.crash.wire import Wire

Answer = dict[str, Any]
Change = Callable[[Wire, dict[str, str]], Answer]
ANSWER_SECONDS_MAX = 60.0  # the store may be copied before every step that the server takes


def make(wire: Wire, fields: dict[str, str]) -> Answer:
    body = {"name": "NEW", "subjects": ["NEW.>"], **fields}
    return wire.request("$JS.API.STREAM.CREATE.NEW", json.dumps(body).encode(), ANSWER_SECONDS_MAX)


def edit(wire: Wire, fields: dict[str, str]) -> Answer:
    body = {"name": "OLD", "subjects": ["OLD.>", "more"], "description": "edited", "max_msgs": 2}
    return wire.request(
        "$JS.API.STREAM.UPDATE.OLD", json.dumps(body | fields).encode(), ANSWER_SECONDS_MAX
    )


def delete(wire: Wire, _fields: dict[str, str]) -> Answer:
    return wire.request("$JS.API.STREAM.DELETE.OLD", b"", ANSWER_SECONDS_MAX)


def restore(wire: Wire, _fields: dict[str, str]) -> Answer:
    """A copy of OLD under another name."""
    wire.send(b"SUB backup 9\r\n")
    asked = wire.request("$JS.API.STREAM.SNAPSHOT.OLD", b'{"deliver_subject": "backup"}')
    data = wire.wait("backup").payload
    config = asked["config"] | {"name": "NEW", "subjects": ["NEW.>"]}
    begun = wire.request("$JS.API.STREAM.RESTORE.NEW", json.dumps({"config": config}).encode())
    if "error" in begun:
        return dict(begun)
    wire.wait(wire.ask(begun["deliver_subject"], data), ANSWER_SECONDS_MAX)
    return dict(wire.request(begun["deliver_subject"], b"", ANSWER_SECONDS_MAX))


CHANGES = (make, edit, delete, restore)
