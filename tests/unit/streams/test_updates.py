"""What may change, beyond what the parity tests compare with the reference."""

from penstock.model.api_errors import ApiError
from penstock.streams.updates import ConsumerBounds, UpdateState, check_update
from tests.unit.streams.configs import (
    SECOND,
    around,
    create,
    request,
    update,
    update_refusal,
)


def test_what_an_update_leaves_out_goes_back_to_its_default() -> None:
    old = create(max_msgs=5, description="x", metadata={"a": "b"}, subjects=["a"])
    assert update(old) == create()


def test_counters_go_off_at_any_time() -> None:
    old = create(allow_msg_counter=True)
    assert not update(old, messages=5).allow_msg_counter


def test_counters_come_on_while_the_stream_is_empty() -> None:
    old = create()
    config = update(old, messages=0, allow_msg_counter=True)
    assert config.allow_msg_counter
    assert config.metadata == {"_nats.req.level": "2"}
    answer = update_refusal(old, messages=1, allow_msg_counter=True)
    assert answer == (10052, "message counters can only be enabled while the stream is empty")


def test_read_consistency_stays_when_an_update_does_not_mention_it() -> None:
    old = create(read_consistency="weak")
    assert update(old, description="x").read_consistency == "weak"
    assert update(old, description="x", allow_direct=True).allow_direct
    assert update(old, read_consistency="").read_consistency == "weak"


def test_read_consistency_that_stays_is_not_contradicted() -> None:
    old = create(read_consistency="weak")
    answer = update_refusal(old, allow_direct=False)
    assert answer == (10052, "read consistency weak requires allow_direct to be true")


def test_read_consistency_default_clears_it() -> None:
    old = create(read_consistency="strong")
    config = update(old, read_consistency="default", allow_direct=True)
    assert config == create(allow_direct=True)


def test_read_consistency_may_change() -> None:
    old = create(read_consistency="weak")
    config = update(old, read_consistency="strong")
    assert not config.allow_direct
    assert config.metadata == {"_nats.req.level": "3"}


def test_a_mirror_is_promoted_by_leaving_it_out() -> None:
    old = create(mirror={"name": "O"}, read_consistency="weak")
    config = update(old, subjects=["a"])
    assert config.mirror is None
    assert config.allow_direct and not config.mirror_direct
    assert update_refusal(old, mirror={"name": "P"})[0] == 10055


def test_sealing_keeps_what_is_there() -> None:
    old = create(max_age=60 * SECOND, allow_rollup_hdrs=True)
    config = update(old, sealed=True, max_age=60 * SECOND, allow_rollup_hdrs=True)
    assert (config.max_age, config.discard) == (0, "new")
    assert config.deny_delete and config.deny_purge and not config.allow_rollup_hdrs


def test_limits_count_the_difference() -> None:
    old = create(max_bytes=900_000_000)
    assert update(old, max_bytes=1_000_000_000).max_bytes == 1_000_000_000
    assert update_refusal(old, max_bytes=2_000_000_000)[0] == 10047
    assert update(old).max_bytes == -1


def test_consumers_that_new_limits_would_break() -> None:
    old = create()
    state = UpdateState(
        consumers=(
            ConsumerBounds("slow", 30 * SECOND, 10),
            ConsumerBounds("wide", SECOND, 1000),
            ConsumerBounds("small", SECOND, 10),
        )
    )
    limits = {"inactive_threshold": 10 * SECOND, "max_ack_pending": 100}
    outcome = check_update("T", request(consumer_limits=limits), state, around(old))
    assert isinstance(outcome, ApiError)
    assert (outcome.code, outcome.err_code) == (500, 10069)
    assert outcome.description == "change to limits violates consumers: slow, wide"
