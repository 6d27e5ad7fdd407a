"""Purging, on the kernel's store and on the obvious one."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.storage import Blocks
from penstock.storage.block_store import BlockStore
from penstock.storage.store import Record, Store
from penstock.streams.purging import purge
from tests.unit.streams.model_store import ModelStore


def filled(store: Store, removed: set[int], gaps: set[int]) -> Store:
    """Twenty sequences, some never used and some removed again."""
    for sequence in range(1, 21):
        if sequence not in gaps:
            store.append(Record(sequence, sequence, b"t.%d" % (sequence % 2), b"", b""))
    for sequence in removed:
        store.remove(sequence, erase=False)
    return store


@given(
    removed=st.sets(st.integers(1, 20)),
    gaps=st.sets(st.integers(1, 19)),
    pattern=st.sampled_from([b"", b">", b"t.1"]),
    bound=st.sampled_from(["sequence", "keep"]),
    value=st.integers(0, 25) | st.just(2**61),
)
def test_what_is_left(
    removed: set[int], gaps: set[int], pattern: bytes, bound: str, value: int
) -> None:
    sequence, keep = (value, 0) if bound == "sequence" else (0, value)
    store = filled(BlockStore(Blocks.in_memory("S"), None), removed, gaps)
    model = filled(ModelStore(memory=True), removed, gaps)
    assert isinstance(model, ModelStore)
    matching = [
        number
        for number, record in sorted(model.records.items())
        if pattern in (b"", b">", record.subject)
    ]
    gone = [number for number in matching if not sequence or number < sequence]
    gone = gone[: max(0, len(gone) - keep)]
    assert purge(store, pattern=pattern, sequence=sequence, keep=keep) == len(gone)
    left = [number for number in range(1, 21) if store.load(number) is not None]
    assert left == sorted(set(model.records) - set(gone))
