"""What a server says to a publish, if it is no plain acknowledgement."""

import json
from dataclasses import dataclass
from typing import Any

NO_RESPONDERS = 503
WRONG_LAST_SEQUENCE = frozenset({10071, 10164})
DUPLICATE_IN_BATCH = 10201
# A batch that was lost on its way (a broken connection, a server that was busy), or that found too
# many others open: it can be sent again.
LOST_BATCH = frozenset({10176, 10210, 10211})


@dataclass(frozen=True)
class Answer:
    """Either where something was stored, or why it was not."""

    sequence: int
    count: int  # of a batch
    status: int  # 0: it is stored
    code: int
    text: str

    @property
    def is_passing(self) -> bool:
        """It may be different in a moment: no leader yet, too much to do."""
        return self.status == NO_RESPONDERS or self.code in LOST_BATCH


STORED = Answer(0, 0, 0, 0, "")


def read_answer(content: bytes) -> Answer:
    """Of headers and payload as they came."""
    if content.startswith(b"NATS/1.0 503"):
        return Answer(0, 0, NO_RESPONDERS, 0, "no stream listens there now")
    try:
        told: dict[str, Any] = json.loads(content)
    except ValueError:
        return Answer(0, 0, 400, 0, f"no acknowledgement: {content[:80]!r}")
    if error := told.get("error"):
        status, code = int(error.get("code", 400)), int(error.get("err_code", 0))
        return Answer(0, 0, status, code, f"{error.get('description', 'refused')} ({code})")
    return Answer(int(told.get("seq", 0)), int(told.get("count", 0)), 0, 0, "")
