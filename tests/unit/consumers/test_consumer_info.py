"""What is shown of a consumer beyond what the parity tests can bring about."""

from penstock.api.consumer_info import ConsumerState, pause_remaining_ns, show_consumer
from penstock.model.consumer_config import ConsumerConfig
from penstock.model.timestamps import unix_ns


def test_one_delivery_is_no_redelivery() -> None:
    state = ConsumerState(num_redelivered=3)
    for max_deliver, expected in ((-1, 3), (1, 0), (2, 3)):
        config = ConsumerConfig(max_deliver=max_deliver)
        assert show_consumer("T", "C", config, 0, state, 0)["num_redelivered"] == expected


def test_what_is_left_of_a_pause() -> None:
    config = ConsumerConfig(pause_until="2024-01-01T00:00:01Z")
    now_ns = unix_ns("2024-01-01T00:00:00Z")
    assert pause_remaining_ns(ConsumerConfig(), now_ns) == 0
    assert pause_remaining_ns(config, now_ns) == 1_000_000_000
    assert pause_remaining_ns(config, now_ns + 1_000_000_000) == 0
    far = ConsumerConfig(pause_until="9999-12-31T23:59:59Z")
    assert pause_remaining_ns(far, now_ns) < 2**63
    assert "paused" not in show_consumer("T", "C", config, 0, ConsumerState(), now_ns * 2)
