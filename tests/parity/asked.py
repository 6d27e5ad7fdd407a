"""The JetStream API of a server, asked one thing at a time."""

import asyncio
import json
from typing import Any

import nats

from tests.parity.servers import Server

STORE_RACE = 10077  # the reference, when a stream follows a deleted one of its name too closely
TRIES_MAX = 50
ANSWER_SECONDS_MAX = 30.0


class Asked:
    """One client of one server."""

    def __init__(self, server: Server, **options: str) -> None:
        self._runner = asyncio.Runner()
        self._client = self._runner.run(nats.connect(server.url, **options))

    def request(self, subject: str, payload: bytes) -> dict[str, Any]:
        request = self._client.request(subject, payload, timeout=ANSWER_SECONDS_MAX)
        answer: dict[str, Any] = json.loads(self._runner.run(request).data)
        return answer

    def ask(self, subject: str, payload: bytes) -> dict[str, Any]:
        return self.request(f"$JS.API.{subject}", payload)

    def answer(self, verb: str, name: str, payload: bytes) -> dict[str, Any]:
        """The configuration, or the error, that STREAM.CREATE or STREAM.UPDATE answers."""
        for _ in range(TRIES_MAX):
            reply = self.ask(f"STREAM.{verb}.{name}", payload)
            if reply.get("error", {}).get("err_code") != STORE_RACE:
                break
        config: dict[str, Any] = reply.get("error") or reply["config"]
        return config

    def delete(self, name: str) -> None:
        self.ask(f"STREAM.DELETE.{name}", b"")

    def close(self) -> None:
        self._runner.run(self._client.close())
        self._runner.close()
