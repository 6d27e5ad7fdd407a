"""A ledger's snapshot is read and written as the kernel does it."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.consumers.ledger_state import LedgerState, Pending, Place
from penstock.kernel.consumers import AckPolicy, Entry, Figures, Ledger

SEQUENCES = st.integers(1, 2**61)
TIMES = st.integers(-(2**63), 2**63 - 1)


def new_ledger() -> Ledger:
    return Ledger(
        ack_subject=b"$JS.ACK.S.C.",
        ack_policy=AckPolicy.EXPLICIT,
        filters=[],
        headers_only=False,
        recorded=True,
    )


@st.composite
def states(draw: st.DrawFn) -> LedgerState:
    rows = draw(st.dictionaries(SEQUENCES, st.tuples(SEQUENCES, TIMES), max_size=20))
    pending = [Pending(sequence, *rows[sequence]) for sequence in sorted(rows)]
    deliveries = draw(st.dictionaries(SEQUENCES, st.integers(1, 2**61), max_size=5))
    deliveries |= {row.sequence: 2 for row in pending[::3]}
    places = [Place(draw(SEQUENCES), draw(SEQUENCES)) for _ in range(2)]
    return LedgerState(places[0], places[1], pending, deliveries)


@given(states())
def test_what_is_written_the_kernel_reads_and_writes_again(state: LedgerState) -> None:
    ledger = new_ledger()
    ledger.restore(state.encode())
    figures = Figures(*ledger.figures())
    assert (figures.delivered_consumer, figures.delivered_stream) == state.delivered
    assert (figures.floor_consumer, figures.floor_stream) == state.floor
    assert figures.cursor == state.delivered.stream + 1
    assert (figures.ack_pending, figures.redelivered) == (len(state.pending), len(state.deliveries))
    for sequence, number, since_ns in state.pending:
        found = ledger.entry(sequence)
        assert found is not None
        assert Entry(*found) == (number, since_ns, state.deliveries.get(sequence, 1), False)
    assert LedgerState.decode(ledger.snapshot()) == state


def test_runs_and_the_queue_are_read() -> None:
    rows = [Pending(sequence, sequence + 7, 5) for sequence in range(3, 900)]
    state = LedgerState(Place(1000, 950), Place(9, 2), rows, {})
    ledger = new_ledger()
    ledger.restore(state.encode())
    assert ledger.nak(20, 27)
    assert ledger.nak(10, 17)
    assert LedgerState.decode(ledger.snapshot()) == state._replace(queued=frozenset({10, 20}))
