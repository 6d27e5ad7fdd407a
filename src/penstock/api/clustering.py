"""The part of `$JS.API` that moves streams between servers: a single one cannot."""

from typing import Any

from penstock.model.api_errors import Fault


def refuse_alone(_names: str, _payload: bytes) -> dict[str, Any]:
    raise Fault.CLUSTER_REQUIRED.error()


# Subject without `$JS.API.`, and the middle of the reply's type.
SUBJECTS = (
    ("STREAM.LEADER.STEPDOWN.*", "stream_leader_stepdown"),
    ("STREAM.PEER.REMOVE.*", "stream_remove_peer"),
    ("CONSUMER.LEADER.STEPDOWN.*.*", "consumer_leader_stepdown"),
)
