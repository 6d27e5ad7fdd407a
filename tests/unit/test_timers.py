"""The timer wheel against a sorted list."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.server.timers import TICK_NS, TimerWheel

ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.integers(0, 5), st.integers(0, 50 * TICK_NS)),
        st.tuples(st.just("cancel"), st.integers(0, 5), st.just(0)),
        st.tuples(st.just("advance"), st.just(0), st.integers(0, 10 * TICK_NS)),
    )
)


@given(ACTIONS)
def test_fires_what_is_due_once_and_never_early(actions: list[tuple[str, int, int]]) -> None:
    wheel = TimerWheel()
    model: dict[int, int] = {}
    now_ns = 0
    fired: list[int] = []
    for action, key, amount_ns in actions:
        if action == "set":
            deadline_ns = now_ns + amount_ns
            model[key] = deadline_ns
            wheel.set(key, deadline_ns, lambda key=key: fired.append(key))  # type: ignore[misc]
        elif action == "cancel":
            model.pop(key, None)
            wheel.cancel(key)
        else:
            now_ns += amount_ns
            fired.clear()
            wheel.advance(now_ns)
            assert len(set(fired)) == len(fired)
            for done in fired:
                assert model.pop(done) <= now_ns
            # What is left is at most one tick late.
            assert all(deadline_ns > now_ns - TICK_NS for deadline_ns in model.values())
        assert len(wheel) == len(model)


def test_a_callback_may_set_its_own_timer_again() -> None:
    wheel = TimerWheel()
    times: list[int] = []

    def again() -> None:
        times.append(1)
        wheel.set("again", 2 * TICK_NS, again)

    wheel.set("again", TICK_NS, again)
    wheel.advance(TICK_NS)
    assert times == [1]
    assert wheel.next_ns() == 2 * TICK_NS


def test_cancelled_ticks_do_not_wake_anybody() -> None:
    wheel = TimerWheel()
    wheel.set("a", TICK_NS, lambda: None)
    wheel.cancel("a")
    assert wheel.next_ns() is None
