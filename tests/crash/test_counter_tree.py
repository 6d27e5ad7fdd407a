"""ADR-49's picture, with everything that can go wrong: it ends exactly right."""

import contextlib
import random
import threading
from pathlib import Path

import pytest

from tests.crash.length import KILLS, SEED
from tests.crash.node import Node
from tests.crash.tree import (
    CITIES,
    PAGES,
    TIERS,
    Model,
    ask,
    await_totals,
    disturb,
    grow,
    recount,
    tier_config,
)
from tests.crash.wire import Wire

ROUNDS = max(3, KILLS)
STEPS = 120


def count_until_killed(node: Node, model: Model, dice: random.Random) -> None:
    """Increments everywhere, messages and links that come and go, and in the middle kill -9."""
    cut = ""
    killer = threading.Timer(dice.uniform(0.2, 0.8), node.kill)
    with contextlib.closing(Wire(node.port)) as wire:
        model.settle(wire)
        killer.start()
        try:
            for _ in range(STEPS):
                stream = dice.choice([*CITIES, *CITIES, *TIERS])
                model.add(wire, stream, dice.choice(PAGES), dice.randint(-(10**6), 10**20))
                if dice.random() < 0.1:
                    disturb(wire, dice)
                if dice.random() < 0.05:
                    tier = dice.choice([*TIERS])
                    cut = "" if cut else dice.choice(TIERS[tier])
                    answer = ask(wire, f"STREAM.UPDATE.{tier}", tier_config(tier, without=cut))
                    assert "error" not in answer, answer
        except ConnectionError:
            pass  # killed
        finally:
            killer.join()
    node.wait_exit()


@pytest.mark.timeout(120 + 60 * ROUNDS)
@pytest.mark.parametrize("sync", ["", 'sync_interval: "2m"'], ids=["always", "lazy"])
def test_the_tree_ends_exactly_right(tmp_path: Path, sync: str) -> None:
    dice, model = random.Random(SEED), Model()
    with Node(tmp_path, sync) as node, contextlib.closing(Wire(node.port)) as wire:
        grow(wire)
        node.kill()
    for _ in range(ROUNDS):
        with Node(tmp_path, sync) as node:
            count_until_killed(node, model, dice)
    with Node(tmp_path, sync) as node, contextlib.closing(Wire(node.port)) as wire:
        model.settle(wire)
        for tier in TIERS:  # whatever was cut off returns
            assert "error" not in ask(wire, f"STREAM.UPDATE.{tier}", tier_config(tier))
        for city in CITIES:  # and every counter moves once more
            for page in PAGES:
                model.add(wire, city, page, dice.randint(1, 100))
        await_totals(wire, model)
        assert model.total("WORLD", "home") > 0
        for tier in TIERS:
            totals = recount(wire, tier)
            for page in PAGES:
                assert totals[f"count.{tier.lower()}.{page}"] == model.total(tier, page)
        assert "Traceback" not in node.log
