"""Consumers with many filters, and many consumers with filters."""

import itertools

from tests.unit.consumers.configs import WORKQUEUE, around, config, decided, refusal, request

EXPLICIT = {"ack_policy": "explicit"}
SIDE = 1000
WORDS = "cross too often to be compared: use fewer wildcards"


def test_crossing_filters_may_not_be_too_many() -> None:
    crossing = [".".join(tokens) for tokens in itertools.product("a*", repeat=12)]
    apart = [f"{pattern}.{number}" for number, pattern in enumerate(crossing)]
    error = (10052, f"consumer filters {WORDS}")
    assert refusal(request(filter_subjects=apart), around()) == error


def test_filters_may_not_cross_those_of_other_consumers_too_often() -> None:
    rows = [f"t.{number}.*.x" for number in range(SIDE)]
    columns = [f"t.*.{number}.y" for number in range(SIDE)]
    made = config(around(stream=WORKQUEUE), filter_subjects=rows, **EXPLICIT)
    where = around({"C": made}, stream=WORKQUEUE)
    error = (10052, f"consumer filters and those of other consumers {WORDS}")
    assert refusal(request(filter_subjects=columns, **EXPLICIT), where, "T.D") == error


def test_a_work_queue_with_many_consumers() -> None:
    made = config(around(stream=WORKQUEUE), filter_subject="t.x", **EXPLICIT)
    others = {
        f"C{number}": config(around(stream=WORKQUEUE), filter_subject=f"t.{number}", **EXPLICIT)
        for number in range(1000)
    }
    where = around({"C": made} | others, stream=WORKQUEUE)
    decided(request(filter_subjects=[f"t.y.{at}" for at in range(1000)], **EXPLICIT), where, "T.D")
    taken = request(filter_subjects=["t.y", "t.999"], **EXPLICIT)
    assert refusal(taken, where, "T.D")[0] == 10100
