"""Counters beyond what ADR-49 says (`tests/specs`), asked of both servers.

Where penstock differs on purpose, both answers are asserted.
"""

from typing import Any

from tests.parity.copying import make, origins, pair, reached, rows, same, servers
from tests.parity.counter_steps import add, counter, increments, last, rewritten, sourced, value_of
from tests.parity.numbered import Pub
from tests.parity.stream_api_cases import get, info, made, removed, updated
from tests.parity.streams_peer import Api, Differs, Heard, Listen, Pair, Peer, Pipelined

__all__ = ["pair", "servers"]  # fixtures


# Handling published messages


def test_an_expected_sequence_of_another_subject_is_rejected(pair: Pair) -> None:
    other = {"Nats-Expected-Last-Subject-Sequence-Subject": "t.b"}
    pair.play([counter(), add("+1"), add("+1", **other)])
    pair.play([add("+1", **other, **{"Nats-Expected-Last-Subject-Sequence": "0"}), info()])


def test_a_duplicate_leaves_the_total_unchanged(pair: Pair) -> None:
    again = add("+5", Nats_Msg_Id="a")
    pair.play([counter(), again, again, add("+1", Nats_Msg_Id="b"), again, last(), info()])


def test_increments_in_one_write_all_count(pair: Pair) -> None:
    pair.play([counter(), Pipelined([add(f"+{number}") for number in range(200)]), last()])
    mixed = [add("+1"), Pub("t.a"), add("x"), add("+1", "t.b"), add("-3"), add("+1", payload=b"x")]
    pair.play([Pipelined(mixed * 5), last(), last("t.b"), info()])


def test_limits_take_old_messages_and_leave_the_value(pair: Pair) -> None:
    pair.play([counter(max_msgs_per_subject=1), *(add("+1") for _ in range(5)), info(), last()])
    pair.play([updated(allow_msg_counter=True, max_msgs=3), add("+1", "t.b"), add("+1", "t.c")])
    pair.play([add("+1"), add("+1", "t.b"), info(), last()])


def test_the_stored_message_is_what_is_republished_and_read(pair: Pair) -> None:
    republish = {"src": "t.>", "dest": "copy.t.>"}
    pair.play([Listen("copy.>"), counter(republish=republish, allow_direct=True)])
    pair.play([add("+1"), add("+41"), Heard(2), Api("DIRECT.GET.T.t.a")])


def test_the_outcome_has_to_fit_the_stream(pair: Pair) -> None:
    pair.play([counter(max_msg_size=50), add("+1"), add("+1" + "0" * 20)])
    pair.play([add("+1" + "0" * 10), add("+1" + "0" * 12), add("-1"), info(), last()])


# Resets, recounts


def test_a_deleted_message_gives_way_to_the_one_before(pair: Pair) -> None:
    pair.play([counter(), add("+1"), add("+2"), add("+4"), removed(seq=3), add("+8"), last()])


# Provenance


def test_a_client_cannot_say_where_a_message_comes_from(pair: Pair) -> None:
    source = {"Nats-Stream-Source": "O 1 > > t.a"}
    pair.play([counter(), add("+1"), add("+1", **source)])
    for forged in ('{"O":{"t.a":"5"}}', "x"):
        sources = add("+1", "t.b", Nats_Counter_Sources=forged)
        pair.play([Differs(sources, 0, 10171)])


def test_on_a_plain_stream_the_sources_header_is_a_header(pair: Pair) -> None:
    pair.play([made(), Pub("t.a", b"x", {"Nats-Counter-Sources": "x"}), get(seq=1)])


# Configuration


# Numbers of any length


def test_values_are_as_long_as_headers_may_be(pair: Pair) -> None:
    """Longer than Python's int() takes, and than is good for it."""
    digits = 60_000
    pair.play([counter(), add("+" + "9" * digits), add("+1"), add("-" + "9" * digits), last()])
    pair.play([add("-1" + "0" * digits), add("+1" + "0" * digits), last()])


def test_a_long_run_of_long_values_is_no_stall(pair: Pair) -> None:
    long = add("+" + "1234567890" * 6_000)
    pair.play([counter(), Pipelined([long] * 30), last()])


def test_headers_above_64_kb_are_refused(pair: Pair) -> None:
    pair.play([counter(), add("+" + "9" * 65_600), info()])


# Source-based replicated counters


def test_the_same_subject_of_two_streams_adds_up(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        for name, value in (("ES", "+3"), ("DE", "+4")):
            make(peer, name, subjects=[f"{name.lower()}.>"], allow_msg_counter=True)
            increments(peer, name, value)
            increments(peer, name, value, subject="other")
        both = (rewritten("ES", "es.*", "eu.$1"), rewritten("DE", "de.*", "eu.$1"))
        make(peer, "EU", **sourced(*both))
        reached(peer, "EU", 4)
        return value_of(peer, "eu.hits", "EU"), value_of(peer, "eu.other", "EU")

    assert same(pair, scenario) == (7, 7)


def test_a_plain_message_of_a_source_is_not_counted(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "ES", subjects=["es.>"])
        peer.play(Pub("es.hits", b"text"))
        make(peer, "EU", **sourced({"name": "ES"}, subjects=["eu.>"]))
        increments(peer, "EU", "+1")
        return reached(peer, "EU", 1)

    assert same(pair, scenario) == (1, 1, 1)
    assert origins(pair.ours, "EU")[0]["error"]["err_code"] == 10169


def test_subjects_with_odd_characters_are_keys_as_well(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "ES", subjects=["es.>"], allow_msg_counter=True)
        increments(peer, "ES", "+1", subject='a<b>&"c\\d')
        increments(peer, "ES", "+1", subject="grün")
        make(peer, "EU", **sourced({"name": "ES"}))
        return rows(peer, "EU", 2)

    same(pair, scenario)
