"""ADR-43, message TTL and delete markers, sentence by sentence."""

import time
from typing import Any

import pytest

from tests.parity.copying import make, publish, reached, rows, state, until
from tests.parity.stream_api_cases import info, made, purge, removed, updated
from tests.parity.streams_peer import Pair, Peer, err_code
from tests.parity.ttl_peer import SECOND, TTL, Timed, both, each, marker

INVALID, DISABLED, CONFIG_INVALID = 10165, 10166, 10052
STORAGES = pytest.mark.parametrize("storage", ["file", "memory"])


# General behavior


@pytest.mark.parametrize(
    "ttl",
    [
        *("30", "100", " 60", "30s", "+40s", "30.5s", "30500ms", "1h", "1h1m", ".5m", "5m.5s"),
        "60000000000ns",
    ],
)
def test_a_message_may_supply_a_ttl_as_seconds_or_as_a_go_duration_string(
    pair: Pair, ttl: str
) -> None:
    def scenario(timed: Timed) -> Any:
        timed.make()
        return timed.say(ttl=ttl), timed.rows()

    ack, (row,) = both(pair, scenario)
    assert ack == '{"stream":"T","seq":1}'
    assert f"Nats-TTL: {ttl}" in row[2]


@STORAGES
def test_the_deadline_is_the_stream_timestamp_and_the_stated_duration(
    pair: Pair, storage: str
) -> None:
    def scenario(timed: Timed) -> Any:
        timed.make(storage=storage)
        begun = time.time()
        for ttl in ("3", "2s", "1", ""):
            timed.say(ttl=ttl)
        lived = []
        for count in (3, 2, 1):
            timed.wait(lambda state, count=count: state["messages"] <= count)
            lived.append(time.time() - begun)
        assert all(seconds >= ttl for ttl, seconds in zip((1, 2, 3), lived, strict=True))
        return timed.rows(), timed.state()

    rows, state = both(pair, scenario)
    assert [row[0] for row in rows] == [4]
    assert (state["first_seq"], state["last_seq"]) == (4, 4)


@STORAGES
def test_never_will_result_in_a_message_that_will_never_be_expired(
    pair: Pair, storage: str
) -> None:
    def scenario(timed: Timed) -> Any:
        timed.make(storage=storage, max_age=SECOND)
        for ttl in ("never", "", "NEVER", "1h", ""):
            timed.say(ttl=ttl)
        timed.wait_messages(2)
        timed.say(ttl="")
        timed.wait_messages(2)
        return timed.rows(), timed.state()

    rows, state = both(pair, scenario)
    assert [row[0] for row in rows] == [1, 3]
    assert state["first_seq"] == 1


@pytest.mark.parametrize("ttl", ["0", "0s", "0h0m"])
def test_a_ttl_of_zero_will_be_ignored(pair: Pair, ttl: str) -> None:
    """The document says so; the reference refuses it."""

    def scenario(timed: Timed) -> Any:
        timed.make(max_age=3 * SECOND, subject_delete_marker_ttl=60 * SECOND)
        code = timed.refusal(ttl)
        if code == 0:
            (row,) = timed.rows()
            assert f"Nats-TTL: {ttl}\r\n" in row[2]  # as it came, not raised
            timed.wait_last(2)  # age is what removes it
        return code

    assert each(pair, scenario) == (INVALID, 0)


@pytest.mark.parametrize(
    "ttl",
    ["abc", "-1", "-1s", "+2", "500ms", "1.5", "3 ", "1d", "1_0", "0x5", "1e3s", "٣"],
)
def test_any_other_unparsable_value_is_an_error_and_the_message_is_discarded(
    pair: Pair, ttl: str
) -> None:
    def scenario(timed: Timed) -> Any:
        timed.make()
        return timed.say(ttl=ttl), timed.state()

    answer, state = both(pair, scenario)
    assert (err_code(answer), state["last_seq"]) == (INVALID, 0)


def test_with_the_feature_disabled_the_message_will_be_rejected(pair: Pair) -> None:
    def scenario(timed: Timed) -> Any:
        timed.make(allow_msg_ttl=False)
        codes = [timed.refusal(ttl) for ttl in ("1", "never", "1h", "abc")]
        return codes, timed.state()["last_seq"]

    assert both(pair, scenario) == ([DISABLED, DISABLED, DISABLED, INVALID], 0)


# Limit markers


@STORAGES
def test_when_max_age_removes_the_last_of_a_subject_a_marker_with_the_configured_ttl_is_placed(
    pair: Pair, storage: str
) -> None:
    def scenario(timed: Timed) -> Any:
        timed.make(storage=storage, max_age=3 * SECOND, subject_delete_marker_ttl=30 * SECOND)
        for subject in ("t.a", "t.b", "t.a"):
            timed.say(subject)
        timed.wait_last(5)
        return timed.rows()

    assert both(pair, scenario) == [
        (4, "t.b", marker("MaxAge", "30s"), ""),
        (5, "t.a", marker("MaxAge", "30s"), ""),
    ]


@STORAGES
def test_the_marker_is_also_placed_for_a_message_removed_by_the_ttl_timer(
    pair: Pair, storage: str
) -> None:
    def scenario(timed: Timed) -> Any:
        timed.make(storage=storage, subject_delete_marker_ttl=61 * SECOND, max_msgs_per_subject=1)
        timed.say("t.a", ttl="3")
        timed.say("t.b", ttl="never")
        timed.wait_last(3)
        return timed.rows()

    rows = both(pair, scenario)
    assert [row[0] for row in rows] == [2, 3]
    assert rows[1] == (3, "t.a", marker("MaxAge", "1m1s"), "")


def test_no_marker_is_placed_for_a_message_that_is_not_the_last_in_its_subject(pair: Pair) -> None:
    def scenario(timed: Timed) -> Any:
        timed.make(subject_delete_marker_ttl=SECOND)
        timed.say("t.a")
        timed.say("t.a", ttl="3")
        timed.say("t.b", ttl="3")
        timed.say("t.b")
        timed.wait_messages(2)
        return timed.rows(), timed.state()["last_seq"]

    rows, last = both(pair, scenario)
    assert ([row[0] for row in rows], last) == ([1, 4], 4)


def test_this_behavior_is_off_by_default_unless_opted_in(pair: Pair) -> None:
    def scenario(timed: Timed) -> Any:
        timed.make(max_age=2 * SECOND)
        timed.say("t.a", ttl="1")
        timed.say("t.b")
        timed.wait_messages(0)
        return timed.state()["last_seq"]

    assert both(pair, scenario) == 2


# Delete and purge API call markers, which the reference does not have


def test_a_call_of_the_delete_message_api_places_a_marker(pair: Pair) -> None:
    def scenario(timed: Timed) -> Any:
        timed.make(subject_delete_marker_ttl=60 * SECOND)
        for subject in ("t.a", "t.a", "t.b"):
            timed.say(subject)
        answers = [timed.peer.play(removed(seq=sequence)) for sequence in (1, 2, 3, 3, 9)]
        return answers, [(row[0], *row[1:3]) for row in timed.rows()]

    (their_answers, theirs), (our_answers, ours) = each(pair, scenario)
    assert our_answers[:3] == their_answers[:3]
    assert [err_code(answer) for answer in our_answers] == [0, 0, 0, 10057, 10057]
    assert theirs == []
    assert ours == [(4, "t.a", marker("Remove", "1m0s")), (5, "t.b", marker("Remove", "1m0s"))]


@pytest.mark.parametrize(
    ("request_", "purged", "marked", "left"),
    [
        ({"filter": "t.a"}, 2, ["t.a"], [2, 4]),
        ({"filter": "t.*"}, 4, ["t.b", "t.a", "t.c"], []),
        ({"filter": "t.*", "seq": 3}, 2, ["t.b"], [3, 4]),
        ({"filter": "t.*", "keep": 1}, 3, [], [4]),
        ({"filter": "t.x"}, 0, [], [1, 2, 3, 4]),
        ({"keep": 1}, 3, [], [4]),
        ({"seq": 4}, 3, [], [4]),
        ({}, 4, [], []),
    ],
    ids=str,
)
def test_a_call_of_the_purge_subject_api_places_a_marker_for_each_subject_that_it_emptied(
    pair: Pair, request_: dict[str, Any], purged: int, marked: list[str], left: list[int]
) -> None:
    """It counts what it removed, not what came instead."""

    def scenario(timed: Timed) -> Any:
        timed.make(subject_delete_marker_ttl=60 * SECOND)
        for subject in ("t.a", "t.b", "t.a", "t.c"):
            timed.say(subject)
        answer = timed.peer.play(purge(**request_))
        return answer, timed.rows()

    (their_answer, their_rows), (answer, rows) = each(pair, scenario)
    assert answer == their_answer
    assert answer["purged"] == purged
    assert [row[0] for row in their_rows] == left
    assert [row[0] for row in rows if row[0] <= 4] == left
    headers = marker("Purge", "1m0s")
    assert [row[1:] for row in rows if row[0] > 4] == [(subject, headers, "") for subject in marked]


# Sources and mirrors


# It is copied before it is over: the reference sets its copies up in its own time.
COPIED_TTL = "6"


def timed_origin(peer: Peer, **ttls: str) -> None:
    """A stream O with a message for each TTL, under the subjects o.<name>."""
    make(peer, "O", subjects=["o.>"], allow_msg_ttl=True)
    for name, ttl in ttls.items():
        publish(peer, f"o.{name}", Nats_TTL=ttl)


def copies(peer: Peer, **fields: Any) -> None:
    """A mirror M and a sourcing stream S of it."""
    make(peer, "M", mirror={"name": "O"}, **fields)
    make(peer, "S", sources=[{"name": "O"}], **fields)


def test_sources_and_mirrors_store_messages_with_a_ttl_even_if_the_setting_is_disabled(
    pair: Pair,
) -> None:
    def scenario(timed: Timed) -> Any:
        peer = timed.peer
        timed_origin(peer, a="60", b="never", c="1h")
        copies(peer)
        return rows(peer, "M", 3), rows(peer, "S", 3)

    mirrored, sourced = both(pair, scenario)
    ttls = ["60", "never", "1h"]
    assert [row[2] for row in mirrored] == [f"NATS/1.0\r\nNats-TTL: {ttl}\r\n\r\n" for ttl in ttls]
    assert all(f"Nats-TTL: {ttl}\r\n" in row[2] for ttl, row in zip(ttls, sourced, strict=True))


def test_if_the_setting_is_enabled_copied_messages_are_removed_after_their_ttl(pair: Pair) -> None:
    def scenario(timed: Timed) -> Any:
        peer = timed.peer
        timed_origin(peer, a=COPIED_TTL, b="never", c="1h")
        copies(peer, allow_msg_ttl=True)
        for name in "MS":
            reached(peer, name, 3)
            until(lambda name=name: state(peer, name)["messages"], lambda count: count == 2)
        return rows(peer, "M", 3), rows(peer, "S", 3)

    assert [[row[0] for row in found] for found in both(pair, scenario)] == [[2, 3], [2, 3]]


def test_with_the_setting_disabled_copied_messages_are_just_stored(pair: Pair) -> None:
    """`never` means nothing then, also to max_age, where the reference heeds it all the same."""

    def scenario(timed: Timed) -> Any:
        peer = timed.peer
        timed_origin(peer, a=COPIED_TTL, b="never", c="")
        copies(peer)
        make(peer, "AGED", mirror={"name": "O"}, max_age=SECOND)
        reached(peer, "AGED", 3)
        left = 0 if timed.is_ours else 1
        until(lambda: state(peer, "AGED")["messages"], lambda count: count == left)
        until(lambda: state(peer, "O")["messages"], lambda count: count == 2)
        kept = [reached(peer, name, 3) for name in "MS"]
        return kept, state(peer, "AGED")["messages"]

    assert each(pair, scenario) == (([(1, 3, 3)] * 2, 1), ([(1, 3, 3)] * 2, 0))


def test_sources_may_set_the_marker_ttl_and_place_tombstones(pair: Pair) -> None:
    def scenario(timed: Timed) -> Any:
        peer = timed.peer
        timed_origin(peer, a=COPIED_TTL, b="1h")
        fields = {"subject_delete_marker_ttl": 60 * SECOND, "max_msgs_per_subject": 1}
        make(peer, "S", sources=[{"name": "O"}], **fields)
        reached(peer, "S", 3)
        until(lambda: state(peer, "O")["messages"], lambda count: count == 1)
        return rows(peer, "S", 3), rows(peer, "O", 2)

    found, origin = both(pair, scenario)
    assert [row[0] for row in found] == [2, 3]
    assert found[1] == (3, "o.a", marker("MaxAge", "1m0s"), "")
    assert [row[0] for row in origin] == [2]


def test_mirrors_may_not_enable_the_marker_ttl(pair: Pair) -> None:
    def scenario(timed: Timed) -> Any:
        timed.peer.play(made("O"))
        mirror = {"name": "M", "mirror": {"name": "O"}}
        marked = mirror | {"subject_delete_marker_ttl": SECOND}
        refused = timed.peer.ask("STREAM.CREATE.M", marked)
        timed.peer.ask("STREAM.CREATE.M", mirror)
        return refused, timed.peer.ask("STREAM.UPDATE.M", marked)

    for refused in both(pair, scenario):
        assert refused["error"]["description"] == "subject delete markers forbidden on mirrors"


# Stream configuration


def test_the_feature_is_a_configuration_opt_in(pair: Pair) -> None:
    def scenario(timed: Timed) -> Any:
        return timed.peer.play(made()), timed.peer.play(made("U", allow_msg_ttl=True))

    plain, opted_in = both(pair, scenario)
    assert plain["config"]["allow_msg_ttl"] is False
    assert opted_in["config"]["allow_msg_ttl"] is True


def test_what_is_removed_is_retained_by_a_stream_with_the_feature_disabled(pair: Pair) -> None:
    """An audit trail: the message, and the tombstone that says that it is gone."""

    def scenario(timed: Timed) -> Any:
        peer = timed.peer
        fields = {"subject_delete_marker_ttl": 3 * SECOND, "max_msgs_per_subject": 1}
        make(peer, "O", subjects=["o.>"], **fields)
        make(peer, "AUDIT", mirror={"name": "O"})
        publish(peer, "o.a", Nats_TTL="4")
        reached(peer, "AUDIT", 2)
        until(lambda: state(peer, "O")["messages"], lambda count: count == 0)
        return rows(peer, "AUDIT", 2)

    message, tombstone = both(pair, scenario)
    assert message == (1, "o.a", "NATS/1.0\r\nNats-TTL: 4\r\n\r\n", "at o.a")
    assert tombstone == (2, "o.a", marker("MaxAge", "3s"), "")


def test_the_field_can_be_enabled_on_existing_streams_but_not_disabled(pair: Pair) -> None:
    def scenario(timed: Timed) -> Any:
        timed.make(allow_msg_ttl=False)
        steps = (updated(allow_msg_ttl=True), updated(), info())
        return [timed.refusal("1"), *map(timed.peer.play, steps), timed.refusal("1")]

    first, _, refused, shown, last = both(pair, scenario)
    assert (first, err_code(refused), last) == (DISABLED, CONFIG_INVALID, 0)
    assert shown["config"]["allow_msg_ttl"] is True


@pytest.mark.parametrize("ttl", ["999ms", "0.999s", "1ns", "1s", "1"])
def test_a_ttl_has_a_minimum_of_one_second(pair: Pair, ttl: str) -> None:
    def scenario(timed: Timed) -> Any:
        timed.make()
        return timed.refusal(ttl)

    assert both(pair, scenario) == (0 if ttl in ("1s", "1") else INVALID)


@pytest.mark.parametrize("ttl_ns", [-SECOND, 1, SECOND - 1, SECOND])
def test_the_marker_ttl_has_a_minimum_of_one_second(pair: Pair, ttl_ns: int) -> None:
    def scenario(timed: Timed) -> Any:
        created = timed.peer.play(made(subject_delete_marker_ttl=ttl_ns))
        timed.peer.play(made("U"))
        return created, timed.peer.play(updated("U", subject_delete_marker_ttl=ttl_ns))

    codes = [err_code(answer) for answer in both(pair, scenario)]
    assert codes == ([0, 0] if ttl_ns == SECOND else [CONFIG_INVALID, CONFIG_INVALID])


@pytest.mark.parametrize("field", [{"allow_msg_ttl": True}, {"subject_delete_marker_ttl": SECOND}])
def test_when_either_is_set_the_stream_requires_api_level_1(
    pair: Pair, field: dict[str, Any]
) -> None:
    def scenario(timed: Timed) -> Any:
        return timed.peer.play(made(**field))

    assert both(pair, scenario)["config"]["metadata"]["_nats.req.level"] == "1"


MARKED = {"subject_delete_marker_ttl": SECOND}


@pytest.mark.parametrize("asked", [{}, {"deny_purge": True}, {"allow_rollup_hdrs": True}], ids=str)
def test_create_and_update_allow_rollups_and_purges(pair: Pair, asked: dict[str, Any]) -> None:
    """And TTLs, without which a marker would stay for ever."""

    def scenario(timed: Timed) -> Any:
        created = timed.peer.play(made(**MARKED, **asked))
        timed.peer.play(made("U"))
        return created, timed.peer.play(updated("U", **MARKED, **asked))

    wanted = {"allow_msg_ttl": True, "allow_rollup_hdrs": True, "deny_purge": False}
    for answer in both(pair, scenario):
        assert answer["config"] | wanted == answer["config"]


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"allow_msg_ttl": True},
        {"allow_msg_ttl": True, "deny_purge": True},
        {"allow_msg_ttl": True, "deny_purge": True, "allow_rollup_hdrs": True},
        {"allow_rollup_hdrs": True},
    ],
    ids=str,
)
def test_in_pedantic_mode_they_refuse_instead(pair: Pair, asked: dict[str, Any]) -> None:
    def scenario(timed: Timed) -> Any:
        created = timed.peer.play(made(**MARKED, **asked, pedantic=True))
        timed.peer.play(made("U"))
        return created, timed.peer.play(updated("U", **MARKED, **asked, pedantic=True))

    codes = [err_code(answer) for answer in both(pair, scenario)]
    assert codes == [CONFIG_INVALID, CONFIG_INVALID]


@pytest.mark.parametrize(
    ("ttl", "fields", "stored"),
    [
        ("10", {}, "30"),
        ("29.9s", {}, "30"),
        ("30s", {}, "30s"),
        ("1h", {}, "1h"),
        ("never", {}, "never"),
        ("10", {"max_msgs_per_subject": 1}, "10"),
        ("10", {"max_msgs_per_subject": 2}, "30"),
    ],
)
def test_the_marker_ttl_is_the_minimum_for_nats_ttl_but_messages_below_are_not_rejected(
    pair: Pair, ttl: str, fields: dict[str, Any], stored: str
) -> None:
    """Messages below are not rejected but raised, unless subjects have one message anyway."""

    def scenario(timed: Timed) -> Any:
        timed.make(subject_delete_marker_ttl=30 * SECOND, **fields)
        timed.say(headers={TTL: ttl, "A": "b"})
        return timed.rows()

    ((_, _, headers, _),) = both(pair, scenario)
    is_raised = stored != ttl
    lines = ["A: b", f"Nats-TTL: {stored}"] if is_raised else [f"Nats-TTL: {stored}", "A: b"]
    assert headers == "\r\n".join(["NATS/1.0", *lines, "", ""])
