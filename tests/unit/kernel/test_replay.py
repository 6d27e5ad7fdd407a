"""The log's past: runs go into the stores they belong to, all else comes out in its place."""

from pathlib import Path

from penstock.kernel.storage import Blocks, Log

RUN, OTHER = 3, 4


def message(log: Log, stream: int, sequence: int, payload: bytes = b"m") -> int:
    return log.append_message(stream, RUN, sequence, sequence * 10, b"s", b"", payload)


def closed(log: Log) -> None:
    log.commit()
    log.wait_durable(log.last())


def opened(root: Path) -> Log:
    return Log(str(root), "log", 7)


def sequences(blocks: Blocks) -> list[int]:
    last = blocks.state()[4]
    return [number for number in range(1, last + 1) if blocks.load(number)]


def test_runs_are_stored_and_the_rest_is_seen_in_order(tmp_path: Path) -> None:
    log = opened(tmp_path)
    for sequence in (1, 2):
        message(log, 1, sequence)
        message(log, 2, sequence)
    log.append(1, OTHER, b"one")
    message(log, 1, 3)
    log.append(2, OTHER, b"two")
    message(log, 9, 1)
    message(log, 2, 3)
    closed(log)
    del log
    log, one, two = opened(tmp_path), Blocks.in_memory("A"), Blocks.in_memory("B")
    stores = {1: (one, 0), 2: (two, 0)}
    assert log.next_replayed(RUN, stores) == (5, 1, OTHER, b"one")
    assert (sequences(one), sequences(two)) == ([1, 2], [1, 2])
    assert log.next_replayed(RUN, stores) == (7, 2, OTHER, b"two")
    assert (sequences(one), sequences(two)) == ([1, 2, 3], [1, 2])
    entry = log.next_replayed(RUN, stores)
    assert entry is not None
    assert entry[:3] == (8, 9, RUN)
    other = Blocks.in_memory("C")
    other.replay_run(entry[3])
    assert sequences(other) == [1]
    assert log.next_replayed(RUN, stores) is None
    assert sequences(two) == [1, 2, 3]
    assert log.gaps() == []


def test_what_a_store_has_is_passed_over(tmp_path: Path) -> None:
    """By its mark, whatever is in it; and what it holds beyond that, by sequence."""
    log = opened(tmp_path)
    for sequence in (1, 2, 3, 4):
        message(log, 1, sequence, b"from the log")
    closed(log)
    del log
    log, blocks = opened(tmp_path), Blocks.in_memory("A")
    blocks.remove_below(2)
    blocks.append(2, 20, b"s", b"", b"there already")
    assert log.next_replayed(RUN, {1: (blocks, 1)}) is None
    assert sequences(blocks) == [2, 3, 4]
    payloads = [record[4] for number in (2, 3) if (record := blocks.load(number))]
    assert payloads == [b"there already", b"from the log"]
    assert log.gaps() == []


def test_a_gap_before_a_run_is_told(tmp_path: Path) -> None:
    log = opened(tmp_path)
    for sequence in (1, 5, 6):
        message(log, 4, sequence)
    closed(log)
    del log
    log, blocks = opened(tmp_path), Blocks.in_memory("A")
    assert log.next_replayed(RUN, {4: (blocks, 0)}) is None
    assert sequences(blocks) == [1, 5, 6]
    assert log.gaps() == [(4, 2, 4)]
    assert blocks.replay_run((9).to_bytes(8, "little") + bytes(8)) == (7, 8)
