"""What the server publishes to its own targets, through the binding."""

from penstock.kernel.hub import Frame, Hub, picked_frames
from tests.properties.hub_walk import open_client, small_hub


def taken(hub: Hub) -> list[tuple[int, Frame]]:
    """The targets and frames of one round."""
    return [
        (target, frame)
        for target, start, end in hub.loopback_runs()
        for frame in picked_frames(hub, start, end)
    ]


def test_a_target_gets_the_message_as_a_frame() -> None:
    hub = small_hub()
    client = open_client(hub)
    assert hub.add_target(0, b"kept.>", 3)
    hub.begin(1)
    assert hub.publish(0, b"kept.a", b"r", b"H", b"text")
    assert hub.loops_back()
    ((target, frame),) = taken(hub)
    assert (target, frame.subject, frame.reply) == (3, b"kept.a", b"r")
    assert (frame.headers, frame.body) == (b"H", b"text")
    assert frame.connection != client
    assert taken(hub) == []


def test_a_round_is_cut_into_runs_and_causes_another() -> None:
    hub = small_hub()
    for number, pattern in enumerate((b"a", b"b", b">")):
        assert hub.add_target(0, pattern, number)
    hub.begin(1)
    for subject in (b"a", b"b", b"a"):
        assert hub.publish(0, subject, b"", b"", b"")
    runs = [(target, end - start) for target, start, end in hub.loopback_runs()]
    assert sorted(runs) == [(0, 2), (1, 1), (2, 3)]
    assert hub.publish(0, b"b", b"", b"", b"again")
    assert {(target, frame.body) for target, frame in taken(hub)} == {(1, b"again"), (2, b"again")}


def test_behind_the_gate_it_waits() -> None:
    hub = small_hub()
    assert hub.add_target(0, b"a", 1)
    hub.begin(1)
    hub.set_gate(5)
    assert hub.publish(0, b"a", b"", b"", b"x")
    hub.set_gate(0)
    assert hub.held_bytes() > 0
    assert not hub.loops_back()
    hub.release_held(4)
    assert taken(hub) == []
    hub.release_held(5)
    assert [frame.body for _, frame in taken(hub)] == [b"x"]


def test_a_target_that_left_gets_nothing() -> None:
    hub = small_hub()
    assert hub.add_target(0, b"a", 1)
    hub.begin(1)
    assert hub.publish(0, b"a", b"", b"", b"x")
    assert hub.remove_target(0, b"a", 1)
    assert taken(hub) == []
    assert not hub.loops_back()


def test_listens() -> None:
    hub = small_hub()
    client = open_client(hub)
    assert not hub.listens(0, b"a.b")
    assert hub.subscribe(client, b"a.*", None, b"1")
    assert hub.listens(0, b"a.b")
    hub.close(client)
    assert not hub.listens(0, b"a.b")
    assert hub.take_loopback_lost() == 0
