"""Mirrors and sources that change: promoted, asked for something else, with origins made anew."""

from typing import Any

import pytest

from tests.parity.batch_steps import last, part
from tests.parity.copying import (
    change,
    make,
    origins,
    pair,
    publish,
    reached,
    rows,
    same,
    servers,
    state,
    until,
)
from tests.parity.numbered import Pub
from tests.parity.streams_peer import Api, Pair, Peer, err_code

__all__ = ["pair", "servers"]  # fixtures

SECOND = 1_000_000_000


def origin(peer: Peer, count: int = 5, name: str = "O", **fields: Any) -> None:
    prefix = name.lower()
    make(peer, name, subjects=[f"{prefix}.>"], **fields)
    publish(peer, *(f"{prefix}.{number % 3}" for number in range(count)))


def mirrored(peer: Peer, **fields: Any) -> None:
    """A mirror M that has all of its origin."""
    origin(peer, **fields)
    make(peer, "M", mirror={"name": "O"})
    reached(peer, "M", 5)


def figures(peer: Peer, name: str) -> tuple[int, int, int]:
    found = state(peer, name)
    return found["first_seq"], found["last_seq"], found["messages"]


def subjects_of(found: list[tuple[int, str, str, str]]) -> list[str]:
    return [row[1] for row in found]


# Promotion


@pytest.mark.parametrize("fields", [{}, {"subjects": ["m.>"]}, {"mirror_direct": True}], ids=str)
def test_a_promoted_mirror_is_a_stream_like_others(pair: Pair, fields: dict[str, Any]) -> None:
    """With the subjects, the duplicate window and the direct reads that a stream has."""

    def scenario(peer: Peer) -> Any:
        mirrored(peer, allow_direct=True)
        updated = change(peer, "M", **fields)
        publish(peer, "m.own" if "subjects" in fields else "M")
        return updated, rows(peer, "M", 6)

    updated, found = same(pair, scenario)
    assert "mirror" not in updated
    assert updated["config"]["duplicate_window"] == 120 * SECOND
    assert len(found) == 6


def test_a_promoted_mirror_takes_the_subjects_that_its_origin_has_given_up(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        mirrored(peer)
        wanted = {"name": "M", "subjects": ["o.>"]}
        refused = peer.ask("STREAM.UPDATE.M", wanted)
        still = peer.ask("STREAM.INFO.M")["config"]["mirror"]
        change(peer, "O", subjects=["old.>"])
        change(peer, **wanted)
        publish(peer, "o.new")
        return err_code(refused), still, rows(peer, "M", 6)

    code, still, found = same(pair, scenario)
    assert (code, still, subjects_of(found)[-1]) == (10065, {"name": "O"}, "o.new")


def test_a_promoted_mirror_may_have_sources(pair: Pair) -> None:
    """Its origin too, which is read from the beginning: a mirror's position is not a source's."""

    def scenario(peer: Peer) -> Any:
        mirrored(peer)
        change(peer, "M", sources=[{"name": "O"}])
        publish(peer, "o.later")
        return rows(peer, "M", 11)

    found = same(pair, scenario)
    assert found[5][2] == "NATS/1.0\r\nNats-Stream-Source: O 1 > > o.0\r\n\r\n"
    assert subjects_of(found)[-1] == "o.later"


def test_a_promoted_mirror_may_have_what_mirrors_may_not(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        mirrored(peer)
        change(peer, "M", subjects=["m.>"], allow_atomic=True, subject_delete_marker_ttl=SECOND)
        return [peer.play(step) for step in (part(1, "m.1"), last(2, "m.2"))]

    assert same(pair, scenario)[1] == '{"stream":"M","seq":7,"batch":"b","count":2}'


def test_a_promoted_mirror_does_not_know_the_ids_of_before(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 0)
        publish(peer, "o.1", Nats_Msg_Id="one")
        make(peer, "M", mirror={"name": "O"})
        reached(peer, "M", 1)
        change(peer, "M", subjects=["m.>"])
        once = Pub("m.1", b"x", {"Nats-Msg-Id": "one"})
        return peer.play(once), peer.play(once)

    first, second = same(pair, scenario)
    assert ("duplicate" in first, "duplicate" in second) == (False, True)


def test_a_promoted_mirror_no_longer_empties_a_work_queue(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        mirrored(peer, retention="workqueue")
        until(lambda: state(peer, "O")["messages"], lambda count: count == 0)
        change(peer, "M", subjects=["m.>"])
        # The reference ends the consumer that it copies with after it has answered.
        until(lambda: state(peer, "O")["consumer_count"], lambda count: count == 0)
        publish(peer, "o.1", "o.2")
        return figures(peer, "O"), figures(peer, "M")

    assert same(pair, scenario) == ((6, 7, 2), (1, 5, 5))


def test_a_stream_does_not_become_a_mirror(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        make(peer, "X", subjects=["x.>"])
        return err_code(peer.ask("STREAM.UPDATE.X", {"name": "X", "mirror": {"name": "O"}}))

    assert same(pair, scenario) == 10055


# Sources that are asked for something else


def test_another_filter_is_another_source_and_the_old_one_goes_on_when_it_returns(
    pair: Pair,
) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 6)
        make(peer, "S", sources=[{"name": "O", "filter_subject": "o.1"}])
        reached(peer, "S", 2)
        change(peer, "S", sources=[{"name": "O", "filter_subject": "o.2"}])
        reached(peer, "S", 4)
        publish(peer, "o.1", "o.2")
        reached(peer, "S", 5)
        change(peer, "S", sources=[{"name": "O", "filter_subject": "o.1"}])
        return rows(peer, "S", 6), origins(peer, "S")

    found, _ = same(pair, scenario)
    assert subjects_of(found) == ["o.1", "o.1", "o.2", "o.2", "o.2", "o.1"]


def test_another_start_does_not_move_a_source_that_has_begun(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 6)
        make(peer, "S", sources=[{"name": "O", "opt_start_seq": 5}])
        reached(peer, "S", 2)
        change(peer, "S", sources=[{"name": "O", "opt_start_seq": 1}])
        publish(peer, "o.later")
        return rows(peer, "S", 3)

    assert subjects_of(same(pair, scenario))[-1] == "o.later"


def test_filters_of_two_sources_may_overlap(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 6)
        sources = [{"name": "O", "filter_subject": wanted} for wanted in ("o.1", "o.>")]
        make(peer, "S", sources=sources)
        return sorted(row[1:] for row in rows(peer, "S", 8))

    same(pair, scenario)


def test_a_start_in_the_future_takes_what_is_new(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        late = {"name": "O", "opt_start_time": "2099-01-01T00:00:00Z"}
        make(peer, "S", sources=[late])
        make(peer, "M", mirror=late)
        reached(peer, "M", 5)
        # Only then has the reference looked where the end is.
        until(lambda: peer.ask("STREAM.INFO.S")["sources"][0]["active"], lambda ago: ago >= 0)
        publish(peer, "o.new")
        return reached(peer, "S", 1), reached(peer, "M", 6)

    assert same(pair, scenario) == ((1, 1, 1), (6, 6, 1))


# Streams that refuse


@pytest.mark.parametrize(
    "fields",
    [
        {"discard": "new", "discard_new_per_subject": True, "max_msgs_per_subject": 1},
        {"max_msg_size": 60},
    ],
    ids=str,
)
def test_a_message_that_is_refused_stops_its_source(pair: Pair, fields: dict[str, Any]) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 3)
        make(peer, "S", sources=[{"name": "O"}], **fields)
        reached(peer, "S", 3)
        peer.play(Pub("o.0", b"x" * 100))
        publish(peer, "o.9")
        return reached(peer, "O", 5), figures(peer, "S")

    assert same(pair, scenario) == ((1, 5, 5), (1, 3, 3))
    until(lambda: origins(pair.ours, "S"), lambda shown: "error" in shown[0])
    assert figures(pair.ours, "S") == (1, 3, 3)


def test_a_sealed_stream_takes_no_copies(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        mirrored(peer)
        change(peer, "M", mirror={"name": "O"}, sealed=True)
        publish(peer, "o.later")
        return figures(peer, "M")

    assert same(pair, scenario) == (1, 5, 5)


def test_a_sealed_stream_is_copied(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        change(peer, "O", subjects=["o.>"], sealed=True)
        make(peer, "M", mirror={"name": "O"})
        make(peer, "S", sources=[{"name": "O"}])
        return reached(peer, "M", 5), reached(peer, "S", 5)

    assert same(pair, scenario) == ((1, 5, 5), (1, 5, 5))


def test_longer_circles_are_refused_too(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "A", sources=[{"name": "B"}], subjects=["a.>"])
        make(peer, "B", sources=[{"name": "C"}], subjects=["b.>"])
        closing = [
            {"subjects": ["c.>"], "sources": [{"name": "A"}]},
            {"mirror": {"name": "A"}},
            {"subjects": ["c.>"], "sources": [{"name": "A", "filter_subject": "other"}]},
        ]
        answers = [peer.ask("STREAM.CREATE.C", {"name": "C", **fields}) for fields in closing]
        make(peer, "D", subjects=["d.>"])
        make(peer, "E", subjects=["e.>"], sources=[{"name": "D"}])
        for name in ("D", "E"):
            wanted = {"name": "D", "subjects": ["d.>"], "sources": [{"name": name}]}
            answers.append(peer.ask("STREAM.UPDATE.D", wanted))
        return [answer["error"] for answer in answers]

    for error in same(pair, scenario):
        assert (error["err_code"], error["description"]) == (10052, "detected cycle")


# Origins


def test_an_origin_made_anew_with_higher_sequences_leaves_a_gap_in_its_mirror(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        mirrored(peer)
        peer.ask("STREAM.DELETE.O")
        origin(peer, 3, first_seq=10)
        return rows(peer, "M", 12), figures(peer, "M")

    found, shown = same(pair, scenario)
    assert [row[0] for row in found] == [1, 2, 3, 4, 5, 10, 11, 12]
    assert shown == (1, 12, 8)


def test_a_mirror_answers_direct_reads_for_an_origin_that_stops_to(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        mirrored(peer, allow_direct=True)
        own = [peer.play(Api("DIRECT.GET.M", {"seq": 1})), peer.play(Api("DIRECT.GET.M.o.1"))]
        change(peer, "O", subjects=["o.>"], allow_direct=False)
        shown = peer.ask("STREAM.INFO.M")["config"]["mirror_direct"]
        return own, shown, peer.play(Api("DIRECT.GET.O", {"seq": 2}))

    own, shown, answer = same(pair, scenario)
    assert all("503" in headers for _, headers, _ in own)  # those are for allow_direct
    assert shown is True
    assert "Nats-Stream: M\r\n" in answer[1]


def test_mirror_direct_is_the_origins_allow_direct_if_that_is_known(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        answers = [
            make(peer, "M", mirror={"name": "O"}, mirror_direct=True),
            make(peer, "N", mirror={"name": "NOBODY"}, mirror_direct=True),
            make(peer, "P", mirror={"name": "M"}),
        ]
        return [answer["config"]["mirror_direct"] for answer in answers]

    assert same(pair, scenario) == [False, True, False]


def test_a_source_is_interest_in_what_its_filter_matches(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "O", subjects=["o.>"], retention="interest")
        make(peer, "S", sources=[{"name": "O", "filter_subject": "o.1"}])
        until(lambda: peer.ask("STREAM.INFO.S")["sources"][0]["active"], lambda ns: ns >= 0)
        publish(peer, "o.1", "o.2", "o.1")
        found = rows(peer, "S", 2)
        until(lambda: state(peer, "O")["messages"], lambda count: count == 0)
        return subjects_of(found), figures(peer, "O")

    assert same(pair, scenario) == (["o.1", "o.1"], (4, 3, 0))


def test_a_work_queue_with_a_source_and_a_consumer_for_the_rest(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "O", subjects=["o.>"], retention="workqueue")
        config = {"durable_name": "c", "name": "c", "filter_subject": "o.2"}
        request = {"stream_name": "O", "config": config | {"ack_policy": "explicit"}}
        assert "error" not in peer.ask("CONSUMER.CREATE.O.c.o.2", request)
        make(peer, "S", sources=[{"name": "O", "filter_subject": "o.1"}])
        publish(peer, "o.1", "o.2", "o.1")
        found = rows(peer, "S", 2)
        until(lambda: state(peer, "O")["messages"], lambda count: count == 1)
        return subjects_of(found), rows(peer, "O", 3)

    found, left = same(pair, scenario)
    assert (found, subjects_of(left)) == (["o.1", "o.1"], ["o.2"])


@pytest.mark.parametrize("kind", ["mirror", "source"])
def test_a_work_queue_keeps_what_lies_before_the_start_of_a_copy(pair: Pair, kind: str) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, retention="workqueue")
        start = {"name": "O", "opt_start_seq": 4}
        make(peer, "C", **({"mirror": start} if kind == "mirror" else {"sources": [start]}))
        left = until(lambda: state(peer, "O")["messages"], lambda count: count <= 3)
        return left, rows(peer, "O", 5)

    assert same(pair, scenario)[0] == 3
