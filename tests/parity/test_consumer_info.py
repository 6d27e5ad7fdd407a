"""How a consumer is shown: what the reference answers can be shown again by our function.

The state is taken from a reply, given to `show_consumer` with the configuration, and the outcome is
the reply, field by field: which fields there are, what they are called, how moments are written.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nats.aio.msg import Msg

from penstock.api.consumer_info import ConsumerState, Progress, show_consumer
from penstock.model.consumer_config import ConsumerConfig
from penstock.model.consumer_request import parse_consumer_request
from penstock.model.timestamps import unix_ns
from penstock.streams.versioning import REQUIRED_KEY
from tests.parity.asked import ANSWER_SECONDS_MAX
from tests.parity.consumer_config_cases import DAY_2024, DAY_2044, SECOND, create
from tests.parity.consumer_sides import Served
from tests.parity.servers import REFERENCE, Server

MESSAGES = 3
NEVER = "0001-01-01T00:00:00Z"


class Client(Served):
    """One that also takes messages."""

    def publish(self, subject: str) -> None:
        self.request(subject, b"")

    def take(self, **request: Any) -> Msg:
        """The next message for the consumer C."""
        return self.exchange("$JS.API.CONSUMER.MSG.NEXT.T.C", json.dumps(request).encode())

    def exchange(self, subject: str, payload: bytes) -> Msg:
        # A message comes under its own subject, so it needs an inbox of its own to be recognised.
        asked = self._client.request(subject, payload, timeout=ANSWER_SECONDS_MAX, old_style=True)
        return self._runner.run(asked)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """Of a server with a stream of a few messages."""
    with Server(REFERENCE, config=f'jetstream: {{store_dir: "{tmp_path}"}}') as server:
        client = Client(server)
        stream = {"name": "T", "subjects": ["t.*"], "storage": "memory"}
        client.ask("STREAM.CREATE.T", json.dumps(stream).encode())
        for _ in range(MESSAGES):
            client.publish("t.x")
        yield client
        client.close()


def made(client: Client, **config: Any) -> dict[str, Any]:
    step = create(**config)
    reply = client.ask(step.subject, json.dumps(step.body).encode())
    assert "error" not in reply, reply
    assert_shown(reply)
    return reply


def info(client: Client) -> dict[str, Any]:
    reply = client.ask("CONSUMER.INFO.T.C", b"")
    assert_shown(reply)
    return reply


def assert_shown(reply: dict[str, Any], *, with_versions: bool = True) -> None:
    fields = {name: value for name, value in reply.items() if name != "type"}
    ours = show_consumer(
        fields["stream_name"],
        fields["name"],
        config_of(fields["config"]),
        unix_ns(fields["created"]),
        state_of(fields),
        unix_ns(fields["ts"]),
        with_versions=with_versions,
    )
    if "pause_remaining" in fields:  # the reference looks at the clock once more
        assert ours["pause_remaining"] >= fields["pause_remaining"]
        ours["pause_remaining"] = fields["pause_remaining"]
    assert json.loads(json.dumps(ours)) == fields


def config_of(shown: dict[str, Any]) -> ConsumerConfig:
    payload = json.dumps({"config": shown}).encode()
    config = parse_consumer_request(payload).config
    own = [key for key in config.metadata if key.startswith("_nats.") and key != REQUIRED_KEY]
    for key in own:
        del config.metadata[key]
    return config


def state_of(fields: dict[str, Any]) -> ConsumerState:
    groups = fields.get("priority_groups", [{}])
    pinned = groups[0].get("pinned_ts", NEVER)
    return ConsumerState(
        delivered=progress_of(fields["delivered"]),
        ack_floor=progress_of(fields["ack_floor"]),
        num_ack_pending=fields["num_ack_pending"],
        num_redelivered=fields["num_redelivered"],
        num_waiting=fields["num_waiting"],
        num_pending=fields["num_pending"],
        is_push_bound=fields.get("push_bound", False),
        pinned_id=groups[0].get("pinned_client_id", ""),
        pinned_ns=None if pinned == NEVER else unix_ns(pinned),
    )


def progress_of(fields: dict[str, Any]) -> Progress:
    moment = fields.get("last_active")
    time_ns = None if moment is None else unix_ns(moment)
    return Progress(fields["consumer_seq"], fields["stream_seq"], time_ns)


def test_new_and_at_work(client: Client) -> None:
    reply = made(client, durable_name="C", ack_policy="explicit", metadata={"a": "b"})
    assert reply["num_pending"] == MESSAGES
    first = client.take(batch=1)
    assert "last_active" in info(client)["delivered"]
    client.exchange(first.reply, b"+ACK")
    second = client.take(batch=1)
    assert "last_active" in info(client)["ack_floor"]
    client.exchange(second.reply, b"-NAK")
    client.take(batch=1)
    assert info(client)["num_redelivered"] == 1


def test_list_leaves_the_versions_out(client: Client) -> None:
    made(client, durable_name="C")
    (listed,) = client.ask("CONSUMER.LIST.T", b"")["consumers"]
    assert_shown(listed, with_versions=False)


def test_push(client: Client) -> None:
    assert "push_bound" not in made(client, durable_name="C", deliver_subject="d")
    client.ask("CONSUMER.DELETE.T.C", b"")
    client.listen("d")
    assert made(client, durable_name="C", deliver_subject="d")["push_bound"]


@pytest.mark.parametrize("until", [DAY_2024, DAY_2044, "2044-01-01T00:00:00.5+02:00", NEVER])
def test_pause(client: Client, until: str) -> None:
    reply = made(client, pause_until=until)
    assert ("paused" in reply) is ("2044" in until)
    assert "pause_until" in info(client)["config"]


def test_priority_groups(client: Client) -> None:
    made(client, priority_policy="pinned_client", priority_groups=["g", "h"])
    assert "pinned_client_id" not in info(client)["priority_groups"][0]
    client.take(batch=1, group="g", expires=30 * SECOND)
    assert "pinned_client_id" in info(client)["priority_groups"][0]
    client.ask("CONSUMER.UNPIN.T.C", b'{"group":"g"}')
    assert "pinned_client_id" not in info(client)["priority_groups"][0]
