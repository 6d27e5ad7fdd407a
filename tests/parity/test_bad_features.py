"""Bad lifetimes, increments and batches: the rows of the reliability guide's table.

The last step of a row is refused with its code, the reference's own where penstock is stricter, and
a refusal changes nothing: the stream is what it was before.
"""

from typing import Any, NamedTuple

import pytest

from tests.parity.batch_steps import ATOMIC, last, part
from tests.parity.copying import pair, servers
from tests.parity.counter_steps import add, counter
from tests.parity.numbered import Pub
from tests.parity.stream_api_cases import info, made, updated
from tests.parity.streams_peer import Api, Pair, Peer, Pipelined, Step, err_code

__all__ = ["pair", "servers"]  # fixtures

TIMED = made(allow_msg_ttl=True)
STORED = 0  # no error


class Row(NamedTuple):
    """What comes before, what is refused, and with which code."""

    before: list[Step]
    bad: Pub | Api
    code: int
    theirs: int | None = None  # the reference's, where it differs


def ttl(value: str) -> Pub:
    return Pub("t.a", b"x", {"Nats-TTL": value})


def created(**fields: Any) -> Api:
    return made("U", **fields)


LIFETIMES = {
    **{f"TTL {value}": Row([TIMED], ttl(value), 10165) for value in ("abc", "-5", "500ms", "1.5")},
    "TTL on a plain stream": Row([made()], ttl("5"), 10166),
    **{
        f"TTL that overflows, {value}": Row([TIMED], ttl(value), 10165, STORED)
        for value in ("9223372036", "9223372037", "18446744073709551616")
    },
    "marker TTL of half a second": Row(
        [made()], updated(subject_delete_marker_ttl=500_000_000), 10052
    ),
}
EXPECTATIONS = {
    "Nats-Rollup": "sub",
    "Nats-Expected-Stream": "T",
    "Nats-Expected-Last-Sequence": "1",
    "Nats-Expected-Last-Subject-Sequence": "1",
    "Nats-Expected-Last-Msg-Id": "x",
}
COUNTED: list[Step] = [counter(), add("+7")]
COUNTERS = {
    "increment on a plain stream": Row([made()], add("+1"), 10168),
    "increment missing": Row(COUNTED, Pub("t.a", b""), 10169),
    "increment empty": Row(COUNTED, add(""), 10169),
    "increment with payload": Row(COUNTED, add("+1", payload=b"x"), 10170),
    **{
        f"increment {value!r}": Row(COUNTED, add(value), 10171)
        for value in ("abc", "+", "-", "+1.5", "+1_0", "+٣", "0x10", "+1 ")
    },
    **{f"increment {value!r}": Row(COUNTED, add(value), 10171, STORED) for value in ("5", "0")},
    **{
        f"increment with {name}": Row(COUNTED, add("+1", **{name: value}), 10171)
        for name, value in EXPECTATIONS.items()
    },
    "forged source": Row(COUNTED, add("+1", **{"Nats-Stream-Source": "O 1 > > t.a"}), 10227),
    "forged sources": Row(
        COUNTED, add("+1", **{"Nats-Counter-Sources": '{"O":{"t.a":"5"}}'}), 10171, STORED
    ),
    **{
        f"counter with {fields}": Row([], created(allow_msg_counter=True, **fields), 10052)
        for fields in ({"retention": "workqueue"}, {"discard": "new"}, {"allow_msg_ttl": True})
    },
}
BATCHES = {
    "batch disabled": Row([made()], part(1), 10174),
    **{f"batch sequence {value!r}": Row([ATOMIC], part(value), 10175) for value in (None, "x", "")},
    "batch starts at 2": Row([ATOMIC], part(2), 10176),
    "batch with a gap": Row([ATOMIC, part(1)], part(3), 10176),
    "batch id of 65": Row([ATOMIC], part(1, batch="i" * 65), 10179),
    "batch with a bad commit": Row([ATOMIC, part(1)], part(2, commit="no"), 10200),
    "batch with a duplicate id": Row(
        [ATOMIC, part(1, Nats_Msg_Id="i")], last(2, Nats_Msg_Id="i"), 10201
    ),
    "batch with an id that is known": Row(
        [ATOMIC, Pub("t.a", b"x", {"Nats-Msg-Id": "i"})], last(1, Nats_Msg_Id="i"), 10201
    ),
    "message 1001": Row(
        [ATOMIC, Pipelined([part(number) for number in range(1, 1001)])], part(1001), 10199
    ),
    "open batch 51": Row(
        [ATOMIC, Pipelined([part(1, batch=str(number)) for number in range(50)])], part(1), 10210
    ),
    "batches with async persist": Row([], created(allow_atomic=True, persist_mode="async"), 10052),
}
ROWS = LIFETIMES | COUNTERS | BATCHES


def state(peer: Peer) -> Any:
    return {name: value for name, value in peer.play(info()).items() if name != "ts"}


@pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in ROWS.items()])
def test_bad_input_is_refused_and_changes_nothing(pair: Pair, row: Row) -> None:
    pair.play(row.before)
    before = state(pair.ours)
    theirs, ours = pair.reference.play(row.bad), pair.ours.play(row.bad)
    assert err_code(ours) == row.code
    assert state(pair.ours) == before
    if row.theirs is None:
        assert ours == theirs
    else:
        assert err_code(theirs) == row.theirs


def test_too_many_open_batches_are_told_as_429(pair: Pair) -> None:
    row = ROWS["open batch 51"]
    pair.play([*row.before, row.bad])
    assert pair.ours.play(row.bad)["error"]["code"] == 429
