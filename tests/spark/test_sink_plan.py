"""What is refused before a job, in words that say what to do; and which mode is chosen."""

from typing import Any

import pyarrow as pa
import pytest

from pyspark_jetstream.option_values import OptionError
from pyspark_jetstream.sink_errors import SinkError
from pyspark_jetstream.sink_subjects import covers
from tests.spark.sink_bench import Bench, bench

__all__ = ["bench"]  # a fixture

ROWS = pa.schema({"subject": pa.string(), "data": pa.binary()})
WITH_IDS = pa.schema({"subject": pa.string(), "data": pa.binary(), "msg_id": pa.string()})
WITH_INCREMENTS = pa.schema({"subject": pa.string(), "incr": pa.int64()})


@pytest.mark.parametrize(
    ("config", "schema", "mode", "reason"),
    [
        ({"allow_atomic": True}, ROWS, "batch", "the stream has allow_atomic"),
        ({}, ROWS, "msgid", "the stream lacks allow_atomic"),
        ({"allow_atomic": True}, WITH_IDS, "msgid", "rows have a msg_id"),
    ],
)
def test_auto_chooses_by_the_stream(
    bench: Bench, config: dict[str, Any], schema: pa.Schema, mode: str, reason: str
) -> None:
    bench.create(**config)
    plan = bench.plan(schema)
    assert (plan.mode, plan.reason) == (mode, reason)


REFUSED: dict[str, tuple[dict[str, Any], pa.Schema, dict[str, str], str]] = {
    "no batches": ({}, ROWS, {"sinkMode": "batch"}, "lacks allow_atomic.*--allow-batch"),
    "no ledger": (
        {"allow_atomic": True, "subjects": ["{name}.>"]},
        ROWS,
        {},
        r"stream edit {name} --subjects '{name}.>,ledger.{name}.>'; or .* ledgerSubject",
    ),
    "a ledger of one token": (
        {"allow_atomic": True, "subjects": ["{name}.>", "ledger.{name}.*"]},
        ROWS,
        {},
        "does not listen to the ledger",
    ),
    "max_age": ({"allow_atomic": True, "max_age": 60}, ROWS, {}, "max_age drops the ledger"),
    "work queue": (
        {"allow_atomic": True, "retention": "workqueue"},
        ROWS,
        {},
        "retention is workqueue, which drops the ledger",
    ),
    "interest": (
        {"allow_atomic": True, "retention": "interest"},
        ROWS,
        {},
        "retention is interest, which drops the ledger",
    ),
    "discard_new_per_subject": (
        {
            "allow_atomic": True,
            "max_msgs_per_subject": 5,
            "discard": "new",
            "discard_new_per_subject": True,
        },
        ROWS,
        {},
        "discard_new_per_subject refuses the ledger",
    ),
    "ids in batches": (
        {"allow_atomic": True},
        WITH_IDS,
        {"sinkMode": "batch"},
        "msg_id and sinkMode batch",
    ),
    "no acknowledgements": ({"no_ack": True}, ROWS, {}, "acknowledges nothing"),
    "counters without increments": (
        {"allow_msg_counter": True},
        ROWS,
        {},
        "every row needs a column incr",
    ),
    "increments without counters": ({}, WITH_INCREMENTS, {}, "none of counters"),
    "expectations of counters": (
        {"allow_msg_counter": True},
        WITH_INCREMENTS.append(pa.field("expected_last_subject_seq", pa.int64())),
        {},
        "counters take no expectations",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_could_break_the_promise_is_refused(bench: Bench, case: str) -> None:
    config, schema, options, told = REFUSED[case]
    if subjects := config.get("subjects"):
        config = {**config, "subjects": [one.replace("{name}", bench.name) for one in subjects]}
    bench.create(**config)
    with pytest.raises(SinkError, match=told.replace("{name}", bench.name)):
        bench.plan(schema, **options)


def test_a_bucket_with_one_message_for_each_subject_keeps_its_ledger(bench: Bench) -> None:
    bench.create(allow_atomic=True, max_msgs_per_subject=1, discard="new")
    assert bench.plan(ROWS).mode == "batch"


OPTIONS: dict[str, tuple[dict[str, str], str]] = {
    "no such stream": ({"stream": "NOWHERE"}, "option stream: 'NOWHERE' cannot be"),
    "a foreign subject": ({"subject": "elsewhere"}, "option subject: 'elsewhere' .* {name}.>"),
    "a pattern": ({"subject": "{name}.*"}, "option subject: .* without wildcards"),
    "a pattern for a ledger": ({"ledgerSubject": "ledger.*.a"}, "option ledgerSubject"),
    "an unknown mode": ({"sinkMode": "exactly"}, "option sinkMode: .* auto, msgid, batch"),
    "no acks": ({"maxOutstandingAcks": "0"}, "option maxOutstandingAcks: .* from 1 on"),
    "a wrong name": ({"sinkmod": "batch"}, "did you mean sinkMode"),
    "nowhere to go": ({"stream": "", "subject": ""}, "option stream: the stream to write to"),
    "nobody listens": ({"stream": "", "subject": "elsewhere"}, "option subject: 'elsewhere'"),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_options_that_cannot_be_are_named_with_what_can(bench: Bench, case: str) -> None:
    bench.create(allow_atomic=True)
    options, told = OPTIONS[case]
    given = {name: value.replace("{name}", bench.name) for name, value in options.items()}
    with pytest.raises(OptionError, match=told.replace("{name}", bench.name)):
        bench.plan(ROWS, **given)


def test_the_stream_is_found_by_the_subject(bench: Bench) -> None:
    bench.create()
    plan = bench.plan(pa.schema({"data": pa.string()}), stream="", subject=f"{bench.name}.a")
    assert plan.stream == bench.name


SCHEMAS: dict[str, tuple[dict[str, pa.DataType], str]] = {
    "a wrong type": (
        {"subject": pa.int64(), "data": pa.binary()},
        "column subject is bigint; allowed: string",
    ),
    "wrong headers": (
        {"data": pa.binary(), "headers": pa.map_(pa.string(), pa.int64())},
        "column headers is map<string,bigint>; allowed: map<string,array<string>>",
    ),
    "an unknown column": (
        {"data": pa.binary(), "msgid": pa.string()},
        r"column msgid is not one that can be written; there are subject \(string\)",
    ),
    "nothing": ({"subject": pa.string()}, "no column data .* nothing to write"),
    "a fraction": (
        {"incr": pa.float64(), "subject": pa.string()},
        "column incr is double; allowed: a whole number",
    ),
}


@pytest.mark.parametrize("case", SCHEMAS)
def test_columns_that_cannot_be_are_named_with_what_can(bench: Bench, case: str) -> None:
    kinds, told = SCHEMAS[case]
    with pytest.raises(SinkError, match=told):
        bench.plan(pa.schema(kinds), subject="a")


def test_the_columns_of_a_read_may_stay(bench: Bench) -> None:
    bench.create()
    kinds = {"stream": pa.string(), "subject": pa.string(), "seq": pa.int64(), "data": pa.binary()}
    assert bench.plan(pa.schema(kinds)).columns == ("subject", "data")


@pytest.mark.parametrize(
    ("pattern", "inner", "expected"),
    [
        ("a.>", "a.b", True),
        ("a.>", "a", False),
        ("a.*", "a.b", True),
        ("a.*", "a.*", True),
        ("a.*", "a.>", False),
        ("a.b", "a.*", False),
        (">", "a.*.*", True),
        ("a.*.*", "a.*.*", True),
        ("a.*", "a.b.c", False),
        ("a.b.c", "a.b", False),
    ],
)
def test_a_pattern_covers_another_or_not(pattern: str, inner: str, expected: bool) -> None:
    assert covers(pattern, inner) is expected
