"""What becomes of a request to create or update a consumer.

Two steps, because between them the stream is looked up: `accepted` holds the request against its
subject, `decide` against the stream and its consumers. Neither changes anything; whoever owns the
consumers carries out the `Decision`.
"""

from typing import NamedTuple

from penstock.consumers import defaults, updates
from penstock.consumers.draft import Draft, Surroundings, first_error
from penstock.consumers.naming import Address, addressed, generated_name
from penstock.consumers.validation import CHECKS, PLACE_CHECKS, one_replica
from penstock.model.api_errors import ApiError, Fault
from penstock.model.consumer_config import ConsumerConfig
from penstock.model.consumer_request import Action, ConsumerRequest


class Decision(NamedTuple):
    """A consumer to make, or to go on with under this configuration."""

    name: str
    config: ConsumerConfig
    is_new: bool


def accepted(address: Address, request: ConsumerRequest) -> ApiError | ConsumerRequest:
    """The request, with its name, if it agrees with its subject."""
    request_or_error = addressed(address, request)
    if isinstance(request_or_error, ApiError):
        return request_or_error
    return one_replica(request_or_error) or request_or_error


def decide(request: ConsumerRequest, around: Surroundings, number: int) -> ApiError | Decision:
    """The consumer that an accepted request gives; `number` is random, for a name if need be."""
    try:
        return _decided(request, around, number)
    except ApiError as error:  # from the depths of a comparison that was given up
        return error


def _decided(request: ConsumerRequest, around: Surroundings, number: int) -> ApiError | Decision:
    name = request.config.durable_name or request.config.name
    old = around.consumers.get(name) if name else None
    asked = updates.kept(old, request.config)
    draft = Draft(asked, defaults.filled(asked, around), request.pedantic, around)
    if (error := first_error((defaults.said_as_meant, *CHECKS), draft)) is not None:
        return error
    if old is not None:
        if request.action is Action.CREATE:
            if not updates.is_same(draft.config, old):
                return Fault.CONSUMER_ALREADY_EXISTS.error()
            draft = draft._replace(config=updates.levelled(draft.config, old))
        changed = updates.check_update(name, old, draft)
        return changed if isinstance(changed, ApiError) else Decision(name, changed, False)
    if request.action is Action.UPDATE:
        return Fault.CONSUMER_DOES_NOT_EXIST.error()
    if (error := first_error(PLACE_CHECKS, draft)) is not None:
        return error
    config = defaults.with_threshold(draft.config, is_durable=bool(asked.durable_name))
    return Decision(name or generated_name(number, around.consumers), config, True)
