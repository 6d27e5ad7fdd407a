"""Atomic batches beyond what ADR-50 says (`tests/specs`): both servers are told the same."""

import random

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
from tests.parity.copying import pair, servers
from tests.parity.numbered import Pub
from tests.parity.servers import PENSTOCK, REFERENCE, Server
from tests.parity.stream_api_cases import Scenarios, get, info, made, updated
from tests.parity.streams_peer import (
    Api,
    Awaited,
    Heard,
    Listen,
    Pair,
    Peer,
    Pipelined,
    Quiet,
    Step,
    Until,
)

__all__ = ["pair", "servers"]  # fixtures


def test_eob_alone_is_incomplete(pair: Pair) -> None:
    assert codes(same(pair, [LISTEN, ATOMIC, end(1), info()])[1:2]) == [10176]
    abandoned(pair, "b", "incomplete")


def test_a_first_message_without_a_reply_starts_a_batch(pair: Pair) -> None:
    assert same(pair, [ATOMIC, part(1, acked=False), last(2)])[1:] == [ACK % (2, 2)]


def test_a_commit_without_a_reply_commits(pair: Pair) -> None:
    same(pair, [ATOMIC, part(1), last(2, acked=False), Until("T", 2)])


def test_eob_with_sequence_0_is_no_batch_that_is_too_large(pair: Pair) -> None:
    """The reference takes one from nothing."""
    same(pair, [ATOMIC])
    assert [codes([peer.play(end(0))]) for peer in (pair.reference, pair.ours)] == [
        [10199],
        [10176],
    ]


def test_an_id_may_be_used_again(pair: Pair) -> None:
    steps = [ATOMIC, part(1), last(2), part(1), part(3), part(1), last(2), info()]
    assert codes(same(pair, steps)[1:-1]) == [0, 0, 0, 10176, 0, 0]


def test_a_refused_batch_leaves_nothing_and_can_be_sent_again(pair: Pair) -> None:
    wrong = {"Nats_Expected_Last_Subject_Sequence": "7"}
    steps = [ATOMIC, part(1, Nats_Msg_Id="i"), last(2, "t.b", **wrong), info()]
    answers = same(pair, [*steps, part(1, Nats_Msg_Id="i"), last(2, "t.b"), info()])
    assert codes(answers[1:3]) == [0, 10071]
    assert answers[3]["state"]["last_seq"] == 0
    assert answers[5] == ACK % (2, 2)


def test_another_update_keeps_open_batches(pair: Pair) -> None:
    steps = [ATOMIC, part(1), updated(allow_atomic=True, description="x"), last(2)]
    assert same(pair, steps)[-1] == ACK % (2, 2)


def test_a_limit_lowered_before_the_commit_counts(pair: Pair) -> None:
    """The reference looks at sizes only when messages come."""
    smaller = updated(allow_atomic=True, max_msg_size=150)
    same(pair, [ATOMIC, part(1, payload=b"x" * 200), smaller])
    assert [codes([peer.play(last(2))]) for peer in (pair.reference, pair.ours)] == [[0], [10054]]


def test_a_deleted_stream_takes_its_batches_with_it(pair: Pair) -> None:
    """Nobody is told of each of them."""
    same(pair, [LISTEN, ATOMIC, part(1), Api("STREAM.DELETE.T")])
    pair.clear()
    answers = same(pair, [ATOMIC, last(2), info()])
    assert codes(answers[-2:-1]) == [10176]
    assert same(pair, [Quiet()]) == [[]]


def test_a_restart_abandons_open_batches(tmp_path_factory: pytest.TempPathFactory) -> None:
    folders = [tmp_path_factory.mktemp(name) for name in ("theirs", "ours")]
    for steps, answer in (([ATOMIC, part(1), part(2)], ZERO), ([last(3)], 10176)):
        with (
            Server(REFERENCE, ("-js", "-sd", str(folders[0]))) as reference,
            Server(PENSTOCK, ("-js", "-sd", str(folders[1]))) as penstock,
        ):
            pair = Pair(Peer(reference), Peer(penstock))
            found = same(pair, steps)[-1]
            assert found == answer or codes([found]) == [answer]
            pair.close()


# Who sees a batch, and when


def test_nothing_of_a_batch_is_seen_before_its_commit(pair: Pair) -> None:
    consumer = {"durable_name": "C", "ack_policy": "none", "deliver_subject": "d"}
    request = {"stream_name": "T", "config": consumer}
    follow: list[Step] = [
        Listen("d"),
        Listen("r.>"),
        made(allow_atomic=True, republish={"src": ">", "dest": "r.>"}),
        Api("CONSUMER.DURABLE.CREATE.T.C", request),
        part(1),
        part(2, "t.b"),
    ]
    for step in follow:
        pair.reference.play(step)
        pair.ours.play(step)
    before = same(pair, [info(), get(seq=1), get(last_by_subj="t.a"), Quiet()])
    assert before[0]["state"]["messages"] == 0
    assert before[-1] == []
    same(pair, [last(3), Heard(6, ordered=False), info()])
    figures = Api("CONSUMER.INFO.T.C")
    pending = [peer.play(figures)["num_pending"] for peer in (pair.reference, pair.ours)]
    assert pending == [0, 0]


def cases(scenarios: Scenarios) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "steps", [pytest.param(steps, id=name) for name, steps in scenarios.items()]
    )


@cases(batch_cases.ALL)
def test_what_a_batch_comes_to(pair: Pair, steps: list[Step]) -> None:
    pair.play([*steps, info(deleted_details=True, subjects_filter=">")])
    assert stored(pair.ours) == stored(pair.reference)


def test_a_copy_of_a_batch_goes_to_a_stream_as_the_messages_of_a_batch(pair: Pair) -> None:
    source = made(allow_atomic=True, republish={"src": "t.>", "dest": "u.>"})
    steps = [made("U", allow_atomic=True), source, *whole(*map(Pub, ("t.a", "t.b", "t.c")))]
    same(pair, [*steps, Awaited("U", 3)])
    pair.clear()
    same(pair, [made("U"), source, *whole(Pub("t.a"), Pub("t.b")), info("U")])


MIXES, MIXES_EACH = 60, 12


@pytest.mark.parametrize("seed", range(0, MIXES, MIXES_EACH))
def test_the_order_of_the_checks_is_the_same(pair: Pair, seed: int) -> None:
    for number in range(seed, seed + MIXES_EACH):
        chance = random.Random(number)
        steps: list[Step] = [made(**batch_cases.mixed_config(chance)), *batch_cases.mixed(chance)]
        steps += [Pipelined(batch_cases.mixed(chance) + batch_cases.mixed(chance))]
        pair.play([*steps, info(deleted_details=True, subjects_filter=">")])
        assert stored(pair.ours) == stored(pair.reference)
        pair.clear()
