"""Subjects, subscriptions and queue groups, as slowly and obviously as possible.

A subscription is a row in a list; a publish looks at every row. Who of a queue group gets a message
is chance, so the model is told what was seen and checks that it was allowed: exactly one member
that could take it, or none if there is none.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

_SPACES = b" \t\r\n"


def is_valid_pattern(subject: bytes) -> bool:
    tokens = subject.split(b".")
    for position, token in enumerate(tokens):
        if not token or any(byte in _SPACES for byte in token):
            return False
        if token == b">" and position != len(tokens) - 1:
            return False
    return True


def is_valid_literal(subject: bytes) -> bool:
    tokens = subject.split(b".")
    return is_valid_pattern(subject) and b"*" not in tokens and b">" not in tokens


def matches(pattern: bytes, subject: bytes) -> bool:
    """What was published is always literal, even `*`; an empty token is heard by nobody."""
    tokens = subject.split(b".")
    return b"" not in tokens and _tokens_match(pattern.split(b"."), tokens)


def _tokens_match(pattern: list[bytes], subject: list[bytes]) -> bool:
    if not pattern or not subject:
        return not pattern and not subject
    if pattern == [b">"]:
        return True
    return pattern[0] in (b"*", subject[0]) and _tokens_match(pattern[1:], subject[1:])


class Message(NamedTuple):
    subject: bytes
    reply: bytes
    headers: bytes
    body: bytes

    @property
    def payload(self) -> bytes:
        return self.headers + self.body


class Delivery(NamedTuple):
    """A message as one subscription sees it."""

    sid: bytes
    message: Message


@dataclass
class Client:
    account: int
    echo: bool
    headers: bool
    no_responders: bool
    messages_in: int = 0
    bytes_in: int = 0
    messages_out: int = 0

    def sees(self, message: Message) -> Message:
        return message if self.headers else message._replace(headers=b"")


@dataclass(eq=False)
class Subscription:
    client: int
    account: int
    sid: bytes
    pattern: bytes
    queue: bytes | None
    delivered: int = 0
    delivered_max: int = 0


@dataclass
class Broker:
    """Everybody who is there. `seen` counts (client, delivery) that were received."""

    clients: dict[int, Client] = field(default_factory=dict)
    subscriptions: list[Subscription] = field(default_factory=list)
    targets: list[tuple[int, bytes, int]] = field(default_factory=list)

    def find(self, client: int, sid: bytes) -> Subscription | None:
        own = (row for row in self.subscriptions if row.client == client and row.sid == sid)
        return next(own, None)

    def subscribe(self, client: int, pattern: bytes, queue: bytes | None, sid: bytes) -> bool:
        if not is_valid_pattern(pattern) or self.find(client, sid) is not None:
            return False
        account = self.clients[client].account
        self.subscriptions.append(Subscription(client, account, sid, pattern, queue))
        return True

    def unsubscribe(self, client: int, sid: bytes, delivered_max: int) -> bool:
        row = self.find(client, sid)
        if row is None:
            return False
        if delivered_max > row.delivered:
            row.delivered_max = delivered_max
        else:
            self.subscriptions.remove(row)
        return True

    def close(self, client: int) -> None:
        del self.clients[client]
        self.subscriptions = [row for row in self.subscriptions if row.client != client]

    def own_sids(self, client: int, subject: bytes) -> list[bytes]:
        account = self.clients[client].account
        rows = self._listening(account, subject)
        return sorted(row.sid for row in rows if row.client == client and row.queue is None)

    def targets_of(self, account: int, subject: bytes) -> list[int]:
        return [
            number
            for where, pattern, number in self.targets
            if where == account and matches(pattern, subject)
        ]

    def publish(
        self,
        account: int,
        message: Message,
        seen: Counter[tuple[int, Delivery]],
        publisher: int | None = None,
    ) -> bool:
        """Takes the deliveries of this message out of `seen`; true if somebody heard it."""
        able = [
            row for row in self._listening(account, message.subject) if self._may(row, publisher)
        ]
        takers = [row for row in able if row.queue is None]
        for queue in {row.queue for row in able if row.queue is not None}:
            members = [row for row in able if row.queue == queue]
            chosen = [row for row in members if self._delivery(row, message) in seen]
            assert chosen, f"nobody of {queue!r} got {message}"
            takers.append(chosen[0])
        for row in takers:
            self._take(row, message, seen)
        return bool(takers or self.targets_of(account, message.subject))

    def _listening(self, account: int, subject: bytes) -> list[Subscription]:
        return [
            row
            for row in self.subscriptions
            if row.account == account and matches(row.pattern, subject)
        ]

    def _may(self, row: Subscription, publisher: int | None) -> bool:
        return row.client != publisher or self.clients[row.client].echo

    def _delivery(self, row: Subscription, message: Message) -> tuple[int, Delivery]:
        return row.client, Delivery(row.sid, self.clients[row.client].sees(message))

    def _take(
        self, row: Subscription, message: Message, seen: Counter[tuple[int, Delivery]]
    ) -> None:
        delivery = self._delivery(row, message)
        assert seen[delivery] > 0, f"not received: {delivery}"
        seen[delivery] -= 1
        if not seen[delivery]:
            del seen[delivery]
        self.clients[row.client].messages_out += 1
        row.delivered += 1
        if row.delivered == row.delivered_max:
            self.subscriptions.remove(row)
