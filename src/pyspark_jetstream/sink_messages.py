"""Single messages of a stream, as the sink has to look at them now and then.

They are asked from whoever leads the stream, not from a copy, which may be behind.
"""

import base64
from dataclasses import dataclass
from typing import Any

from pyspark_jetstream.connection import NO_MESSAGE, ApiError, Connection


@dataclass(frozen=True)
class StoredMessage:
    """Where it is, and its headers as they came."""

    sequence: int
    headers: str

    def header(self, name: str) -> str | None:
        """Its first value."""
        for line in self.headers.split("\r\n"):
            if line.startswith(f"{name}: "):
                return line.removeprefix(f"{name}: ")
        return None


def stored_message(
    connection: Connection, stream: str, request: dict[str, Any]
) -> StoredMessage | None:
    """The message that `request` is about (of STREAM.MSG.GET), if there is one."""
    try:
        message = connection.api(f"STREAM.MSG.GET.{stream}", request)["message"]
    except ApiError as error:
        if error.code == NO_MESSAGE:
            return None
        raise
    headers = base64.b64decode(message.get("hdrs") or "").decode(errors="replace")
    return StoredMessage(int(message["seq"]), headers)
