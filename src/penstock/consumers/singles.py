"""Requests of one message each that come together, and for which there is a message now.

They need not wait: whoever comes first has the next message, as if each had been let in, served and
dropped by itself. It takes one call to the ledger. Where anything else would come of a request (it
is refused, others wait already, a rule says who is next), nobody is served here.
"""

from penstock.consumers.core import Core
from penstock.consumers.pause import Pause
from penstock.consumers.pull_request import Asked, PullRequest, parse_pull
from penstock.consumers.pulling import Pulling
from penstock.model.consumer_config import PriorityPolicy


class Singles:
    """The way past the queue of one consumer."""

    def __init__(self, core: Core, pause: Pause, pulling: Pulling) -> None:
        self._core = core
        self._pause = pause
        self._pulling = pulling

    def serve(self, body: bytes, inboxes: list[bytes], now_ns: int) -> int:
        """Requests in the same words: how many of them, from the first on, had their message. The
        others were not taken; `wake` follows if there were any."""
        request = parse_pull(body)
        if not isinstance(request, PullRequest) or not self._is_served_at_once(request, now_ns):
            return 0
        delivered = self._core.deliver([(inbox, 1, 0) for inbox in inboxes], now_ns)
        return sum(messages for messages, _ in delivered.served)

    def _is_served_at_once(self, request: PullRequest, now_ns: int) -> bool:
        core, pulling = self._core, self._pulling
        return (
            request.batch <= 1
            and not request.max_bytes
            and request.expires_ns >= 0
            and not len(pulling.waiting)
            and core.config.priority_policy is PriorityPolicy.NONE
            and core.replay is None
            and not self._pause.is_on(now_ns)
            and Asked(request, core.config, pulling.priority.pin) == pulling.allowed
            and not core.is_at_end
        )
