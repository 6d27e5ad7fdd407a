"""Counters counted again: which verdict which history has. Rows are made up, so that they may be
wrong; what servers make of counters is in test_pipelines.py."""

import json
from typing import TYPE_CHECKING, Any

import pytest

from penstock.pipelines.recount import counting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class History:
    """Messages of counters, one after the other."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, int, dict[str, list[str]], str | None]] = []
        self._last: dict[str, int] = {}

    def add(  # one message
        self,
        stream: str,
        subject: str,
        increment: str | None,
        value: str | None,
        *,
        origin: str = "",
        sources: dict[str, dict[str, str]] | None = None,
        seq: int | None = None,
    ) -> "History":
        headers = {} if increment is None else {"Nats-Incr": [increment]}
        if origin:
            headers["Nats-Stream-Source"] = [origin]
        if sources:
            headers["Nats-Counter-Sources"] = [json.dumps(sources)]
        next_seq = self._ends.get(stream, 1)
        self.rows.append((stream, subject, seq or next_seq, headers, value))
        return self

    def delete(self, stream: str, seq: int) -> "History":
        """A message is gone; its sequence is not given again."""
        self._last[stream] = self._ends[stream] - 1
        self.rows = [row for row in self.rows if (row[0], row[2]) != (stream, seq)]
        return self

    @property
    def _ends(self) -> dict[str, int]:
        """The sequence behind the last one of each stream."""
        ends = {stream: last + 1 for stream, last in self._last.items()}
        for stream, _, seq, *_ in self.rows:
            ends[stream] = max(ends.get(stream, 1), seq + 1)
        return ends

    def counters(self, spark: "SparkSession") -> dict[tuple[str, str], dict[str, Any]]:
        table = counting.counters(self._contributions(spark), self._ends)
        return {(row.stream, row.subject): row.asDict() for row in table.collect()}

    def sources(self, spark: "SparkSession") -> dict[tuple[str, str, str, str], dict[str, Any]]:
        added = self._contributions(spark)
        rows = counting.sources(added, counting.counters(added, self._ends)).collect()
        return {
            (row.stream, row.subject, row.origin_stream, row.origin_subject): row.asDict()
            for row in rows
        }

    def _contributions(self, spark: "SparkSession") -> "DataFrame":
        return counting.contributions(spark.createDataFrame(self.rows, counting.COLUMNS))


HUGE = 10**37  # the sum of twenty has more than 38 digits


@pytest.mark.parametrize(
    ("messages", "verdict"),
    [
        ([("+1", "1"), ("+2", "3"), ("-5", "-2"), ("+0", "-2")], "exact"),
        ([("1", "1"), ("2", "3")], "exact"),  # nats-server writes sourced ones without a sign
        ([("+2", "12"), ("+3", "15")], "partial"),
        ([("+1", "1"), ("+2", "4")], "mismatch"),
        ([("+1", "1"), ("+2", "3"), ("+1", "3")], "mismatch"),
        ([("+1", "1"), (None, "3")], "unreadable"),
        ([("+1", "1"), ("+2", None)], "unreadable"),
        ([("+1", "1"), ("+" + "9" * 50, "9" * 49 + "0")], "unreadable"),
        ([(f"+{HUGE}", f"{HUGE * (at + 1)}") for at in range(20)], "unreadable"),
    ],
)
def test_a_counter(
    spark: "SparkSession", messages: list[tuple[str | None, str | None]], verdict: str
) -> None:
    history = History()
    for increment, value in messages:
        history.add("HITS", "hits.a", increment, value)
        history.add("HITS", "hits.b", "+7", str(7 * len(history.rows[1::2]) + 7))
    found = history.counters(spark)
    assert found["HITS", "hits.a"]["verdict"] == verdict
    assert found["HITS", "hits.b"]["verdict"] == "exact"


def test_a_counter_that_does_not_add_up_where_messages_are_missing(spark: "SparkSession") -> None:
    history = History().add("HITS", "a", "+1", "1").add("HITS", "a", "+1", "3", seq=3)
    (found,) = history.counters(spark).values()
    assert (found["verdict"], found["gaps"]) == ("unproven", 1)
    assert (found["stored"], found["recounted"]) == (3, 2)


@pytest.mark.parametrize("gone", [(3,), (1, 2), (2,), (6,)])
def test_a_counter_that_adds_up_where_messages_are_missing(
    spark: "SparkSession", gone: tuple[int, ...]
) -> None:
    """They may have been its own: the last one, so that it fell back, or some that came to 0."""
    history = History().add("HITS", "b", "+1", "1").add("HITS", "b", "+1", "2")
    history.add("HITS", "a", "+0", "0").add("HITS", "a", "+1", "1")
    history.add("HITS", "b", "+1", "3").add("HITS", "a", "+100", "101")
    for seq in gone:
        history.delete("HITS", seq)
    found = history.counters(spark)["HITS", "a"]
    is_front = gone == (1, 2)  # what is before the first that is left, it tells itself
    assert (found["verdict"], found["gaps"]) == (
        ("exact", 0) if is_front else ("partial", len(gone))
    )


def test_figures_of_a_counter(spark: "SparkSession") -> None:
    history = History().add("HITS", "a", "+5", "105", seq=4).add("HITS", "a", "-2", "103")
    (found,) = history.counters(spark).values()
    figures = ("stored", "recounted", "carried", "increments", "messages", "first_seq", "last_seq")
    assert [int(found[name]) for name in figures] == [103, 103, 100, 3, 2, 4, 5]


EU = ("EU", "count.hits", "ES", "count.es.hits")


def tree(*, seen: str, incr: str, value: str, seq: int = 2) -> History:
    """ES has 2 and then 7; EU has taken something from it."""
    history = History().add("ES", "count.es.hits", "+2", "2").add("ES", "count.es.hits", "+5", "7")
    origin = f"ES {seq} count.es.> count.> count.es.hits"
    sources = {"ES": {"count.es.hits": seen}}
    return history.add("EU", "count.hits", incr, value, origin=origin, sources=sources)


def test_an_origin_of_which_everything_was_seen(spark: "SparkSession") -> None:
    history = tree(seen="7", incr="7", value="7")
    found = history.sources(spark)
    assert [*found] == [EU]
    assert found[EU]["verdict"] == "exact"
    assert [int(found[EU][name]) for name in ("seen", "came", "origin_value")] == [7, 7, 7]


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"seen": "2", "incr": "2", "value": "2", "seq": 1}, "behind"),
        ({"seen": "2", "incr": "2", "value": "2", "seq": 2}, "mismatch"),
        ({"seen": "7", "incr": "6", "value": "6"}, "mismatch"),  # not all of it was counted
        ({"seen": "7", "incr": "1", "value": "9"}, "exact"),  # the beginning of EU is gone
        ({"seen": "x", "incr": "7", "value": "7"}, "unreadable"),
        ({"seen": "9", "incr": "9", "value": "9", "seq": 8}, "unproven"),  # ES was made anew
    ],
)
def test_an_origin(spark: "SparkSession", fields: dict[str, Any], verdict: str) -> None:
    assert tree(**fields).sources(spark)[EU]["verdict"] == verdict


def test_an_origin_that_is_not_there_is_unchecked(spark: "SparkSession") -> None:
    history = History().add("EU", "a", "+1", "1", sources={"FR": {"a.fr": "4"}})
    (found,) = history.sources(spark).values()
    assert (found["verdict"], found["seen"], found["came"]) == ("unchecked", 4, None)


def test_what_is_published_to_a_sourced_counter_is_counted_too(spark: "SparkSession") -> None:
    history = tree(seen="7", incr="7", value="7")
    history.add("EU", "count.hits", "+3", "10", sources={"ES": {"count.es.hits": "7"}})
    assert history.counters(spark)["EU", "count.hits"]["verdict"] == "exact"
    assert history.sources(spark)[EU]["verdict"] == "exact"
