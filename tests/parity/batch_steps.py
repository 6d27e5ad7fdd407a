"""Messages of atomic batches as steps, and what the two servers say about them."""

from collections.abc import Sequence
from typing import Any

from tests.parity.numbered import Pub
from tests.parity.stream_api_cases import get, made
from tests.parity.streams_peer import Heard, Listen, Pair, Peer, Step

BATCH, SEQUENCE, COMMIT = "Nats-Batch-Id", "Nats-Batch-Sequence", "Nats-Batch-Commit"
LEVEL = "Nats-Required-Api-Level"
ABANDONED = "$JS.EVENT.ADVISORY.STREAM.BATCH_ABANDONED.>"
ADVISORY = "io.nats.jetstream.advisory.v1."
ZERO = ""  # what a message is answered that waits with its batch
ACK = '{"stream":"T","seq":%d,"batch":"b","count":%d}'

ATOMIC = made(allow_atomic=True)
LISTEN = Listen(ABANDONED)


def part(
    sequence: int | str | None,
    subject: str = "t.a",
    payload: bytes = b"x",
    *,
    batch: str | None = "b",
    commit: str | None = None,
    acked: bool = True,
    **headers: str,
) -> Pub:
    """One message of a batch; a name of a header has _ for -."""
    control = {BATCH: batch, SEQUENCE: sequence, COMMIT: commit}
    found = {name: str(value) for name, value in control.items() if value is not None}
    found |= {name.replace("_", "-"): value for name, value in headers.items()}
    return Pub(subject, payload, found, acked)


def last(sequence: int | str, subject: str = "t.a", payload: bytes = b"x", **more: Any) -> Pub:
    """The message that commits a batch."""
    return part(sequence, subject, payload, commit="1", **more)


def end(sequence: int | str, **more: Any) -> Pub:
    """The one that does and is not stored."""
    return part(sequence, payload=b"", commit="eob", **more)


def whole(*parts: Pub) -> list[Step]:
    """A batch of messages that were made with their places in it left open."""
    steps: list[Step] = []
    for number, one in enumerate(parts, 1):
        headers = dict(one.headers) if isinstance(one.headers, dict) else {}
        headers |= {BATCH: headers.get(BATCH, "b"), SEQUENCE: str(number)}
        if number == len(parts):
            headers[COMMIT] = "1"
        steps.append(Pub(one.subject, one.payload, headers))
    return steps


def same(pair: Pair, steps: Sequence[Step]) -> list[Any]:
    """What both servers answer, which must be the same; without steps that are answered nothing."""
    found = []
    for number, step in enumerate(steps):
        theirs, ours = pair.reference.play(step), pair.ours.play(step)
        assert ours == theirs, f"step {number}: {str(step)[:300]}"
        found.append(ours)
    return [answer for answer in found if answer is not None]


def codes(answers: Sequence[Any]) -> list[int]:
    """Of answers to publishes, their error codes; 0 for none."""
    return [
        answer["error"]["err_code"] if isinstance(answer, dict) and "error" in answer else 0
        for answer in answers
    ]


def abandoned(pair: Pair, batch: str, theirs: str, ours: str = "") -> None:
    """Both tell that a batch was given up: the type is the spec's, and the reference has its own;
    so are the reasons."""
    for peer, kind, reason in (
        (pair.reference, "stream_batch_abandoned", theirs),
        (pair.ours, "batch_abandoned", ours or theirs),
    ):
        ((subject, _, event),) = peer.play(Heard(1))
        assert subject == "$JS.EVENT.ADVISORY.STREAM.BATCH_ABANDONED.T"
        assert event == {
            "type": ADVISORY + kind,
            "id": "<id>",
            "timestamp": "<time>",
            "stream": "T",
            "batch": batch,
            "reason": reason,
        }


def stored(peer: Peer) -> list[Any]:
    """The messages of T, with their headers."""
    state = peer.ask("STREAM.INFO.T")["state"]
    sequences = range(state["first_seq"], state["last_seq"] + 1)
    return [peer.play(get(seq=sequence)) for sequence in sequences if sequence]
