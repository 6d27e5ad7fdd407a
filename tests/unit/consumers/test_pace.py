"""Flow control, rate limits and replay."""

from penstock.consumers.flow_control import WINDOW_BYTES_FIRST, WINDOW_BYTES_MAX, FlowControl
from penstock.consumers.pace import SECOND_NS, RateLimit, Replay


def test_an_answer_is_wanted_at_half_of_the_window() -> None:
    """With messages of 100,000 bytes the reference asks behind the 11th and stops behind the 21st;
    after the answer behind the 32nd and the 53rd."""
    flow, asked, stopped = FlowControl(), [], []
    for number in range(1, 54):
        flow.sent(100_000)
        if flow.wants_answer:
            asked.append(number)
            flow.ask(f"request {number}")
        if flow.is_stalled:
            stopped.append(number)
            assert not flow.answered("another")
            assert flow.answered(flow.request)
    assert asked == [11, 32]
    assert stopped == [21, 53]


def test_room_ends_where_something_is_to_be_decided() -> None:
    flow = FlowControl()
    assert flow.room_bytes == WINDOW_BYTES_FIRST // 2
    flow.sent(flow.room_bytes + 1)
    assert flow.wants_answer
    flow.ask("r")
    assert flow.out_bytes + flow.room_bytes == WINDOW_BYTES_FIRST


def test_the_window_has_an_end() -> None:
    flow = FlowControl()
    for _ in range(10):
        flow.ask("r")
        flow.answered("r")
    assert flow.window_bytes == WINDOW_BYTES_MAX


def test_a_message_larger_than_the_window_does_not_stall_for_ever() -> None:
    flow = FlowControl()
    flow.sent(WINDOW_BYTES_FIRST // 2 + 1)
    flow.ask("r")
    flow.sent(8 * WINDOW_BYTES_FIRST)
    assert flow.is_stalled
    flow.answered("r")
    assert not flow.is_stalled


def test_rate_limit() -> None:
    limit = RateLimit(8_000, 500, 0)  # 1,000 bytes in a second
    assert limit.room_bytes(0) == 500
    limit.sent(700)
    assert limit.room_bytes(0) == -200
    ready_ns = limit.ready_ns()
    assert ready_ns == 201 * SECOND_NS // 1000
    assert limit.room_bytes(ready_ns - 1_000_000) <= 0
    assert limit.room_bytes(ready_ns) == 1
    assert limit.room_bytes(100 * SECOND_NS) == 500


def test_many_looks_lose_nothing() -> None:
    limit = RateLimit(8_000, 10_000, 0)
    limit.sent(10_000)
    for moment_ns in range(0, SECOND_NS + 1, 1_234_567):
        limit.room_bytes(moment_ns)
    assert limit.room_bytes(SECOND_NS) == 1000


def test_replay_keeps_the_gaps() -> None:
    replay = Replay(sequence_last=3)
    start_ns = 1000 * SECOND_NS
    assert replay.ready_ns(5 * SECOND_NS) <= start_ns
    replay.left(5 * SECOND_NS, start_ns)
    assert replay.ready_ns(7 * SECOND_NS) == start_ns + 2 * SECOND_NS
    # A timer that is late does not delay what follows, and a long break is no reason to hurry.
    replay.left(7 * SECOND_NS, start_ns + 2 * SECOND_NS + 20_000_000)
    assert replay.ready_ns(8 * SECOND_NS) == start_ns + 3 * SECOND_NS
    replay.left(8 * SECOND_NS, start_ns + 60 * SECOND_NS)
    assert replay.ready_ns(9 * SECOND_NS) == start_ns + 61 * SECOND_NS
    assert not replay.is_over(3)
    assert replay.is_over(4)
