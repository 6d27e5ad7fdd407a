"""ADR-50, atomic batches, sentence by sentence.

Where penstock differs from the reference it is because of the document: the advisory's type, and
its two reasons. Where the document says what the reference has outgrown (message ids in batches),
it is as the reference.
"""

import base64
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.parity import batch_cases
from tests.parity.batch_steps import (
    ACK,
    ATOMIC,
    LISTEN,
    ZERO,
    abandoned,
    codes,
    end,
    last,
    part,
    same,
    stored,
    whole,
)
from tests.parity.copying import make, publish, rows
from tests.parity.copying import same as copies_of
from tests.parity.numbered import Pub
from tests.parity.publish_cases import EXPECTED_LAST, EXPECTED_SUBJECT, ID
from tests.parity.servers import PENSTOCK, REFERENCE, Server
from tests.parity.stream_api_cases import info, made, updated
from tests.parity.streams_peer import (
    Api,
    Heard,
    Pair,
    Peer,
    Pipelined,
    Quiet,
    Step,
)

TIMEOUT_CONFIG = """jetstream {{ store_dir: "{0}", limits {{ batch {{ timeout: "{1}" }} }} }}"""


@contextmanager
def patient_for(timeout: str, folders: pytest.TempPathFactory) -> Iterator[Pair]:
    """Servers that wait so long for the next message of a batch."""
    configs = [TIMEOUT_CONFIG.format(folders.mktemp("store"), timeout) for _ in range(2)]
    with (
        Server(REFERENCE, config=configs[0]) as reference,
        Server(PENSTOCK, config=configs[1]) as penstock,
    ):
        pair = Pair(Peer(reference), Peer(penstock))
        yield pair
        pair.close()


# Client design


def test_a_batch_is_started_by_an_id_and_sequence_1_and_the_reply_has_zero_bytes(
    pair: Pair,
) -> None:
    assert same(pair, [ATOMIC, part(1)])[1:] == [ZERO]


def test_the_maximum_length_of_the_id_is_64_characters(pair: Pair) -> None:
    steps = [ATOMIC, part(1, batch="i" * 64), part(1, batch="i" * 65), part(None, batch="i" * 65)]
    assert codes(same(pair, steps)[1:]) == [0, 10179, 10179]


def test_following_messages_increment_the_sequence_and_get_a_zero_byte_reply_if_they_ask_for_it(
    pair: Pair,
) -> None:
    answers = same(pair, [ATOMIC, part(1), part(2), part(3, acked=False), part(4), last(5)])
    assert answers[1:] == [ZERO, ZERO, ZERO, ACK % (5, 5)]


def test_the_final_message_is_stored_commits_the_batch_and_gets_a_pub_ack(pair: Pair) -> None:
    answers = same(pair, [ATOMIC, Pub("t.x"), part(1), last(2, "t.b"), info()])
    assert answers[3] == ACK % (3, 2)
    assert answers[4]["state"]["messages"] == 3
    assert stored(pair.ours) == stored(pair.reference)


def test_with_eob_the_final_message_commits_the_batch_and_is_not_stored(pair: Pair) -> None:
    """What was last in it gets the commit header."""
    answers = same(pair, [ATOMIC, part(1), part(2, A="b"), end(3), info()])
    assert answers[3] == ACK % (2, 2)
    assert answers[4]["state"]["messages"] == 2
    assert stored(pair.ours) == stored(pair.reference)


@pytest.mark.parametrize("counts", [False, True], ids=["plain", "counter"])
def test_the_commit_header_that_eob_adds_does_not_count_against_max_msg_size(
    pair: Pair, counts: bool
) -> None:
    """Messages of all lengths up to the bound and beyond, each a batch of its own."""
    increment = {"Nats_Incr": "+1"} if counts else {}
    steps: list[Step] = [made(allow_atomic=True, max_msg_size=150, allow_msg_counter=counts)]
    for length in range(20, 110, 3):
        batch = {"batch": f"b{length}", **increment}
        steps += [part(1, payload=b"", A="x" * length, **batch), end(2, **batch)]
    ends = same(pair, [*steps, info()])[2:-1:2]
    too_long = {10176}  # it never came into its batch
    assert set(codes(ends)) == {0} | too_long | ({10054} if counts else set())


def test_the_initial_message_gets_an_error_or_a_zero_byte_ack(pair: Pair) -> None:
    answers = same(pair, [made(), made("U", allow_atomic=True), part(1), part(1, "u.a")])
    assert (codes(answers[2:3]), answers[3]) == ([10174], ZERO)


def test_control_headers_are_sent_with_payload(pair: Pair) -> None:
    """There are no additional messages: one may start and commit a batch."""
    assert same(pair, [ATOMIC, last(1, payload=b"all of it")])[1:] == [ACK % (1, 1)]
    (found,) = stored(pair.ours)
    assert found == stored(pair.reference)[0]
    assert base64.b64decode(found["message"]["data"]) == b"all of it"


@pytest.mark.parametrize("level", ["0", "2", "3", "5", ""])
def test_when_eob_is_used_the_required_api_level_is_evaluated(pair: Pair, level: str) -> None:
    required = {"Nats_Required_Api_Level": level}
    answers = same(pair, [ATOMIC, part(1, **required), part(2, **required), end(3, **required)])
    assert answers[3] == ACK % (2, 2)
    assert stored(pair.ours) == stored(pair.reference)


@pytest.mark.parametrize("level", ["6", "x", "-"])
@pytest.mark.parametrize("place", [1, 2])
def test_a_required_api_level_that_is_not_served_ends_the_batch(
    pair: Pair, level: str, place: int
) -> None:
    required = {"Nats_Required_Api_Level": level}
    steps = [LISTEN, ATOMIC, part(1)][: place + 1]
    answers = same(pair, [*steps, end(place, **required), last(place + 1), info()])
    assert codes(answers[-3:-1]) == [10185, 10176]
    abandoned(pair, "b", "unsupported", "incomplete")


# Server errors


@pytest.mark.parametrize(
    ("code", "steps"), batch_cases.ERRORS, ids=[str(code) for code, _ in batch_cases.ERRORS]
)
def test_each_error_has_its_code(pair: Pair, code: int, steps: list[Step]) -> None:
    answers = same(pair, steps)
    assert answers[-1]["error"]["err_code"] == code


# Server behavior


def test_an_id_that_is_too_long_gets_an_error_pub_ack(pair: Pair) -> None:
    answers = same(pair, [ATOMIC, part(1, batch="i" * 65), last(1, batch="i" * 65), info()])
    assert codes(answers[1:3]) == [10179, 10179]
    assert answers[3]["state"]["messages"] == 0


def test_messages_for_which_the_batch_is_unknown_are_rejected(pair: Pair) -> None:
    """Nobody but the sender is told."""
    answers = same(pair, [LISTEN, ATOMIC, part(2), last(2), part(0), part(3, batch="c"), Quiet()])
    assert codes(answers[1:5]) == [10176] * 4
    assert answers[5] == []


@pytest.mark.parametrize("sequence", [1, 2, 4, 1000, 0])
@pytest.mark.parametrize("acked", [True, False])
def test_if_any_gap_is_detected_the_batch_is_rejected(
    pair: Pair, sequence: int, acked: bool
) -> None:
    steps = [LISTEN, ATOMIC, part(1), part(2), part(sequence, acked=acked), last(3), info()]
    answers = same(pair, steps)
    assert codes(answers[3:-1]) == ([10176] if acked else []) + [10176]
    assert answers[-1]["state"]["messages"] == 0
    abandoned(pair, "b", "incomplete")


def test_expectations_are_checked_at_the_commit_with_the_sequences_prior_to_the_batch(
    pair: Pair,
) -> None:
    """Against what is stored by then, not when the messages came."""
    expected = {EXPECTED_LAST.replace("-", "_"): "1"}
    steps = [ATOMIC, part(1, **expected), Pub("t.x"), last(2)]
    assert same(pair, steps)[-1] == ACK % (3, 2)
    steps = [part(1, **expected), Pub("t.x"), last(2), info()]
    answers = same(pair, steps)
    assert answers[-2]["error"]["description"] == "wrong last sequence: 4"
    assert answers[-1]["state"]["messages"] == 4


def test_the_batch_is_rejected_if_any_message_fails_these_checks(pair: Pair) -> None:
    wrong = Pub("t.c", b"x", {EXPECTED_SUBJECT: "7"})
    answers = same(pair, [ATOMIC, *whole(Pub("t.a"), Pub("t.b"), wrong, Pub("t.d")), info()])
    assert codes(answers[1:5]) == [0, 0, 0, 10071]
    assert answers[5]["state"]["last_seq"] == 0


@pytest.mark.parametrize("place", [1, 2, 3])
def test_only_the_first_message_may_contain_an_expected_last_sequence(
    pair: Pair, place: int
) -> None:
    messages = [Pub("t.a", b"x", {EXPECTED_LAST: "1"} if at == place else {}) for at in (1, 2, 3)]
    answers = same(pair, [ATOMIC, Pub("t.x"), *whole(*messages)])
    assert codes(answers[-1:]) == ([0] if place == 1 else [10071])


def test_a_subject_sequence_can_only_be_expected_if_no_prior_entry_writes_to_it(
    pair: Pair,
) -> None:
    expecting = Pub("t.a", b"x", {EXPECTED_SUBJECT: "1"})
    steps = [ATOMIC, Pub("t.a"), *whole(Pub("t.b"), Pub("t.a"), expecting)]
    assert codes(same(pair, steps)[-1:]) == [10164]
    assert same(pair, whole(Pub("t.b"), expecting, Pub("t.a")))[-1] == ACK % (4, 3)


def test_a_batch_without_messages_is_abandoned_without_an_error_and_an_advisory_is_raised(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with patient_for("3s", tmp_path_factory) as pair:
        same(pair, [LISTEN, ATOMIC, part(1), part(2)])
        abandoned(pair, "b", "timeout")
        assert codes(same(pair, [last(3), info()])[:1]) == [10176]
        assert codes(same(pair, [part(1), last(2), info()])[:2]) == [0, 0]


def test_the_ack_has_the_final_sequence_and_the_previous_messages_the_preceding_ones(
    pair: Pair,
) -> None:
    steps: list[Step] = [ATOMIC]
    for number in range(1, 6):
        steps += [part(number, "t.b"), Pub("t.x"), part(number, "t.c", batch="c")]
    steps += [last(6, "t.b"), Pub("t.x"), last(6, "t.c", batch="c"), info(subjects_filter=">")]
    answers = same(pair, steps)
    assert answers[-4:-1] == [
        ACK % (11, 6),
        '{"stream":"T","seq":12}',
        '{"stream":"T","seq":18,"batch":"c","count":6}',
    ]
    subjects = [message["message"]["subject"] for message in stored(pair.ours)]
    assert subjects == ["t.x"] * 5 + ["t.b"] * 6 + ["t.x"] + ["t.c"] * 6
    assert stored(pair.ours) == stored(pair.reference)


def test_if_a_stream_operates_in_async_persist_mode_any_batch_fails(pair: Pair) -> None:
    atomic = made(persist_mode="async", allow_atomic=True)
    answers = same(pair, [atomic, made(persist_mode="async"), part(1), last(1)])
    assert codes(answers) == [10052, 0, 10174, 10174]


# Limits


def test_each_stream_can_only_have_50_batches_in_flight(pair: Pair) -> None:
    opened = Pipelined([part(1, batch=str(number)) for number in range(50)])
    answers = same(pair, [ATOMIC, opened, part(1), last(1), last(2, batch="7"), part(1), last(2)])
    assert answers[1] == [ZERO] * 50
    assert codes(answers[2:]) == [10210, 10210, 0, 0, 0]
    assert answers[2]["error"]["code"] == 429


def test_each_server_can_only_have_1000_batches_in_flight(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """However long it takes to open them: none of them is too old by then."""
    steps: list[Step] = []
    for number in range(20):
        name = f"S{number}"
        steps.append(made(name, allow_atomic=True, storage="memory"))
        steps.append(Pipelined([part(1, f"s{number}.a", batch=str(batch)) for batch in range(50)]))
    steps += [ATOMIC, part(1), Api("STREAM.DELETE.S3"), part(1), last(2)]
    with patient_for("110s", tmp_path_factory) as pair:
        answers = same(pair, steps)
    assert all(answer == [ZERO] * 50 for answer in answers[1:40:2])
    assert codes(answers[40:]) == [0, 10210, 0, 0, 0]


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_a_batch_that_has_not_had_traffic_for_10_seconds_is_abandoned(pair: Pair) -> None:
    same(pair, [LISTEN, ATOMIC, part(1)])
    deadline = time.monotonic() + 7  # a loaded machine is late with the last look
    while time.monotonic() < deadline:
        assert pair.reference.play(Quiet()) == pair.ours.play(Quiet()) == []
    abandoned(pair, "b", "timeout")


def test_each_batch_can_have_maximum_1000_messages(pair: Pair) -> None:
    thousand = Pipelined([part(number) for number in range(1, 1001)])
    answers = same(pair, [LISTEN, ATOMIC, thousand, end(1001), thousand, part(1001), last(1001)])
    assert answers[2] == ACK % (1000, 1000)
    assert answers[4]["error"]["description"] == "atomic publish batch is too large: 1000"
    assert codes(answers[4:]) == [10199, 10199]
    abandoned(pair, "b", "large", "incomplete")
    answers = same(pair, [thousand, end(1002), info()])
    assert codes(answers[1:2]) == [10176]
    abandoned(pair, "b", "incomplete")
    assert answers[2]["state"]["messages"] == 1000


# Stream state constraints


def test_an_expected_last_message_id_is_rejected(pair: Pair) -> None:
    expecting = part(1, Nats_Expected_Last_Msg_Id="i")
    answers = same(pair, [ATOMIC, Pub("t.a", headers={ID: "i"}), expecting, last(2), info()])
    assert codes(answers[2:4]) == [0, 10177]


def test_message_ids_are_supported_by_now_and_a_duplicate_rejects_the_batch(pair: Pair) -> None:
    """The spec's first release refused them and left it open; the reference accepts them."""
    steps = [ATOMIC, part(1, Nats_Msg_Id="1"), last(2, Nats_Msg_Id="2"), info()]
    within = [part(1, Nats_Msg_Id="3"), last(2, Nats_Msg_Id="3")]
    known = [part(1, Nats_Msg_Id="4"), last(2, Nats_Msg_Id="1")]
    single = Pub("t.a", headers={ID: "2"})
    answers = same(pair, [*steps, *within, *known, single, Pub("t.a", headers={ID: "4"}), info()])
    assert codes(answers[1:]) == [0, 0, 0, 0, 10201, 0, 10201, 0, 0, 0]
    assert answers[8] == '{"stream":"T","seq":2,"duplicate": true}'
    assert answers[9] == '{"stream":"T","seq":3}'


# Publish acknowledgements and advisories


def test_the_pub_ack_at_the_end_of_a_batch_has_its_id_and_its_size(pair: Pair) -> None:
    answers = same(pair, [ATOMIC, Pub("t.x"), *whole(*[Pub("t.a")] * 3)])
    assert answers[-1] == '{"stream":"T","seq":4,"batch":"b","count":3}'
    assert answers[1] == '{"stream":"T","seq":1}'


def test_when_a_batch_is_abandoned_an_advisory_has_its_id_and_the_reason(pair: Pair) -> None:
    """`abandoned` has the whole of it, with its type."""
    same(pair, [LISTEN, ATOMIC, part(1, batch="mine"), part(3, batch="mine")])
    abandoned(pair, "mine", "incomplete")


# Stream configuration


def test_the_setting_can_be_disabled_and_enabled_using_updates(pair: Pair) -> None:
    off, on = updated(), updated(allow_atomic=True)
    answers = same(pair, [ATOMIC, off, last(1), on, last(1), off, last(1), info()])
    assert codes([answers[at] for at in (2, 4, 6)]) == [10174, 0, 10174]
    assert "allow_atomic" not in answers[-1]["config"]


def test_disabling_it_abandons_open_batches(pair: Pair) -> None:
    """The reference tells nobody."""
    off, on = updated(), updated(allow_atomic=True)
    same(pair, [LISTEN, ATOMIC, part(1), part(1, batch="c"), off])
    assert pair.reference.play(Quiet()) == []
    events = pair.ours.play(Heard(2))
    assert [(event["batch"], event["reason"]) for *_, event in events] == [
        ("b", "incomplete"),
        ("c", "incomplete"),
    ]
    answers = same(pair, [part(2), on, part(2), last(2, batch="c"), part(1), last(2)])
    assert codes(answers) == [10174, 0, 10176, 10176, 0, 0]


def test_setting_this_to_true_sets_the_api_level_to_2(pair: Pair) -> None:
    created = same(pair, [ATOMIC])[0]
    assert created["config"]["allow_atomic"] is True
    assert created["config"]["metadata"]["_nats.req.level"] == "2"


# Mirrors and sources


def test_mirrors_cannot_enable_this_setting(pair: Pair) -> None:
    mirror = {"name": "M", "mirror": {"name": "T"}, "allow_atomic": True}
    assert codes(same(pair, [made(), Api("STREAM.CREATE.M", mirror)])) == [0, 10198]


def batch_copied(peer: Peer, **copy: Any) -> Any:
    """A batch into O, and what a stream C has of it."""
    make(peer, "O", subjects=["o.>"], allow_atomic=True)
    make(peer, "C", **copy)
    publish(peer, "o.x")
    expecting = {"Nats_Expected_Last_Subject_Sequence": "0", "Nats_Expected_Stream": "O"}
    steps = [part(1, "o.a", A="b"), part(2, "o.b", **expecting), last(3, "o.a", Nats_Msg_Id="1")]
    answers = [peer.play(step) for step in steps]
    assert answers == ["", "", '{"stream":"O","seq":4,"batch":"b","count":3}']
    return rows(peer, "C", 4)


def test_mirrors_ignore_the_expected_and_the_batching_headers(pair: Pair) -> None:
    found = copies_of(pair, lambda peer: batch_copied(peer, mirror={"name": "O"}))
    assert [row[:3] for row in found] == [
        (1, "o.x", ""),
        (2, "o.a", "NATS/1.0\r\nA: b\r\n\r\n"),
        (3, "o.b", ""),
        (4, "o.a", "NATS/1.0\r\nNats-Msg-Id: 1\r\n\r\n"),
    ]


def test_streams_with_sources_can_enable_this_setting_and_ignore_sourced_batching_headers(
    pair: Pair,
) -> None:
    def scenario(peer: Peer) -> Any:
        batch_copied(peer, sources=[{"name": "O"}], allow_atomic=True, subjects=["c.>"])
        own = [peer.play(step) for step in whole(Pub("c.a"), Pub("c.b"))]
        assert own[1] == '{"stream":"C","seq":6,"batch":"b","count":2}'
        return rows(peer, "C", 6)

    found = copies_of(pair, scenario)
    assert [row[2].count("Nats-Batch") for row in found] == [0, 0, 0, 0, 2, 3]
    assert [row[2].count("Nats-Expected") for row in found] == [0] * 6
