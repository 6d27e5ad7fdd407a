"""Where lifetimes, counters, batches and copies meet: the same on both servers."""

from typing import Any

import pytest

from tests.parity.batch_steps import codes, end, last, part, whole
from tests.parity.copying import make, pair, publish, reached, rows, same, servers, state, until
from tests.parity.numbered import Pub
from tests.parity.streams_peer import Heard, Listen, Pair, Peer, Step
from tests.parity.ttl_peer import SECOND, Timed, both, each, marker

__all__ = ["pair", "servers"]  # fixtures

SHORT = {"subject_delete_marker_ttl": 60 * SECOND, "max_msgs_per_subject": 1}
TARGETS: dict[str, dict[str, Any]] = {
    "mirror": {},
    "mirror with rollups": {"allow_rollup_hdrs": True},
    "mirror with TTLs": {"allow_msg_ttl": True},
    "source": {},
    "source with rollups": {"allow_rollup_hdrs": True},
    "source with TTLs": {"allow_msg_ttl": True, "allow_rollup_hdrs": True},
    "source with markers": {"subject_delete_marker_ttl": 60 * SECOND},
}


def played(peer: Peer, steps: list[Step]) -> list[Any]:
    return [peer.play(step) for step in steps]


def emptied(peer: Peer, name: str, left: int) -> None:
    until(lambda: state(peer, name)["messages"], lambda count: count == left)


# Markers in copies


@pytest.mark.parametrize("kind", TARGETS)
def test_a_marker_is_copied_and_rolls_up_where_rollups_are_allowed(pair: Pair, kind: str) -> None:
    def scenario(timed: Timed) -> Any:
        peer = timed.peer
        make(peer, "O", subjects=["o.>"], **SHORT)
        origin = {"mirror": {"name": "O"}} if kind.startswith("m") else {"sources": [{"name": "O"}]}
        make(peer, "C", **origin, **TARGETS[kind])
        publish(peer, "o.1", Nats_TTL="4")  # it is copied before it is over
        publish(peer, "o.2", Nats_TTL="never")
        reached(peer, "C", 3)
        if kind.endswith(("TTLs", "markers")):
            emptied(peer, "C", 2)  # its own timer may be later than the origin's
        return rows(peer, "C", 3)

    found = both(pair, scenario)
    is_kept = kind in ("mirror", "source")
    assert [row[0] for row in found] == ([1, 2, 3] if is_kept else [2, 3])
    assert found[-1][2].startswith(marker("MaxAge", "1m0s").removesuffix("\r\n"))


def test_the_markers_of_the_delete_and_purge_calls_are_copied_too(pair: Pair) -> None:
    """The reference has none."""

    def scenario(timed: Timed) -> Any:
        peer = timed.peer
        make(peer, "O", subjects=["o.>"], **SHORT)
        make(peer, "M", mirror={"name": "O"}, allow_rollup_hdrs=True)
        publish(peer, "o.1", "o.2", "o.3")
        reached(peer, "M", 3)
        peer.ask("STREAM.MSG.DELETE.O", {"seq": 1})
        peer.ask("STREAM.PURGE.O", {"filter": "o.2"})
        return rows(peer, "M", 5 if timed.is_ours else 3)

    theirs, ours = each(pair, scenario)
    assert [row[0] for row in theirs] == [1, 2, 3]
    assert [row[:2] for row in ours] == [(3, "o.3"), (4, "o.1"), (5, "o.2")]
    assert [row[2] for row in ours[1:]] == [marker("Remove", "1m0s"), marker("Purge", "1m0s")]


def test_a_marker_is_renamed_with_its_subject(pair: Pair) -> None:
    def scenario(timed: Timed) -> Any:
        peer = timed.peer
        make(peer, "O", subjects=["o.>"], **SHORT)
        source = {"name": "O", "subject_transforms": [{"src": "o.*", "dest": "p.$1"}]}
        make(peer, "S", sources=[source], allow_rollup_hdrs=True)
        publish(peer, "o.1", Nats_TTL="4")
        return rows(peer, "S", 2)

    assert [row[:2] for row in both(pair, scenario)] == [(2, "p.1")]


def test_a_lifetime_is_raised_to_the_markers_of_a_stream_that_sources_it(pair: Pair) -> None:
    def scenario(timed: Timed) -> Any:
        peer = timed.peer
        make(peer, "O", subjects=["o.>"], allow_msg_ttl=True)
        publish(peer, "o.1", Nats_TTL="20")
        publish(peer, "o.2", Nats_TTL="1h")
        make(peer, "S", sources=[{"name": "O"}], subject_delete_marker_ttl=60 * SECOND)
        return rows(peer, "S", 2)

    first, second = both(pair, scenario)
    assert first[2].endswith("Nats-TTL: 60\r\n\r\n")
    assert "Nats-TTL: 1h\r\n" in second[2]


def test_a_mirror_that_allows_lifetimes_later_counts_them_from_the_stream_timestamp(
    pair: Pair,
) -> None:
    def scenario(timed: Timed) -> Any:
        peer = timed.peer
        make(peer, "O", subjects=["o.>"], allow_msg_ttl=True)
        mirror: dict[str, Any] = {"name": "M", "mirror": {"name": "O"}}
        make(peer, **mirror)
        publish(peer, "o.1", Nats_TTL="2")
        publish(peer, "o.2")
        reached(peer, "M", 2)
        peer.ask("STREAM.UPDATE.M", mirror | {"allow_msg_ttl": True})
        emptied(peer, "M", 1)
        return rows(peer, "M", 2)

    assert [row[0] for row in both(pair, scenario)] == [2]


# Batches with lifetimes, rollups, limits


def test_lifetimes_and_rollups_in_a_batch(pair: Pair) -> None:
    def scenario(timed: Timed) -> Any:
        peer = timed.peer
        fields = {"allow_atomic": True, "allow_msg_ttl": True, "allow_rollup_hdrs": True}
        make(peer, "T", subjects=["t.>"], **fields)
        publish(peer, "t.a", "t.a", "t.b")
        rollup = part(1, "t.a", Nats_Rollup="sub", Nats_TTL="4")
        ends = [part(2, "t.c", Nats_TTL="4"), last(3, "t.c", Nats_TTL="never")]
        answers = played(peer, [rollup, *ends])
        before = rows(peer, "T", 6)
        emptied(peer, "T", 2)
        return answers, before, rows(peer, "T", 6)

    _, before, after = both(pair, scenario)
    assert [row[0] for row in before] == [3, 4, 5, 6]
    assert [row[0] for row in after] == [3, 6]


def test_lifetimes_and_rollups_in_a_batch_with_markers(pair: Pair) -> None:
    def scenario(timed: Timed) -> Any:
        peer = timed.peer
        marked = {"subject_delete_marker_ttl": 4 * SECOND}
        make(peer, "T", subjects=["t.>"], allow_atomic=True, **marked)
        publish(peer, "t.a", "t.a", "t.b")
        rollup = part(1, "t.a", Nats_Rollup="sub", Nats_TTL="1")
        answers = played(peer, [rollup, last(2, "t.c", Nats_TTL="1")])
        before, after = rows(peer, "T", 5), rows(peer, "T", 7)
        emptied(peer, "T", 1)
        return answers, before, after, rows(peer, "T", 7)

    _, before, after, end_ = both(pair, scenario)
    assert all("Nats-TTL: 4\r\n" in row[2] for row in before[1:])  # raised, as outside
    assert [(row[0], row[1]) for row in after] == [(3, "t.b"), (6, "t.a"), (7, "t.c")]
    assert [row[0] for row in end_] == [3]


@pytest.mark.parametrize("ttl", ["abc", "-5", "500ms", "1.5", "9223372036", "0", "0s"])
def test_a_lifetime_in_a_batch_is_refused_as_outside(pair: Pair, ttl: str) -> None:
    """And so are the differences: zero is none, one that ends after all time is refused."""

    def scenario(timed: Timed) -> Any:
        make(timed.peer, "T", subjects=["t.>"], allow_atomic=True, allow_msg_ttl=True)
        answers = played(timed.peer, [part(1, "t.a"), last(2, "t.a", Nats_TTL=ttl)])
        single = timed.peer.play(Pub("t.b", b"x", {"Nats-TTL": ttl}))
        return codes([*answers[1:], single])

    theirs, ours = each(pair, scenario)
    is_zero, is_late = ttl in ("0", "0s"), ttl == "9223372036"
    assert theirs == ([0, 0] if is_late else [10165, 10165])
    assert ours == ([0, 0] if is_zero else [10165, 10165])


@pytest.mark.parametrize("storage", ["file", "memory"])
def test_a_batch_where_both_the_stream_and_its_subjects_are_bounded(
    pair: Pair, storage: str
) -> None:
    bounds = {"discard": "new", "discard_new_per_subject": True}
    bounds |= {"max_msgs": 4, "max_msgs_per_subject": 1}
    batches = ("ab", "ac", "cc", "cde", "cd", "e", "a")

    def scenario(peer: Peer) -> Any:
        make(peer, "T", subjects=["t.>"], storage=storage, allow_atomic=True, **bounds)
        sent = [whole(*(Pub(f"t.{one}") for one in subjects)) for subjects in batches]
        return [played(peer, steps)[-1] for steps in sent], rows(peer, "T", 4)

    answers, found = same(pair, scenario)
    assert codes(answers) == [0, 10077, 10077, 10077, 0, 10077, 10077]
    assert [row[1] for row in found] == ["t.a", "t.b", "t.c", "t.d"]


# Batches and counters in copies


def test_a_refused_batch_is_copied_nowhere(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "O", subjects=["o.>"], allow_atomic=True)
        make(peer, "M", mirror={"name": "O"})
        wrong = {"Nats_Expected_Last_Sequence": "7"}
        answers = played(peer, [part(1, "o.a"), last(2, "o.a", **wrong), part(1, "o.a", batch="c")])
        publish(peer, "o.z")
        return answers, rows(peer, "M", 1)

    assert [row[1] for row in same(pair, scenario)[1]] == ["o.z"]


def test_a_batch_of_counters_counts_in_every_copy(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "O", subjects=["o.>"], allow_atomic=True, allow_msg_counter=True)
        make(peer, "M", mirror={"name": "O"})
        make(peer, "C", sources=[{"name": "O"}], allow_msg_counter=True)
        make(peer, "D", sources=[{"name": "M"}], allow_msg_counter=True)
        steps = [part(number, "o.a", b"", Nats_Incr=f"+{number}") for number in (1, 2)]
        answers = played(peer, [*steps, last(3, "o.a", b"", Nats_Incr="+4")])
        return answers, [rows(peer, name, 3) for name in "MCD"]

    _, copies = same(pair, scenario)
    for found in copies:
        assert [row[3] for row in found] == ['{"val":"1"}', '{"val":"3"}', '{"val":"7"}']


def test_a_refused_batch_of_counters_leaves_the_value(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "T", subjects=["t.>"], allow_atomic=True, allow_msg_counter=True)
        add = {"Nats_Incr": "+5"}
        steps = [last(1, "t.a", b"", **add), part(1, "t.a", b"", **add)]
        steps += [last(2, "t.a", b"", Nats_Incr="x"), part(1, "t.a", b"", **add), end(3)]
        answers = played(peer, [*steps, last(1, "t.a", b"", **add)])
        return answers, rows(peer, "T", 2)

    answers, found = same(pair, scenario)
    assert codes(answers) == [0, 0, 10171, 0, 10176, 0]
    assert found[-1][3] == '{"val":"10"}'


def test_a_rollup_of_everything_in_a_batch_is_one_in_a_mirror(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "O", subjects=["o.>"], allow_rollup_hdrs=True, allow_atomic=True)
        make(peer, "M", mirror={"name": "O"}, allow_rollup_hdrs=True)
        publish(peer, "o.1", "o.2")
        reached(peer, "M", 2)
        answers = played(peer, [part(1, "o.a", Nats_Rollup="all"), last(2, "o.b")])
        return answers, rows(peer, "M", 4)

    assert [row[:2] for row in same(pair, scenario)[1]] == [(3, "o.a"), (4, "o.b")]


def test_copies_are_republished(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "O", subjects=["o.>"], allow_atomic=True)
        played(peer, whole(Pub("o.1"), Pub("o.2"), Pub("o.1")))
        peer.play(Listen("r.>"))
        make(peer, "M", mirror={"name": "O"}, republish={"src": ">", "dest": "r.>"})
        return peer.play(Heard(3))

    assert [subject for subject, *_ in same(pair, scenario)] == ["r.o.1", "r.o.2", "r.o.1"]


def test_messages_of_a_batch_are_deleted_one_by_one(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "T", subjects=["t.>"], allow_atomic=True)
        answers = played(peer, whole(Pub("t.a"), Pub("t.b"), Pub("t.c")))
        for body in ({"seq": 2}, {"seq": 2}, {"seq": 1, "no_erase": True}):
            answers.append(peer.ask("STREAM.MSG.DELETE.T", body))
        return answers, rows(peer, "T", 3)

    assert [row[0] for row in same(pair, scenario)[1]] == [3]
