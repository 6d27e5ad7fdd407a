"""Sources: what both servers do with the messages of other streams."""

from typing import Any

from tests.parity.copying import (
    change,
    make,
    message,
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
from tests.parity.streams_peer import Pair, Peer, Pipelined, err_code

__all__ = ["pair", "servers"]  # fixtures

SECOND = 1_000_000_000


def origin(peer: Peer, count: int = 5, name: str = "O", **fields: Any) -> None:
    prefix = name.lower()
    make(peer, name, subjects=[f"{prefix}.>"], **fields)
    publish(peer, *(f"{prefix}.{number % 3}" for number in range(count)))


def test_a_sourced_message_says_where_it_comes_from(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        publish(peer, "o.h", A="b", Nats_Expected_Last_Sequence="5", Nats_Msg_Id="1")
        peer.ask("STREAM.MSG.DELETE.O", {"seq": 2})
        make(peer, "S", sources=[{"name": "O"}])
        return rows(peer, "S", 5), reached(peer, "S", 5), origins(peer, "S")

    found, _, shown = same(pair, scenario)
    assert found[0][2] == "NATS/1.0\r\nNats-Stream-Source: O 1 > > o.0\r\n\r\n"
    assert shown == [{"name": "O", "lag": 0, "seq": 6}]


def test_a_stream_has_sources_and_subjects_of_its_own(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 2)
        make(peer, "S", subjects=["s.>"], sources=[{"name": "O"}])
        reached(peer, "S", 2)
        publish(peer, "s.own")
        publish(peer, "o.later")
        return rows(peer, "S", 4)

    same(pair, scenario)


def test_several_sources_come_together(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 3)
        origin(peer, 3, "P")
        make(peer, "S", sources=[{"name": "O"}, {"name": "P"}])
        found = rows(peer, "S", 6)
        return sorted(row[1:] for row in found), origins(peer, "S")

    same(pair, scenario)


def test_a_source_begins_at_a_sequence_or_at_a_time(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        third = message(peer, "O", 3)
        assert third is not None
        make(peer, "A", sources=[{"name": "O", "opt_start_seq": 3}])
        make(peer, "B", sources=[{"name": "O", "opt_start_time": third["time"]}])
        return rows(peer, "A", 3), rows(peer, "B", 3)

    same(pair, scenario)


def test_a_source_takes_what_its_filter_matches(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 7)
        make(peer, "S", sources=[{"name": "O", "filter_subject": "o.1"}])
        return rows(peer, "S", 2), origins(peer, "S")

    assert "Nats-Stream-Source: O 2 o.1 > o.1\r\n" in same(pair, scenario)[0][0][2]


def test_several_transforms_filter_and_rename(pair: Pair) -> None:
    transforms = [
        {"src": "o.1", "dest": "one"},
        {"src": "o.2", "dest": ""},
        {"src": "o.0", "dest": "zero.{{partition(5)}}"},
    ]

    def scenario(peer: Peer) -> Any:
        origin(peer, 7)
        make(peer, "S", sources=[{"name": "O", "subject_transforms": transforms}])
        return rows(peer, "S", 7), origins(peer, "S")

    same(pair, scenario)


def test_many_subjects_are_renamed(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "O", subjects=["o.>"])
        many = [Pub(f"o.{number % 700}.x", b"%d" % number) for number in range(1500)]
        peer.play(Pipelined(many))
        transforms = [{"src": "o.*.x", "dest": "p.$1.{{partition(10,1)}}"}]
        make(peer, "S", sources=[{"name": "O", "subject_transforms": transforms}])
        reached(peer, "S", 1500)
        found = peer.ask("STREAM.INFO.S", {"subjects_filter": ">"})
        return found["state"]["subjects"], rows(peer, "S", 1500)[::100]

    same(pair, scenario)


def test_one_stream_may_be_two_sources_if_they_differ(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 6)
        sources = [
            {"name": "O", "filter_subject": "o.1"},
            {"name": "O", "subject_transforms": [{"src": "o.2", "dest": "two"}]},
        ]
        make(peer, "S", sources=sources)
        twice = peer.ask("STREAM.CREATE.T", {"name": "T", "sources": [sources[0], sources[0]]})
        return sorted(row[1:] for row in rows(peer, "S", 4)), err_code(twice)

    assert same(pair, scenario)[1] == 10140


def test_the_streams_own_transform_comes_after_the_sources(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 3)
        sources = [{"name": "O", "subject_transforms": [{"src": "o.*", "dest": "p.$1"}]}]
        make(peer, "S", sources=sources, subject_transform={"src": "p.*", "dest": "q.$1"})
        return rows(peer, "S", 3)

    assert [row[1] for row in same(pair, scenario)] == ["q.0", "q.1", "q.2"]


def test_sources_form_a_chain_and_the_header_names_the_last_link(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 3)
        make(peer, "A", sources=[{"name": "O"}])
        make(peer, "B", sources=[{"name": "A"}])
        return rows(peer, "B", 3)

    assert same(pair, scenario)[0][2] == "NATS/1.0\r\nNats-Stream-Source: A 1 > > o.0\r\n\r\n"


def test_a_source_may_be_a_mirror(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 3)
        make(peer, "M", mirror={"name": "O"})
        make(peer, "S", sources=[{"name": "M"}])
        return rows(peer, "S", 3)

    same(pair, scenario)


def test_a_circle_of_sources_is_refused(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "A", sources=[{"name": "B"}])
        return err_code(peer.ask("STREAM.CREATE.B", {"name": "B", "sources": [{"name": "A"}]}))

    assert same(pair, scenario) == 10052


def test_with_a_duplicate_window_sourced_duplicates_are_left_out(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        for name in ("O", "P"):
            origin(peer, 0, name)
            publish(peer, f"{name.lower()}.1", Nats_Msg_Id="same")
            publish(peer, f"{name.lower()}.2", Nats_Msg_Id=f"other {name}")
        sources = [{"name": "O"}, {"name": "P"}]
        make(peer, "S", sources=sources, duplicate_window=60 * SECOND)
        make(peer, "T", sources=sources)
        return reached(peer, "S", 3), reached(peer, "T", 4)

    assert same(pair, scenario) == ((1, 3, 3), (1, 4, 4))


def test_a_source_waits_while_the_stream_is_full_and_discards_new(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        make(peer, "S", sources=[{"name": "O"}], max_msgs=2, discard="new")
        full = reached(peer, "S", 2)
        peer.ask("STREAM.MSG.DELETE.S", {"seq": 1})
        return full, reached(peer, "S", 3), rows(peer, "S", 3)

    same(pair, scenario)


def test_rollups_and_limits_of_the_stream_apply_to_what_is_sourced(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 6, allow_rollup_hdrs=True)
        make(peer, "S", sources=[{"name": "O"}], max_msgs_per_subject=1)
        make(peer, "T", sources=[{"name": "O"}], allow_rollup_hdrs=True)
        reached(peer, "S", 6)
        reached(peer, "T", 6)
        publish(peer, "o.1", Nats_Rollup="all")
        return rows(peer, "S", 7), rows(peer, "T", 7)

    same(pair, scenario)


def test_what_is_purged_from_the_stream_does_not_come_again(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        make(peer, "S", sources=[{"name": "O"}])
        reached(peer, "S", 5)
        peer.ask("STREAM.PURGE.S")
        publish(peer, "o.later")
        return rows(peer, "S", 6), reached(peer, "S", 6)

    same(pair, scenario)


def test_a_source_is_added_by_an_update(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 2)
        origin(peer, 2, "P")
        make(peer, "S", sources=[{"name": "O"}])
        reached(peer, "S", 2)
        change(peer, "S", sources=[{"name": "O"}, {"name": "P"}])
        return rows(peer, "S", 4), origins(peer, "S")

    same(pair, scenario)


def test_a_source_that_returns_goes_on_where_it_was(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 2)
        make(peer, "S", subjects=["s"], sources=[{"name": "O"}])
        reached(peer, "S", 2)
        change(peer, "S", subjects=["s"])
        publish(peer, "o.meanwhile", "s")
        assert reached(peer, "S", 3) == (1, 3, 3)
        assert origins(peer, "S") == []
        change(peer, "S", subjects=["s"], sources=[{"name": "O"}])
        return rows(peer, "S", 4)

    same(pair, scenario)


def test_a_stream_that_is_made_anew_is_read_from_its_beginning(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        make(peer, "S", sources=[{"name": "O"}])
        reached(peer, "S", 5)
        peer.ask("STREAM.DELETE.O")
        make(peer, "O", subjects=["o.>"])
        publish(peer, "o.new1", "o.new2")
        return rows(peer, "S", 7)

    same(pair, scenario)


def test_an_origin_that_is_not_there_is_told_and_awaited(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        answer = make(peer, "S", sources=[{"name": "O"}])
        assert answer["sources"] == [{"name": "O", "lag": 0, "active": -1}]
        return until(lambda: origins(peer, "S"), lambda shown: "error" in shown[0])

    assert same(pair, scenario)[0]["error"]["err_code"] == 10059
    for peer in (pair.ours, pair.reference):
        origin(peer)
    assert rows(pair.ours, "S", 5) == rows(pair.reference, "S", 5)


def test_a_work_queue_is_emptied_by_what_is_taken_from_it(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 7, retention="workqueue")
        make(peer, "S", sources=[{"name": "O", "filter_subject": "o.1"}])
        found = rows(peer, "S", 2)
        left = until(lambda: state(peer, "O")["messages"], lambda count: count == 5)
        return found, left, rows(peer, "O", 7)

    assert same(pair, scenario)[1] == 5


def test_into_a_work_queue(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        make(peer, "S", sources=[{"name": "O"}], retention="workqueue")
        return rows(peer, "S", 5)

    same(pair, scenario)


def test_a_client_cannot_forge_where_a_message_comes_from(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        make(peer, "S", subjects=["s"], sources=[{"name": "O"}])
        reached(peer, "S", 5)
        forged = peer.play(Pub("s", b"x", {"Nats-Stream-Source": "O 9 > > o.1"}))
        publish(peer, "o.later")
        return err_code(forged), rows(peer, "S", 6)

    assert same(pair, scenario)[0] == 10227
