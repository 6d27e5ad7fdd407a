"""Advisories are made for those who listen."""

import contextlib

import pytest

from penstock.kernel.hub import Hub, picked_frames
from penstock.routing.accounts import Account, Accounts
from penstock.server.connection import Connection
from penstock.server.jetstream.advisories import Advisories
from tests.properties.hub_walk import open_client, small_hub

ASKED_BY = 77


@pytest.fixture
def hub() -> Hub:
    return small_hub(accounts=0)


@pytest.fixture
def account(hub: Hub) -> Account:
    return Accounts(hub).global_account


@pytest.fixture
def asked() -> list[int]:
    return []


@pytest.fixture
def advisories(hub: Hub, account: Account, asked: list[int]) -> Advisories:
    def find(number: int) -> Connection | None:
        asked.append(number)
        return None

    found = Advisories(hub, account, "name", contextlib.nullcontext)
    found.find_client = find
    return found


def audit(advisories: Advisories) -> None:
    advisories.audit(ASKED_BY, b"$JS.API.INFO", b"", b"{}")


def test_nothing_is_made_for_nobody(advisories: Advisories, asked: list[int]) -> None:
    audit(advisories)
    advisories.stream_created("T")
    assert asked == []


def test_a_subscriber_hears(hub: Hub, advisories: Advisories, asked: list[int]) -> None:
    client = open_client(hub)
    assert hub.subscribe(client, b"$JS.EVENT.ADVISORY.>", None, b"1")
    audit(advisories)
    advisories.stream_created("T")
    text = hub.take(client)
    assert text.count(b"MSG $JS.EVENT.ADVISORY.API 1 ") == 1
    assert text.count(b"MSG $JS.EVENT.ADVISORY.STREAM.CREATED.T 1 ") == 1
    assert asked == [ASKED_BY]
    assert b'"kind":"JetStream"' in text  # nobody's connection: the server asked itself


def test_a_target_hears(hub: Hub, account: Account, advisories: Advisories) -> None:
    assert hub.add_target(account.number, b"$JS.EVENT.ADVISORY.STREAM.DELETED.*", 1)
    hub.begin(1)
    audit(advisories)
    advisories.stream_deleted("T")
    ((_, start, end),) = hub.loopback_runs()
    (frame,) = picked_frames(hub, start, end)
    assert frame.subject == b"$JS.EVENT.ADVISORY.STREAM.DELETED.T"
    assert b'"action":"delete"' in frame.body
