"""What a configuration may say that streams do not do yet.

Such a stream is refused with 10052 and the field's name, after every other rule was asked, so that
errors stay those of the reference. The issue that builds a feature removes its line here; what is
not planned at all is refused in `streams.validation`.
"""

from collections.abc import Callable

from penstock.model.api_errors import ApiError, Fault
from penstock.model.stream_config import StreamConfig

UNBUILT: tuple[tuple[str, Callable[[StreamConfig], bool]], ...] = (
    ("mirror", lambda config: config.mirror is not None),
    ("sources", lambda config: bool(config.sources)),
    ("subject_delete_marker_ttl", lambda config: config.subject_delete_marker_ttl > 0),
    ("allow_msg_ttl", lambda config: config.allow_msg_ttl),
    ("allow_msg_counter", lambda config: config.allow_msg_counter),
    ("allow_atomic", lambda config: config.allow_atomic),
)


def unbuilt_feature(config: StreamConfig) -> ApiError | None:
    """The refusal of a configuration that asks for something unbuilt."""
    for field, is_used in UNBUILT:
        if is_used(config):
            return Fault.STREAM_CONFIG_INVALID.error(reason=f"{field} is not supported yet")
    return None
