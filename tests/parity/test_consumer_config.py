"""Consumer configurations: the reference's answers, and those of our pure functions.

Both are asked the same, and the answers are equal field by field: name and configuration, or code,
err_code and description (for bad JSON only its beginning, since the rest describes the reference's
own structs). Afterwards both show the same consumers: what was refused has changed nothing.
"""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.consumers.draft import Limits
from tests.parity import consumer_config_cases as cases
from tests.parity import consumer_rule_cases as rules
from tests.parity import consumer_update_cases as updates
from tests.parity.consumer_sides import (
    DELETE,
    INFO,
    STREAM_CREATE,
    Computed,
    Reply,
    Served,
    Side,
)
from tests.parity.servers import REFERENCE, Server

MIXES, MIXES_EACH = 1000, 50
GENERATED = re.compile(r"[0-9A-Za-z]{8}")
CONFIG = """
jetstream {{
  store_dir: "{directory}", max_memory_store: 10M, max_file_store: 10M {more}
}}
accounts {{
  A {{ jetstream: {limits}, users: [{{user: a, password: a}}] }}
}}
"""

Pair = tuple[Side, Side]


def started(path: Path, ours: Side, limits: str = "enabled", more: str = "") -> Iterator[Pair]:
    """The reference and ours, with the streams in place."""
    config = CONFIG.format(directory=path, limits=limits, more=more)
    with Server(REFERENCE, config=config) as server:
        pair: Pair = Served(server, user="a", password="a"), ours
        for side in pair:
            for stream in cases.STREAMS:
                reply = side.ask(STREAM_CREATE + stream["name"], json.dumps(stream).encode())
                assert "error" not in reply, reply
        yield pair
        for side in pair:
            side.close()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    yield from started(tmp_path_factory.mktemp("reference"), Computed(Limits()))


def payload_of(body: cases.Body) -> bytes:
    return (body if isinstance(body, str) else json.dumps(body)).encode()


def comparable(reply: Reply) -> Reply:
    error = reply.get("error")
    if error is None:
        name, config = reply["name"], reply["config"]
        is_generated = "name" not in config and GENERATED.fullmatch(name)
        return {"name": "generated" if is_generated else name, "config": config}
    if error["err_code"] == 10025 and "unknown field" not in error["description"]:
        return error | {"description": error["description"][: len("invalid JSON: ")]}
    return dict(error)


def play(side: Side, case: cases.Case) -> tuple[list[Reply], list[Reply]]:
    """The answer to each step, and what there is in the end; afterwards the consumers are gone."""
    replies = [side.ask(step.subject, payload_of(step.body)) for step in case]
    made = {f"{reply['stream_name']}.{reply['name']}" for reply in replies if "name" in reply}
    left = [side.ask(INFO + names, b"") for names in sorted(made)]
    for names in made:
        assert "error" not in side.ask(DELETE + names, b"")
    return replies, left


def assert_same(pair: Pair, case: cases.Case) -> None:
    (theirs, their_left), (ours, our_left) = (play(side, case) for side in pair)
    for step, our, their in zip(case, ours, theirs, strict=True):
        assert comparable(our) == comparable(their), f"{step.subject} {str(step.body)[:300]}"
    for our, their in zip(our_left, their_left, strict=True):
        assert comparable(our) == comparable(their), "in the end"


def label(value: object) -> str:
    return str(value)[:70]


@pytest.mark.parametrize(
    "step",
    cases.WELL_FORMED
    + cases.MALFORMED
    + cases.NAMING
    + rules.DEFAULTS
    + rules.PEDANTIC
    + rules.RULES
    + rules.FILTERS
    + rules.STARTS
    + rules.SAMPLES
    + rules.PRIORITIES,
    ids=label,
)
def test_create(pair: Pair, step: cases.Step) -> None:
    assert_same(pair, [step])


@pytest.mark.parametrize("case", updates.TWICE + updates.UPDATES, ids=label)
def test_one_after_the_other(pair: Pair, case: cases.Case) -> None:
    assert_same(pair, case)


def mixed(chance: random.Random, base: cases.Config, most: int) -> cases.Config:
    """Several settings at once, so that the order of the rules decides."""
    parts = chance.sample(updates.MIX, chance.randint(1, most))
    return base | {name: value for part in parts for name, value in part.items()}


def created(chance: random.Random) -> cases.Step:
    stream = chance.choice(("T", "T", "L", "W", "I"))
    subject = chance.choice(("CREATE.{}", "CREATE.{}.C", "CREATE.{}.C", "DURABLE.CREATE.{}.C"))
    action = chance.choice((None, None, "", "create", "update"))
    body = cases.request(mixed(chance, {}, 5), stream, action, chance.random() < 0.2)
    return cases.Step("CONSUMER." + subject.format(stream), body)


def updated(chance: random.Random, base: cases.Config) -> cases.Step:
    config = mixed(chance, base if chance.random() < 0.7 else {}, 3)
    action = chance.choice((None, "", "create", "update"))
    body = cases.request(config, "T", action, chance.random() < 0.1)
    return cases.Step("CONSUMER.CREATE.T.C", body)


@pytest.mark.parametrize("seed", range(0, MIXES, MIXES_EACH))
def test_precedence_at_create(pair: Pair, seed: int) -> None:
    for number in range(seed, seed + MIXES_EACH):
        assert_same(pair, [created(random.Random(number))])


@pytest.mark.parametrize("seed", range(0, MIXES, MIXES_EACH))
def test_precedence_at_update(pair: Pair, seed: int) -> None:
    for number in range(seed, seed + MIXES_EACH):
        chance = random.Random(number)
        base = chance.choice(updates.BEGINNINGS)
        assert_same(pair, [cases.create(**base), *(updated(chance, base) for _ in range(4))])


@pytest.mark.parametrize(("err_code", "step"), rules.TABLE, ids=label)
@pytest.mark.parametrize("start", [cases.durable(), cases.durable(deliver_subject="e")], ids=label)
def test_bad_input_changes_nothing(
    pair: Pair, start: cases.Step, err_code: int, step: cases.Step
) -> None:
    for side in pair:
        side.ask(start.subject, payload_of(start.body))
        before = side.ask(INFO + "T.C", b"")
        assert side.ask(step.subject, payload_of(step.body))["error"]["err_code"] == err_code
        assert comparable(side.ask(INFO + "T.C", b"")) == comparable(before)
        assert "error" not in side.ask(DELETE + "T.C", b"")


@pytest.mark.parametrize("different", updates.OURS, ids=lambda different: different.why)
def test_ours(pair: Pair, different: updates.Different) -> None:
    for side, expected in zip(pair, (different.reference, different.ours), strict=True):
        (*before, last), _ = play(side, different.case)
        assert all("error" not in reply for reply in before), before
        assert last.get("error", {}).get("err_code", 0) == expected, last


def test_a_deliver_subject_changes_only_while_nobody_listens(pair: Pair) -> None:
    for side in pair:
        side.listen("listened.to")
    assert_same(
        pair,
        [
            cases.durable(deliver_subject="listened.to"),
            cases.durable(deliver_subject="listened.to", description="x"),
            cases.durable(deliver_subject="d"),
            cases.durable(deliver_subject="d", max_waiting=5),
            cases.durable(deliver_subject="d", deliver_policy="new"),
            cases.durable(),
            cases.durable(deliver_subject="listened.to"),
        ],
    )
    assert_same(
        pair,
        [
            cases.durable(deliver_subject="d"),
            cases.durable(deliver_subject="listened.to"),
            cases.durable(deliver_subject="d"),
        ],
    )
    beating = {"idle_heartbeat": cases.SECOND}
    assert_same(
        pair,
        [
            cases.durable(deliver_subject="listened.to", **beating),
            cases.durable(deliver_subject="d", flow_control=True, **beating),
            cases.durable(deliver_subject="d"),
        ],
    )


LIMITS = Limits(
    server_ack_pending_max=70,
    server_batch_max=20,
    account_ack_pending_max=60,
    account_consumers_max=2,
)
LIMITS_TEXT = """{ max_memory: 10000, max_file: 100000, max_streams: 20, max_consumers: 2,
  max_ack_pending: 60 }"""


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Both with an account that may use little, on a server that is not as usual."""
    ours = Computed(LIMITS, strict=False)
    more = ", strict: false, limits { max_ack_pending: 70, max_request_batch: 20 }"
    yield from started(tmp_path_factory.mktemp("limited"), ours, LIMITS_TEXT, more)


@pytest.mark.parametrize("case", updates.LIMITED, ids=label)
def test_limits(limited: Pair, case: cases.Case) -> None:
    assert_same(limited, case)
