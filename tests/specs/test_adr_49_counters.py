"""ADR-49, distributed counters, sentence by sentence."""

import base64
import json
import random
from typing import Any

import pytest

from tests.parity.copying import change, make, reached, rows, same
from tests.parity.counter_steps import (
    add,
    counter,
    increments,
    last,
    recount,
    rewritten,
    sourced,
    value_of,
)
from tests.parity.numbered import Pub
from tests.parity.stream_api_cases import get, info, made, purge, updated
from tests.parity.streams_peer import Api, Differs, Pair, Peer, Pipelined, err_code

ODD_NUMBERS = (
    "", " ", "+", "-", "abc", "1.5", "+1.5", "+ 1", "+1 ", "++1", "+-1", "0x10", "+0x10", "+1_0",
    "1e5", "+1e5", "+٣", "NaN", "-Infinity", "+1\t", "1,0", "--1",
)  # fmt: skip
NUMBERS = ("+1", "-1", "-10", "+0", "-0", "+00012", "-007", f"+{10**40}", f"-{10**41}")
INCOMPATIBLE = (
    "Nats-Rollup", "Nats-Expected-Last-Sequence", "Nats-Expected-Last-Subject-Sequence",
    "Nats-Expected-Stream", "Nats-Expected-Last-Msg-Id",
)  # fmt: skip


# Solution overview


def test_a_stream_can_opt_in_to_supporting_counters(pair: Pair) -> None:
    pair.play([made("U"), Pub("u.a"), counter(), add("+1"), info()])
    assert "allow_msg_counter" not in pair.ours.ask("STREAM.INFO.U")["config"]
    assert pair.ours.ask("STREAM.INFO.T")["config"]["allow_msg_counter"] is True


def test_any_subject_is_a_counter(pair: Pair) -> None:
    pair.play([counter(), add("+1"), add("+2", "t.b"), add("+3"), add("-5", "t.c.d"), info()])
    pair.play([last(), last("t.b"), last("t.c.d"), Api("STREAM.INFO.T", {"subjects_filter": ">"})])


def test_all_subjects_must_be_counters_so_messages_without_the_header_are_rejected(
    pair: Pair,
) -> None:
    pair.play([counter(), Pub("t.a"), Pub("t.a", b""), Pub("t.a", b"", {"A": "b"})])
    pair.play([Pub("t.a", b"x", {"Nats-Msg-Id": "1"}), add(""), info()])
    pair.play(
        [Pub("t.a", b'{"val":"5"}'), add("+1", payload=b"x"), add("+1", payload=b"1"), info()]
    )


def test_the_new_message_has_the_latest_value_in_its_body_and_all_its_headers(
    pair: Pair,
) -> None:
    pair.play([counter(), add("+100"), add("+2", A="b", Nats_Other="c")])
    pair.play([get(seq=1), get(seq=2), last()])


def test_the_pub_ack_includes_the_value_after_the_increment(pair: Pair) -> None:
    pair.play([counter(), *(add(value) for value in NUMBERS)])
    acknowledged = json.loads(pair.ours.play(add("+1")))
    assert acknowledged == {"stream": "T", "seq": 10, "val": str(value_of(pair.ours))}


# Design and behavior


@pytest.mark.parametrize("value", NUMBERS)
def test_the_header_holds_any_big_integer(pair: Pair, value: str) -> None:
    pair.play([counter(), add("+7"), add(value), last()])
    assert value_of(pair.ours) == 7 + int(value)


@pytest.mark.parametrize("value", ODD_NUMBERS)
def test_if_the_value_fails_to_parse_the_message_is_rejected(pair: Pair, value: str) -> None:
    pair.play([counter(), add("+7"), add(value), info()])
    assert value_of(pair.ours) == 7


def test_a_value_of_zero_is_valid(pair: Pair) -> None:
    pair.play([counter(), add("+0"), last(), add("-0"), last(), add("+5"), add("-5"), last()])


def test_a_valid_message_has_a_sign(pair: Pair) -> None:
    """`^[+-]\\d+$`; the reference takes one without."""
    pair.play([counter(), Differs(add("5"), 0, 10171), Differs(add("0"), 0, 10171)])


def test_the_rewritten_subject_is_used_to_perform_the_calculation(pair: Pair) -> None:
    transform = {"src": "t.*.hits", "dest": "t.hits"}
    pair.play([counter(subject_transform=transform)])
    pair.play([add("+1", "t.es.hits"), add("+2", "t.de.hits"), add("+4", "t.hits"), add("+1")])
    pair.play([last("t.hits"), info()])


@pytest.mark.parametrize("name", INCOMPATIBLE)
def test_messages_with_rollup_or_expectations_are_rejected(pair: Pair, name: str) -> None:
    pair.play([counter(allow_rollup_hdrs=True), add("+1")])
    for value in ("sub", "all", "0", "1", "T", "x"):
        pair.play([add("+1", **{name: value}), Pub("t.a", b"", {name: value})])
    pair.play([info(), last()])


def test_a_message_with_the_header_to_a_stream_without_the_option_is_rejected(pair: Pair) -> None:
    pair.play([made(), add("+1"), add("+1", payload=b"x"), add("abc"), info()])


def test_received_over_a_source_with_the_setting_disabled_a_message_is_stored_verbatim(
    pair: Pair,
) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "O", subjects=["o.>"], allow_msg_counter=True)
        for value in ("+1", "-5", "+10"):
            peer.play(Pub("o.1", b"", {"Nats-Incr": value}))
        make(peer, "S", sources=[{"name": "O"}])
        return rows(peer, "S", 3)

    assert [row[3] for row in same(pair, scenario)] == [
        '{"val":"1"}',
        '{"val":"-4"}',
        '{"val":"6"}',
    ]


def test_received_over_a_mirror_a_message_is_stored_verbatim(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "O", subjects=["o.>"], allow_msg_counter=True)
        for value in ("+1", "-5", "+10"):
            peer.play(Pub("o.1", b"", {"Nats-Incr": value}))
        make(peer, "M", mirror={"name": "O"})
        assert rows(peer, "M", 3) == rows(peer, "O", 3)
        return rows(peer, "M", 3)

    same(pair, scenario)


def test_the_sources_header_of_the_previous_message_is_copied_into_the_new_one(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "ES", subjects=["es.>"], allow_msg_counter=True)
        make(peer, "DE", subjects=["de.>"], allow_msg_counter=True)
        increments(peer, "ES", "+5")
        make(peer, "EU", **sourced(rewritten("ES", "es.*", "eu.$1"), subjects=["eu.>"]))
        reached(peer, "EU", 1)
        increments(peer, "EU", "+1000", "-1")
        both = (rewritten("ES", "es.*", "eu.$1"), rewritten("DE", "de.*", "eu.$1"))
        change(peer, "EU", **sourced(*both, subjects=["eu.>"]))
        increments(peer, "DE", "+20")
        reached(peer, "EU", 4)
        increments(peer, "ES", "-3")
        return rows(peer, "EU", 5)

    found = same(pair, scenario)
    assert [row[3] for row in found][-1] == '{"val":"1021"}'
    assert '{"DE":{"de.hits":"20"},"ES":{"es.hits":"2"}}' in found[-1][2]
    assert '{"ES":{"es.hits":"5"}}' in found[1][2]


def test_the_increment_of_a_sourced_message_is_the_delta_and_the_sources_header_is_updated(
    pair: Pair,
) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "ES", subjects=["es.>"], allow_msg_counter=True)
        increments(peer, "ES", "+5", "-2", "+7")
        make(peer, "EU", **sourced(rewritten("ES", "es.*", "eu.$1")))
        return rows(peer, "EU", 3)

    found = same(pair, scenario)
    assert [row[3] for row in found] == ['{"val":"5"}', '{"val":"3"}', '{"val":"10"}']
    assert "Nats-Incr: 5\r\n" in found[0][2]
    assert 'Nats-Counter-Sources: {"ES":{"es.hits":"10"}}\r\n' in found[2][2]


def test_the_value_in_the_body_is_a_string_in_json(pair: Pair) -> None:
    pair.play([counter(), add("+9007199254740993"), last()])
    message = pair.ours.play(last())["message"]
    assert json.loads(base64.b64decode(message["data"])) == {"val": "9007199254740993"}


# Recounts and audit


def test_one_can_recount_the_entire_stream(pair: Pair) -> None:
    chance = random.Random(49)
    values = [chance.randint(-(10**30), 10**30) for _ in range(50)]
    pair.play([counter(), Pipelined([add(f"{value:+d}") for value in values])])
    for peer in (pair.reference, pair.ours):
        assert recount(peer, "T", "t.a") == value_of(peer) == sum(values)


def test_sourced_streams_say_where_a_message_comes_from(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "ES", subjects=["es.>"], allow_msg_counter=True)
        increments(peer, "ES", "+5", "+6")
        make(peer, "EU", **sourced(rewritten("ES", "es.*", "eu.$1")))
        return rows(peer, "EU", 2), recount(peer, "EU", "eu.hits")

    found, total = same(pair, scenario)
    assert total == 11
    assert ["Nats-Stream-Source: ES 2 es.* eu.$1 es.hits\r\n" in row[2] for row in found] == [
        False,
        True,
    ]


# Counter resets


def test_a_standalone_counter_is_reset_by_a_subject_purge(pair: Pair) -> None:
    pair.play([counter(), add("+60"), add("+1", "t.b"), purge(filter="t.a"), add("+3"), last()])
    pair.play([purge(), add("+4"), last(), last("t.b")])


def test_the_preferred_reset_is_a_negative_value_and_a_purge_up_to_the_message_holding_it(
    pair: Pair,
) -> None:
    pair.play([counter(), add("+60"), add("+40"), add("-100"), last()])
    pair.play([purge(seq=3, filter="t.a"), info(), last(), add("+1"), last()])


def test_a_regional_reset_is_a_negative_value_equal_to_the_current_total(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "ES", subjects=["es.>"], allow_msg_counter=True)
        make(peer, "EU", **sourced(rewritten("ES", "es.*", "eu.$1"), subjects=["eu.>"]))
        increments(peer, "EU", "+50")
        increments(peer, "ES", "+3", "+4", "-7")
        reached(peer, "EU", 4)
        peer.ask("STREAM.PURGE.ES", {"seq": 3, "filter": "es.hits"})
        increments(peer, "ES", "+1")
        reached(peer, "EU", 5)
        return value_of(peer, "eu.hits", "EU"), value_of(peer, "es.hits", "ES")

    assert same(pair, scenario) == (51, 1)


# Source-based replicated counters


def test_at_any_location_in_the_tree_the_value_is_the_total_of_what_flowed_through(
    pair: Pair,
) -> None:
    """Regions into a continent into the world; the aggregates have no subjects of their own."""
    places = {
        "ES": "count.es.hits",
        "DE": "count.de.hits",
        "US": "count.us.hits",
        "EU": "count.eu.hits",
        "WORLD": "count.hits",
    }

    def scenario(peer: Peer) -> Any:
        for name in ("ES", "DE", "US"):
            make(peer, name, subjects=[f"count.{name.lower()}.*"], allow_msg_counter=True)
        europe = [rewritten("ES", "count.es.*", "count.eu.$1")]
        europe += [rewritten("DE", "count.de.*", "count.eu.$1")]
        make(peer, "EU", **sourced(*europe))
        world = [rewritten("EU", "count.eu.*", "count.$1")]
        world += [rewritten("US", "count.us.*", "count.$1")]
        make(peer, "WORLD", **sourced(*world))
        for name, value in (("ES", "+3"), ("DE", "+4"), ("US", "+5"), ("ES", "-1")):
            assert err_code(peer.play(add(value, places[name]))) == 0
        reached(peer, "EU", 3)
        reached(peer, "WORLD", 4)
        totals = {name: value_of(peer, subject, name) for name, subject in places.items()}
        recounts = {name: recount(peer, name, subject) for name, subject in places.items()}
        assert totals == recounts
        return totals

    assert same(pair, scenario) == {"ES": 2, "DE": 4, "US": 5, "EU": 6, "WORLD": 11}


def test_one_may_mirror_and_then_source_and_retain_the_source_and_the_total(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "ES", subjects=["es.>"], allow_msg_counter=True)
        increments(peer, "ES", "+3", "+4")
        make(peer, "M", mirror={"name": "ES"})
        make(peer, "EU", **sourced(rewritten("M", "es.*", "eu.$1")))
        return rows(peer, "EU", 2), rows(peer, "M", 2)

    found, _ = same(pair, scenario)
    assert '{"M":{"es.hits":"7"}}' in found[1][2]


def test_a_purge_does_not_replicate(pair: Pair) -> None:
    """A purge does not replicate, but the next value is what counts."""

    def scenario(peer: Peer) -> Any:
        make(peer, "ES", subjects=["es.>"], allow_msg_counter=True)
        make(peer, "EU", **sourced(rewritten("ES", "es.*", "eu.$1")))
        increments(peer, "ES", "+30")
        reached(peer, "EU", 1)
        peer.ask("STREAM.PURGE.ES")
        increments(peer, "ES", "+2")
        return rows(peer, "EU", 2)

    assert same(pair, scenario)[-1][3] == '{"val":"2"}'


# Adding sources


def test_the_sources_header_keys_each_source_by_stream_and_original_subject(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "ES", subjects=["es.>"], allow_msg_counter=True)
        increments(peer, "ES", "+5")
        increments(peer, "ES", "+6", subject="clicks")
        make(peer, "EU", **sourced(rewritten("ES", "es.*", "eu.all")))
        return rows(peer, "EU", 2)

    found = same(pair, scenario)
    assert found[1][3] == '{"val":"11"}'
    assert 'Nats-Counter-Sources: {"ES":{"es.clicks":"6","es.hits":"5"}}\r\n' in found[1][2]


def test_even_if_messages_of_the_source_were_lost_the_total_is_correct_and_can_be_recounted(
    pair: Pair,
) -> None:
    def scenario(peer: Peer) -> Any:
        make(peer, "ES", subjects=["es.>"], allow_msg_counter=True)
        increments(peer, "ES", "+1", "+2", "+4", "+8")
        for sequence in (2, 3):
            peer.ask("STREAM.MSG.DELETE.ES", {"seq": sequence})
        make(peer, "EU", **sourced(rewritten("ES", "es.*", "eu.$1")))
        reached(peer, "EU", 2)
        assert recount(peer, "EU", "eu.hits") == 15
        return rows(peer, "EU", 2)

    found = same(pair, scenario)
    assert [row[3] for row in found] == ['{"val":"1"}', '{"val":"15"}']
    assert "Nats-Incr: 14\r\n" in found[1][2]


def test_adding_a_source_with_a_value_of_10_results_in_an_increment_of_10(pair: Pair) -> None:
    """Adding source counter with an existing value of 10 results in `Nats-Incr: 10`."""

    def scenario(peer: Peer) -> Any:
        make(peer, "ES", subjects=["es.>"], allow_msg_counter=True, max_msgs_per_subject=1)
        increments(peer, "ES", *["+1"] * 10)
        make(peer, "EU", subjects=["eu.>"], allow_msg_counter=True)
        increments(peer, "EU", "+100")
        change(peer, "EU", **sourced(rewritten("ES", "es.*", "eu.$1"), subjects=["eu.>"]))
        return rows(peer, "EU", 2)

    _, last_row = same(pair, scenario)
    assert last_row[3] == '{"val":"110"}'
    assert "Nats-Incr: 10\r\n" in last_row[2]


def test_a_source_that_is_removed_and_added_again_counts_by_the_difference(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        source = rewritten("ES", "es.*", "eu.$1")
        make(peer, "ES", subjects=["es.>"], allow_msg_counter=True)
        increments(peer, "ES", "+5")
        make(peer, "EU", **sourced(source, subjects=["eu.>"]))
        reached(peer, "EU", 1)
        change(peer, "EU", subjects=["eu.>"], allow_msg_counter=True)
        increments(peer, "ES", "+6", "+7")
        increments(peer, "EU", "+100")
        change(peer, "EU", **sourced(source, subjects=["eu.>"]))
        return rows(peer, "EU", 4)

    assert same(pair, scenario)[-1][3] == '{"val":"118"}'


def test_aggregates_are_consistent_with_their_sources_and_local_additions(pair: Pair) -> None:
    def scenario(peer: Peer) -> Any:
        names = ("ES", "DE")
        for name in names:
            make(peer, name, subjects=[f"{name.lower()}.>"], allow_msg_counter=True)
        renamed = [rewritten(name, f"{name.lower()}.*", "eu.$1") for name in names]
        make(peer, "EU", **sourced(*renamed, subjects=["eu.>"]))
        for name, value in (("ES", "+3"), ("EU", "+100"), ("DE", "+4"), ("EU", "-7"), ("ES", "-1")):
            increments(peer, name, value)
        reached(peer, "EU", 5)
        return value_of(peer, "eu.hits", "EU"), recount(peer, "EU", "eu.hits")

    assert same(pair, scenario) == (99, 99)


# Stream configuration


def test_setting_this_on_a_mirror_causes_an_error(pair: Pair) -> None:
    mirror = {"name": "M", "mirror": {"name": "T"}}
    counting = mirror | {"allow_msg_counter": True}
    pair.play([made(), Differs(Api("STREAM.CREATE.M", counting), 10173, 10173)])
    pair.play([Api("STREAM.CREATE.M", mirror), Api("STREAM.UPDATE.M", counting)])


@pytest.mark.parametrize("retention", ["workqueue", "interest"])
def test_anything_but_limits_retention_causes_an_error(pair: Pair, retention: str) -> None:
    pair.play([counter(retention=retention), counter("U"), info()])
    pair.play([Differs(updated("U", allow_msg_counter=True, retention=retention), 10052, 10052)])


def test_the_feature_can_be_turned_off_using_stream_edits(pair: Pair) -> None:
    """The reference takes no change at all."""
    pair.play([counter(), add("+5"), Differs(updated(), 10052, 0)])
    ours = pair.ours
    assert err_code(ours.play(add("+1"))) == 10168
    assert ours.play(Pub("t.a", b"text")) == '{"stream":"T","seq":2}'
    assert ours.ask("STREAM.INFO.T")["config"].get("allow_msg_counter") is None


def test_turning_it_on_is_only_allowed_on_an_empty_or_purged_stream(pair: Pair) -> None:
    on = updated(allow_msg_counter=True)
    pair.play(
        [made(), Pub("t.a", b"text"), Differs(on, 10052, 10052), purge(), Differs(on, 10052, 0)]
    )
    assert pair.ours.play(add("+5")) == '{"stream":"T","seq":2,"val":"5"}'


def test_discard_new_is_not_supported(pair: Pair) -> None:
    pair.play([counter(discard="new"), info(), counter()])
    pair.play([updated(allow_msg_counter=True, discard="new"), info()])


def test_it_may_not_be_enabled_along_with_per_message_ttls(pair: Pair) -> None:
    """A marker TTL turns them on; the reference notices that in updates only."""
    marked = {"allow_msg_counter": True, "subject_delete_marker_ttl": 10**9}
    pair.play([counter(allow_msg_ttl=True), info(), Differs(made("U", **marked), 0, 10052)])
    pair.play([counter(), updated(allow_msg_counter=True, allow_msg_ttl=True), updated(**marked)])


def test_a_stream_with_this_feature_requires_api_level_2(pair: Pair) -> None:
    pair.play([counter(), info()])
    assert pair.ours.ask("STREAM.INFO.T")["config"]["metadata"]["_nats.req.level"] == "2"
