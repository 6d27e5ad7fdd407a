"""The reference in order, for programs that watch KV buckets.

nats-py asks how much is left right after it has subscribed. The reference sends messages and
replies from different threads: it may answer "nothing" before it has sent what it counts as
delivered. The client then takes the bucket for empty, and `keys`, `history` and watchers end too
soon. penstock sends both in order and needs none of this; for the reference the answer is held back
here until what it speaks of has come.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from nats.js import JetStreamContext
from nats.js.api import ConsumerInfo

from tests.parity.servers import Implementation

ARRIVAL_SECONDS_MAX = 30.0
LOOK_SECONDS = 0.002


@contextmanager
def in_order(implementation: Implementation) -> Iterator[None]:
    """While it is open, watchers on the reference are told of nothing they do not have."""
    subscription = JetStreamContext.PushSubscription
    ask = subscription.consumer_info

    async def consumer_info(self: JetStreamContext.PushSubscription) -> ConsumerInfo:
        info = await ask(self)
        deadline = time.monotonic() + ARRIVAL_SECONDS_MAX
        sent = info.delivered.consumer_seq if info.delivered else 0
        while self.delivered < sent:
            assert time.monotonic() < deadline, f"{self.delivered} of {sent} messages came"
            await asyncio.sleep(LOOK_SECONDS)
        return info

    with pytest.MonkeyPatch.context() as patch:
        if implementation.name == "reference":
            patch.setattr(subscription, "consumer_info", consumer_info)
        yield
