"""Mirrors: what both servers do with the messages of another stream."""

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
    times,
    until,
)
from tests.parity.streams_peer import Api, Pair, Peer, err_code

__all__ = ["pair", "servers"]  # fixtures


def origin(peer: Peer, count: int = 5, **fields: Any) -> None:
    make(peer, "O", subjects=["o.>"], **fields)
    publish(peer, *(f"o.{number % 3}" for number in range(count)))


def test_a_mirror_has_the_sequences_times_subjects_and_bodies_of_its_origin(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        publish(peer, "o.h", A="b", Nats_Msg_Id="1")
        make(peer, "M", mirror={"name": "O"})
        publish(peer, "o.later")
        found = rows(peer, "M", 7)
        assert found == rows(peer, "O", 7)
        assert times(peer, "M", 7) == times(peer, "O", 7)
        assert state(peer, "M")["bytes"] == state(peer, "O")["bytes"]
        return found, origins(peer, "M")

    same(pair, scenario)


def test_what_the_origin_has_lost_is_skipped(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 8)
        for sequence in (1, 4, 5):
            peer.ask("STREAM.MSG.DELETE.O", {"seq": sequence})
        make(peer, "M", mirror={"name": "O"})
        return rows(peer, "M", 8), reached(peer, "M", 8), state(peer, "M").get("num_deleted")

    same(pair, scenario)


def test_what_is_removed_from_the_origin_later_stays_in_the_mirror(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        make(peer, "M", mirror={"name": "O"})
        reached(peer, "M", 5)
        peer.ask("STREAM.PURGE.O")
        publish(peer, "o.after")
        return rows(peer, "M", 6), reached(peer, "O", 6)

    same(pair, scenario)


def test_a_mirror_of_a_stream_that_begins_late_begins_there(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "O", subjects=["o.>"], first_seq=1000)
        make(peer, "M", mirror={"name": "O"})
        empty = reached(peer, "M", 999)
        publish(peer, "o.a", "o.b")
        return empty, reached(peer, "M", 1001)

    same(pair, scenario)


def test_a_mirror_of_a_purged_stream_begins_behind_it(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        peer.ask("STREAM.PURGE.O")
        make(peer, "M", mirror={"name": "O"})
        return reached(peer, "M", 5)

    same(pair, scenario)


def test_a_mirror_begins_at_a_sequence_or_at_a_time(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        third = message(peer, "O", 3)
        assert third is not None
        make(peer, "A", mirror={"name": "O", "opt_start_seq": 3})
        make(peer, "B", mirror={"name": "O", "opt_start_time": third["time"]})
        make(peer, "C", mirror={"name": "O", "opt_start_seq": 9})
        found = [rows(peer, name, 5) for name in ("A", "B")]
        return found, reached(peer, "A", 5), reached(peer, "B", 5), reached(peer, "C", 8)

    same(pair, scenario)


def test_a_mirror_takes_what_its_filter_matches(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 7)
        make(peer, "M", mirror={"name": "O", "filter_subject": "o.1"})
        found = rows(peer, "M", 5)
        publish(peer, "o.2", "o.1")
        return found, rows(peer, "M", 9), reached(peer, "M", 9), origins(peer, "M")

    same(pair, scenario)


def test_several_subject_transforms_filter_and_rename(pair: Pair) -> None:
    transforms = [{"src": "o.1", "dest": "one"}, {"src": "o.2", "dest": ""}]

    def scenario(peer: Peer) -> Any:
        origin(peer, 7)
        make(peer, "M", mirror={"name": "O", "subject_transforms": transforms})
        return rows(peer, "M", 6), origins(peer, "M")

    same(pair, scenario)


def test_the_mirrors_own_transform_and_republish_apply(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 3)
        transform = {"src": "o.*", "dest": "m.$1"}
        make(peer, "M", mirror={"name": "O"}, subject_transform=transform)
        return rows(peer, "M", 3)

    same(pair, scenario)


def test_the_limits_of_a_mirror_are_its_own(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 9)
        make(peer, "A", mirror={"name": "O"}, max_msgs=2)
        make(peer, "B", mirror={"name": "O"}, max_msgs_per_subject=1)
        return reached(peer, "A", 9), reached(peer, "B", 9)

    same(pair, scenario)


def test_a_mirror_that_is_full_and_discards_new_waits(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        make(peer, "M", mirror={"name": "O"}, max_msgs=2, discard="new")
        return reached(peer, "M", 2)

    assert same(pair, scenario) == (1, 2, 2)
    assert origins(pair.ours, "M")[0]["error"]["err_code"] == 10077
    pair.ours.ask("STREAM.MSG.DELETE.M", {"seq": 1})
    assert reached(pair.ours, "M", 3) == (2, 3, 2)


def test_a_rollup_of_the_origin_is_one_in_a_mirror_that_allows_it(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, allow_rollup_hdrs=True)
        make(peer, "M", mirror={"name": "O"}, allow_rollup_hdrs=True)
        make(peer, "N", mirror={"name": "O"})
        reached(peer, "M", 5)
        reached(peer, "N", 5)
        publish(peer, "o.1", Nats_Rollup="sub")
        found = rows(peer, "M", 6), rows(peer, "N", 6)
        publish(peer, "o.2", Nats_Rollup="all")
        return found, rows(peer, "M", 7), rows(peer, "N", 7)

    same(pair, scenario)


def test_what_was_expected_of_the_origin_is_not_expected_of_the_mirror(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, 0)
        publish(peer, "o.1", Nats_Expected_Last_Sequence="0", A="b")
        publish(peer, "o.1", Nats_Expected_Stream="O")
        publish(peer, "o.1", Nats_Expected_Last_Subject_Sequence="2", B="c")
        make(peer, "M", mirror={"name": "O"})
        return rows(peer, "M", 3)

    assert [headers for _, _, headers, _ in same(pair, scenario)] == [
        "NATS/1.0\r\nA: b\r\n\r\n",
        "",
        "NATS/1.0\r\nB: c\r\n\r\n",
    ]


def test_a_mirror_of_a_mirror(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        make(peer, "M", mirror={"name": "O"})
        reached(peer, "M", 5)
        make(peer, "N", mirror={"name": "M"})
        publish(peer, "o.later")
        assert times(peer, "N", 6) == times(peer, "O", 6) or reached(peer, "N", 6)
        return rows(peer, "N", 6)

    same(pair, scenario)


def test_streams_in_a_circle_are_refused(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "A", mirror={"name": "B"})
        one = peer.ask("STREAM.CREATE.B", {"name": "B", "mirror": {"name": "A"}})
        two = peer.ask("STREAM.CREATE.C", {"name": "C", "mirror": {"name": "C"}})
        return err_code(one), err_code(two)

    assert same(pair, scenario) == (10052, 10052)


def test_an_origin_that_is_not_there_is_told_and_awaited(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        answer = make(peer, "M", mirror={"name": "O"})
        assert answer["mirror"] == {"name": "O", "lag": 0, "active": -1}
        return until(lambda: origins(peer, "M"), lambda shown: "error" in shown[0])

    assert same(pair, scenario)[0]["error"]["err_code"] == 10059
    for peer in (pair.ours, pair.reference):
        origin(peer)
    assert rows(pair.ours, "M", 5) == rows(pair.reference, "M", 5)
    assert origins(pair.ours, "M") == origins(pair.reference, "M")


def test_a_mirror_outlives_its_origin(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        make(peer, "M", mirror={"name": "O"})
        reached(peer, "M", 5)
        peer.ask("STREAM.DELETE.O")
        return rows(peer, "M", 5)

    same(pair, scenario)
    assert origins(pair.ours, "M")[0]["error"]["err_code"] == 10059


def test_a_mirror_goes_on_where_it_was_when_its_origin_is_made_anew(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        make(peer, "M", mirror={"name": "O"})
        reached(peer, "M", 5)
        peer.ask("STREAM.DELETE.O")
        make(peer, "O", subjects=["o.>"])
        publish(peer, *(f"o.new{number}" for number in range(7)))
        return rows(peer, "M", 7)

    same(pair, scenario)


def test_what_is_removed_from_a_mirror_does_not_come_again(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        make(peer, "M", mirror={"name": "O"})
        reached(peer, "M", 5)
        peer.ask("STREAM.MSG.DELETE.M", {"seq": 3})
        deleted = rows(peer, "M", 5)
        peer.ask("STREAM.PURGE.M")
        publish(peer, "o.later")
        return deleted, rows(peer, "M", 6), reached(peer, "M", 6)

    same(pair, scenario)


def test_without_its_mirror_a_stream_is_promoted(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        make(peer, "M", mirror={"name": "O"})
        reached(peer, "M", 5)
        change(peer, "M", subjects=["m.>"])
        publish(peer, "m.own")
        publish(peer, "o.later")
        back = peer.ask("STREAM.UPDATE.M", {"name": "M", "mirror": {"name": "O"}})
        return rows(peer, "M", 6), origins(peer, "M"), err_code(back)

    assert same(pair, scenario)[2] == 10055


def test_another_mirror_is_no_update(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        make(peer, "M", mirror={"name": "O"})
        answers = [
            peer.ask("STREAM.UPDATE.M", {"name": "M", "mirror": mirror})
            for mirror in ({"name": "P"}, {"name": "O", "filter_subject": "o.1"})
        ]
        return [err_code(answer) for answer in answers]

    assert same(pair, scenario) == [10055, 10055]


def test_a_mirror_answers_direct_reads_for_its_origin(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, allow_direct=True)
        answer = make(peer, "M", mirror={"name": "O"})
        reached(peer, "M", 5)
        peer.ask("STREAM.DELETE.O")
        found = until(
            lambda: str(peer.play(Api("DIRECT.GET.O", {"seq": 4}))),
            lambda text: "Nats-Stream" in text,
        )
        return answer["config"]["mirror_direct"], found.replace("O\\r\\n", "M\\r\\n")

    same(pair, scenario)


def test_consumers_of_a_mirror_are_told_of_copies(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        peer.ask("STREAM.MSG.DELETE.O", {"seq": 2})
        make(peer, "M", mirror={"name": "O"})
        config = {"durable_name": "c", "ack_policy": "explicit", "filter_subject": "o.1"}
        peer.ask("CONSUMER.CREATE.M.c.o.1", {"stream_name": "M", "config": config | {"name": "c"}})
        publish(peer, "o.1", "o.2", "o.1")
        reached(peer, "M", 8)
        found = until(
            lambda: peer.ask("CONSUMER.INFO.M.c")["num_pending"], lambda count: count == 3
        )
        assert found == 3
        return found

    same(pair, scenario)


def test_a_work_queue_is_emptied_by_its_mirror(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer, retention="workqueue")
        make(peer, "M", mirror={"name": "O"})
        found = rows(peer, "M", 5)
        left = until(lambda: state(peer, "O")["messages"], lambda count: count == 0)
        return found, left

    assert same(pair, scenario)[1] == 0


def test_a_mirror_is_interest(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "O", subjects=["o.>"], retention="interest")
        publish(peer, "o.nobody")
        make(peer, "M", mirror={"name": "O"})
        reached(peer, "M", 1)
        until(lambda: origins(peer, "M"), lambda shown: "error" not in shown[0])
        publish(peer, "o.1", "o.2")
        found = rows(peer, "M", 3)
        left = until(lambda: state(peer, "O")["messages"], lambda count: count == 0)
        return found, left

    assert same(pair, scenario)[1] == 0


def test_with_interest_a_message_stays_until_consumers_and_mirror_are_done(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "O", subjects=["o.>"], retention="interest")
        config = {"durable_name": "c", "ack_policy": "explicit"}
        peer.ask("CONSUMER.DURABLE.CREATE.O.c", {"stream_name": "O", "config": config})
        make(peer, "M", mirror={"name": "O"})
        publish(peer, "o.1", "o.2")
        reached(peer, "M", 2)
        return rows(peer, "M", 2), state(peer, "O")["messages"]

    assert same(pair, scenario)[1] == 2


def test_into_an_interest_stream_nothing_is_kept_that_nobody_wants(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        make(peer, "M", mirror={"name": "O"}, retention="interest")
        return reached(peer, "M", 5)

    assert same(pair, scenario) == (6, 5, 0)


def test_a_mirror_in_memory_of_a_stream_in_files_and_the_other_way_round(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        origin(peer)
        make(peer, "M", mirror={"name": "O"}, storage="memory")
        make(peer, "P", subjects=["p.>"], storage="memory")
        publish(peer, "p.1", "p.2")
        make(peer, "N", mirror={"name": "P"})
        return rows(peer, "M", 5), rows(peer, "N", 2)

    same(pair, scenario)
