"""Subscriptions as the pages show them, and which of them concern a subject."""

import msgspec

from penstock.kernel.hub import Hub, Interest
from penstock.server.connection import Connection


class SubscriptionRow(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """One subscription, in the reference's keys; /subsz names its account, /connz does not."""

    account: str = ""
    account_tag: str = ""
    subject: str
    qgroup: str = ""
    sid: str
    msgs: int
    max: int = 0
    cid: int


def interests_of(hub: Hub, connection: Connection) -> list[Interest]:
    """In the order in which clients count: 2 before 10."""
    interests = [Interest(*columns) for columns in hub.interests(connection.id)]
    interests.sort(key=lambda interest: (len(interest.sid), interest.sid))
    return interests


def subscription_row(
    interest: Interest, connection: Connection, *, with_account: bool
) -> SubscriptionRow:
    account = connection.account.name if with_account else ""
    return SubscriptionRow(
        account=account,
        account_tag=account,
        subject=shown(interest.pattern),
        qgroup=shown(interest.queue or b""),
        sid=shown(interest.sid),
        msgs=interest.delivered,
        max=interest.delivered_max,
        cid=connection.cid,
    )


def shown(text: bytes) -> str:
    """What clients sent need not be UTF-8; JSON must be."""
    return text.decode(errors="replace")


class SubjectFilter:
    """Which patterns could meet messages of a subject, which may itself have wildcards."""

    def __init__(self, subject: str) -> None:
        self._tokens = subject.encode().split(b".")

    def meets(self, pattern: bytes) -> bool:
        tokens = pattern.split(b".")
        for mine, theirs in zip(self._tokens, tokens, strict=False):
            if b">" in (mine, theirs):
                return True
            if mine != theirs and b"*" not in (mine, theirs):
                return False
        return len(self._tokens) == len(tokens)
