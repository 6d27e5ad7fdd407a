"""Scenarios of consumers on a server that is stopped and started again: what it still knows.

Each is two lists of steps, before and after. The server is stopped in good order, so nothing that
was answered may be lost; what crashes leave is tested elsewhere.
"""

from tests.parity.consumer_lifecycle_cases import FUTURE, LATER, paused, reset
from tests.parity.consumer_steps import (
    MS,
    SECOND,
    Ack,
    Done,
    Figures,
    Got,
    Missing,
    Reached,
    Steps,
    consumer,
    consumer_info,
    ephemeral,
    fetched,
    nak,
    pull,
    push,
    set_up,
    stored,
    term,
)
from tests.parity.numbered import Pub
from tests.parity.stream_api_cases import info, made, purge, removed
from tests.parity.streams_peer import Api, Listen

ALL: dict[str, tuple[Steps, Steps]] = {
    "positions": (
        [*set_up(5), *fetched(3), Ack(1), Ack(3), Figures()],
        [Figures(), consumer_info(), *fetched(2), Figures(), Ack(2), Figures()],
    ),
    "nothing delivered yet": (
        [*set_up(5, deliver_policy="by_start_sequence", opt_start_seq=3), Figures()],
        [Figures(), *fetched(3), Figures()],
    ),
    "redeliveries": (
        [*set_up(3), *fetched(2), nak(1), *fetched(1), Figures()],
        [Figures(), nak(1), *fetched(1), Ack(1), Ack(2), Figures()],
    ),
    "ack_wait runs on": (
        [*set_up(2, ack_wait=2 * SECOND), *fetched(2), Figures()],
        [pull(2, **LATER), Got(2), Figures()],
    ),
    "given up": (
        [
            *set_up(2, max_deliver=1, ack_wait=100 * MS),
            *fetched(1),
            Reached({"ack_pending": 0}),
        ],
        [Figures(), *fetched(1)],
    ),
    "acknowledging all": (
        [*set_up(4, ack_policy="all"), *fetched(3), Ack(2), Figures()],
        [Figures(), Ack(3), Figures(), *fetched(1)],
    ),
    "without acknowledgement": (
        [*set_up(4, ack_policy="none"), *fetched(3), Figures()],
        [Figures(), *fetched(1), Figures()],
    ),
    "terminated": (
        [*set_up(3), *fetched(2), term(1), Figures()],
        [Figures(), *fetched(1), Figures()],
    ),
    "removed and purged": (
        [*set_up(5), *fetched(3), removed(seq=2), Reached({"ack_pending": 2}), purge(keep=2)],
        [Figures(), *fetched(2), Figures()],
    ),
    "filtered": (
        [*set_up(9, 3, filter_subjects=["t.0", "t.1"]), *fetched(3), Ack(1), Figures()],
        [Figures(), *fetched(3), Figures()],
    ),
    "last of each, half taken": (
        [
            *set_up(6, 3, deliver_policy="last_per_subject", filter_subject="t.>"),
            *fetched(1),
            Figures(),
        ],
        [Figures(), *fetched(1), Figures()],
    ),
    "pushed": (
        [made(), *stored(3), Listen("D.c"), push(max_ack_pending=2), Got(2), Ack(1), Got(1)],
        [Figures(), Listen("D.c"), Ack(2), Ack(3), Reached({"ack_pending": 0})],
    ),
    "paused": (
        [*set_up(2), paused(FUTURE)],
        [consumer_info(), pull(1, expires=200 * MS), Got(1), Figures()],
    ),
    "updated": (
        [*set_up(4, 2), *fetched(1), consumer(filter_subject="t.1", description="x")],
        [consumer_info(), *fetched(2), Figures()],
    ),
    "reset": (
        [*set_up(5), *fetched(4), Done(reset(2)), *fetched(2), Figures()],
        [Figures(), *fetched(2), Figures()],
    ),
    "an ephemeral": (
        [made(), *stored(2), ephemeral(inactive_threshold=60 * SECOND), *fetched(1), Figures()],
        [Figures(), *fetched(1), Figures()],
    ),
    "an ephemeral nobody asks": (
        [made(), ephemeral(inactive_threshold=SECOND)],
        [Missing()],
    ),
    "an ephemeral in memory": (
        [made(), *stored(2), ephemeral(inactive_threshold=60 * SECOND, mem_storage=True)],
        [Figures()],
    ),
    "a workqueue": (
        [made(retention="workqueue"), *stored(4), consumer(), *fetched(3), Ack(2), info()],
        [info(), Figures(), Ack(1), *fetched(1), info(), Figures()],
    ),
    "a workqueue, passed over": (
        [made(retention="workqueue"), *stored(6), consumer(), *fetched(2), Ack(1), reset(5)],
        [info(), *fetched(1), Ack(5), info(), reset(2), *fetched(4), info()],
    ),
    "interest": (
        [
            made(retention="interest"),
            consumer("A"),
            consumer("B"),
            *stored(3),
            Reached({"pending": 3}, "A"),
            *fetched(2, "A"),
            Ack(1, consumer="A"),
            Ack(2, consumer="A"),
        ],
        [
            info(),
            Figures("A"),
            Figures("B"),
            *fetched(3, "B"),
            Ack(1, consumer="B"),
            Ack(3, consumer="B"),
            info(),
        ],
    ),
    "names and lists": (
        [made(), consumer("b"), consumer("a"), ephemeral("c", inactive_threshold=60 * SECOND)],
        [Api("CONSUMER.NAMES.T"), Api("CONSUMER.LIST.T"), info()],
    ),
    "new messages": (
        [*set_up(1), *fetched(1), Ack(1)],
        [pull(2, **LATER), Pub("t.a", b"2"), Got(1), Figures()],
    ),
}
