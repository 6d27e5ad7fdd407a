"""A configuration under examination: what every check of `CHECKS` is given.

Checks see both what was asked and what the defaults made of it, because pedantic mode refuses the
difference and some rules of the reference hold for one of the two.
"""

from collections.abc import Callable
from typing import NamedTuple

from penstock.model.api_errors import ApiError, Fault
from penstock.model.stream_config import StreamConfig
from penstock.streams.resources import Surroundings


class Draft(NamedTuple):
    """One request with its surroundings."""

    asked: StreamConfig
    config: StreamConfig  # with the defaults filled in
    given: frozenset[str]  # the fields that the request names
    pedantic: bool
    around: Surroundings

    @property
    def standing(self) -> StreamConfig | None:
        """What the stream is now, if there is one: its lists were compared when they came, and
        those of an older version must not be in the way of an update that leaves them alone."""
        return self.around.streams.get(self.config.name)


Check = Callable[[Draft], ApiError | None]


def refused(reason: str) -> ApiError:
    """10052, which most rules of a configuration answer."""
    return Fault.STREAM_CONFIG_INVALID.error(reason=reason)


def first_error(checks: tuple[Check, ...], draft: Draft) -> ApiError | None:
    """What the first check that objects has to say."""
    try:
        for check in checks:
            if (error := check(draft)) is not None:
                return error
    except ApiError as error:  # from the depths of a comparison that was given up
        return error
    return None
