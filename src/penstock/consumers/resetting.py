"""Where a consumer may be set back to, or forward: the same as where it might have started."""

from penstock.model.api_errors import Fault
from penstock.model.consumer_config import ConsumerConfig, DeliverPolicy
from penstock.model.limits import SEQUENCE_BEYOND
from penstock.model.timestamps import unix_ns
from penstock.storage.store import Lookup


def reset_sequence(config: ConsumerConfig, asked: int, floor: int, store: Lookup) -> int:
    """The sequence to go on with; 0 asks for the first that is not acknowledged."""
    if asked == 0:
        return floor + 1
    return min(_allowed(config, asked, store), SEQUENCE_BEYOND)


def _allowed(config: ConsumerConfig, asked: int, store: Lookup) -> int:
    match config.deliver_policy:
        case DeliverPolicy.ALL:
            return asked
        case DeliverPolicy.BY_START_SEQUENCE:
            return _at_least(asked, config.opt_start_seq, "below start seq")
        case DeliverPolicy.BY_START_TIME:
            assert config.opt_start_time is not None, "validation wants one"
            first = store.sequence_at(unix_ns(config.opt_start_time))
            return _at_least(asked, first, "below start time")
        case _:
            raise Fault.CONSUMER_RESET_INVALID.error(reason="not allowed")


def _at_least(asked: int, first: int, reason: str) -> int:
    if asked < first:
        raise Fault.CONSUMER_RESET_INVALID.error(reason=reason)
    return asked
