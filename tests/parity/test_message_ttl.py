"""Message TTL and delete markers beyond what ADR-43 says (`tests/specs`), on both servers."""

from typing import Any

import pytest

from tests.parity.copying import pair, servers
from tests.parity.numbered import Pub
from tests.parity.publish_cases import EXPECTED_SUBJECT, ID, ROLLUP
from tests.parity.stream_api_cases import get, info, purge, removed, updated
from tests.parity.streams_peer import Api, Heard, Listen, Pair, err_code
from tests.parity.ttl_peer import SECOND, Timed, both, each, marker

INVALID = 10165

__all__ = ["pair", "servers"]  # fixtures


@pytest.mark.parametrize("ttl", ["9223372036", "9223372037", "99999999999999999999"])
def test_a_ttl_beyond_all_time_is_an_error(pair: Pair, ttl: str) -> None:
    """The reference takes it, and the message is gone at once."""

    def scenario(timed: Timed) -> Any:
        timed.make()
        return timed.refusal(ttl)

    assert each(pair, scenario) == (0, INVALID)


def test_an_expired_message_is_one_that_is_not_there(pair: Pair) -> None:
    """For reads, for what its subject expects, for what the stream holds; its id stays known."""

    def scenario(timed: Timed) -> Any:
        timed.make(allow_direct=True)
        timed.say(ttl="1", headers={ID: "one"})
        timed.say("t.b")
        timed.wait_messages(1)
        return [
            timed.peer.play(step)
            for step in (
                get(seq=1),
                get(last_by_subj="t.a"),
                info(subjects_filter=">", deleted_details=True),
                Pub("$JS.API.DIRECT.GET.T.t.a", b""),
                Pub("t.a", b"again", {ID: "one"}),
                Pub("t.a", b"new", {EXPECTED_SUBJECT: "0"}),
            )
        ]

    *_, again, new = both(pair, scenario)
    assert "duplicate" in again
    assert new == '{"stream":"T","seq":3}'


def test_a_sealed_stream_lets_go_of_what_is_over(pair: Pair) -> None:
    def scenario(timed: Timed) -> Any:
        timed.make()
        timed.say(ttl="1")
        timed.say()
        timed.peer.play(updated(allow_msg_ttl=True, sealed=True))
        timed.wait_messages(1)
        return timed.rows()

    assert [row[0] for row in both(pair, scenario)] == [2]


def test_what_says_already_that_a_subject_is_empty_leaves_no_marker(pair: Pair) -> None:
    """Markers themselves, and the purges of KV clients."""

    def scenario(timed: Timed) -> Any:
        timed.make(subject_delete_marker_ttl=3 * SECOND)
        timed.say("t.a", ttl="3", headers={"KV-Operation": "PURGE"})
        timed.say("t.b", ttl="3", headers={"Nats-Marker-Reason": "Anything"})
        timed.say("t.c", ttl="3", headers={"KV-Operation": "DEL"})
        timed.say("t.d", ttl="3")
        timed.wait_last(6)
        subjects = [row[1] for row in timed.rows()]
        timed.wait_messages(0)
        return subjects, timed.state()["last_seq"]

    assert both(pair, scenario) == (["t.c", "t.d"], 6)


def test_a_marker_is_republished_and_delivered_to_consumers(pair: Pair) -> None:
    def scenario(timed: Timed) -> Any:
        peer = timed.peer
        timed.make(
            subject_delete_marker_ttl=60 * SECOND,
            max_msgs_per_subject=1,
            republish={"src": "t.>", "dest": "copy.>"},
        )
        timed.say("t.a", ttl="4")  # there is somebody to deliver to before it is over
        peer.play(Listen("deliver"))
        peer.play(Listen("copy.>"))
        config = {"deliver_subject": "deliver", "ack_policy": "none"}
        body = {"stream_name": "T", "config": config}
        assert "error" not in peer.ask("CONSUMER.CREATE.T", body)
        return peer.play(Heard(3, ordered=False))

    heard = both(pair, scenario)
    (copy,) = [message for message in heard if message[0] == "copy.a"]
    told = "Nats-Stream: T\r\nNats-Subject: t.a\r\nNats-Sequence: 2\r\nNats-Time-Stamp: <time>\r\n"
    last = "Nats-Last-Sequence: 1\r\n\r\n"
    assert copy[1] == marker("MaxAge", "1m0s").removesuffix("\r\n") + told + last
    delivered = {message[1:] for message in heard if message[0] == "t.a"}
    message = ("NATS/1.0\r\nNats-TTL: 4\r\n\r\n", "x")
    assert delivered == {message, (marker("MaxAge", "1m0s"), "")}


def test_a_deleted_marker_leaves_nothing(pair: Pair) -> None:
    timed = Timed(pair.ours)
    timed.make(subject_delete_marker_ttl=60 * SECOND)
    timed.say("t.a")
    assert [err_code(pair.ours.play(removed(seq=sequence))) for sequence in (1, 2)] == [0, 0]
    assert timed.rows() == []
    assert timed.state()["last_seq"] == 2


def test_a_marker_of_the_purge_api_is_read_by_consumers(pair: Pair) -> None:
    timed, peer = Timed(pair.ours), pair.ours
    timed.make(subject_delete_marker_ttl=60 * SECOND, republish={"src": ">", "dest": "copy.>"})
    for subject in ("t.a", "t.b"):
        timed.say(subject)
    config = {"durable_name": "C", "ack_policy": "explicit"}
    peer.ask("CONSUMER.DURABLE.CREATE.T.C", {"stream_name": "T", "config": config})
    peer.play(Listen("copy.>"))
    peer.play(Listen("inbox"))
    peer.play(purge(filter="t.a"))
    assert [message[0] for message in peer.play(Heard(1))] == ["copy.t.a"]
    assert peer.ask("CONSUMER.INFO.T.C")["num_pending"] == 2
    peer.play(Pub("$JS.API.CONSUMER.MSG.NEXT.T.C", b"2", acked=False, reply="inbox"))
    got = peer.play(Heard(2))
    assert got == [("t.b", "", "x"), ("t.a", marker("Purge", "1m0s"), "")]


def test_limits_and_rollups_place_no_markers(pair: Pair) -> None:
    def scenario(timed: Timed) -> Any:
        timed.make(subject_delete_marker_ttl=60 * SECOND, max_msgs=2)
        for subject in ("t.a", "t.b", "t.c"):
            timed.say(subject)
        timed.say("t.d", headers={ROLLUP: "all"})
        return timed.rows()

    assert [row[:2] for row in both(pair, scenario)] == [(4, "t.d")]


def test_ttls_enabled_later_hold_for_what_comes_then(pair: Pair) -> None:
    def scenario(timed: Timed) -> Any:
        timed.make(allow_msg_ttl=False)
        timed.say("t.a")
        timed.peer.play(Api("STREAM.UPDATE.T", {"name": "T", "subjects": ["t.>"]} | {
            "subject_delete_marker_ttl": SECOND, "max_msgs_per_subject": 1,
        }))  # fmt: skip
        timed.say("t.b", ttl="1")
        timed.wait_last(3)
        timed.wait_messages(1)
        return timed.rows()

    assert [row[0] for row in both(pair, scenario)] == [1]
