"""Pull consumers: requests come in, wait, and are served in turn.

The kernel shares messages out among all that wait with one call, unless a rule has to be asked
between two messages: then there is one call for each. What happens when a request is looked at, in
which order, is the reference's: expired ones and those that nobody listens for go when their turn
comes, and whenever all are looked at.
"""

from penstock.consumers import statuses
from penstock.consumers.core import HINDRANCES, Core
from penstock.consumers.pause import Pause
from penstock.consumers.priority import Priority, Turn
from penstock.consumers.pull_request import Asked, PullRequest, Refusal, first_refusal, parse_pull
from penstock.consumers.waiting import Fate, Waiter, Waiting, fate_of
from penstock.kernel.consumers import Delivered, Stop
from penstock.model.consumer_config import PriorityPolicy

LOOK_NS_MIN = 1_000_000_000  # between two looks for room in a full queue, as the reference
FINAL = (Stop.END, Stop.ACK_PENDING, Stop.BUSY)  # nobody can be served for now
REQUEST_ENDS = (Stop.BYTES, Stop.NO_INTEREST)
SHARING_MAX = 64  # requests in one call: a single new message must not cost a look at hundreds


class Pulling:
    """The requests of one consumer."""

    def __init__(self, core: Core, pause: Pause) -> None:
        self._core = core
        self._pause = pause
        self.waiting = Waiting()
        self.priority = Priority(core)
        self._looked_ns = 0
        self.allowed: Asked | None = None  # the last that nothing was said against

    def ask(self, body: bytes, inbox: bytes, now_ns: int) -> None:
        """A request arrives."""
        request = parse_pull(body)
        refusal: Refusal | None
        if isinstance(request, PullRequest):
            asked = Asked(request, self._core.config, self.priority.pin)
            refusal = None if asked == self.allowed else first_refusal(asked)
            if refusal is None:
                self.allowed = asked
                refusal = self._accept(request, inbox, now_ns)
        else:
            refusal = request
        if refusal is not None:
            self._core.outlet.send(inbox, refusal.headers)

    def _accept(self, request: PullRequest, inbox: bytes, now_ns: int) -> Refusal | None:
        self.priority.touch(request, now_ns)
        waiting_max = self._core.config.max_waiting
        if len(self.waiting) >= waiting_max and now_ns - self._looked_ns > LOOK_NS_MIN:
            self.look(now_ns, at_end=False)
        if request.no_wait and (refusal := self._impatient(request, now_ns)) is not None:
            self._core.active_ns = now_ns
            return refusal
        if len(self.waiting) >= waiting_max:
            # One with heartbeats notices by itself, and would only ask again at once.
            return None if request.heartbeat_ns else Refusal(statuses.exceeded("MaxWaiting"))
        self.waiting.add(Waiter(inbox, request, now_ns), by_priority=self.priority.orders)
        self._core.active_ns = now_ns
        if self._pause.is_on(now_ns) and self.waiting.impatient:
            self.look(now_ns, at_end=True)  # as the reference, when one asks and not when it begins
        return None

    def _impatient(self, request: PullRequest, now_ns: int) -> Refusal | None:
        """Whether there is nothing for a request that does not wait."""
        available = self._core.outlet.pending() + self._core.figures.queued
        if available == 0:
            return None if request.expires_ns else Refusal(statuses.NO_MESSAGES)
        self.look(now_ns, at_end=False)
        if available < self.waiting.wanted():
            return Refusal(statuses.REQUESTS_PENDING)
        return None

    def serve(self, now_ns: int) -> None:
        """Delivers what there is to whoever waits."""
        if not len(self.waiting):
            return
        at_end = False  # a pause is no end of the messages
        if not self._pause.is_on(now_ns):
            shares = self._core.config.priority_policy is PriorityPolicy.NONE
            at_end = self._share_out(now_ns) if shares else self._serve_by_rules(now_ns)
        if at_end and self.waiting.impatient:
            self.look(now_ns, at_end=True)

    def _share_out(self, now_ns: int) -> bool:
        """To all in turn. Returns true if there is nothing more."""
        if self._drop_expired(now_ns) and self._core.is_at_end:
            self._core.held_up_by = None
            return True
        crowded: list[Waiter] = []
        stop = Stop.DONE
        while stop not in FINAL and self._drop_expired(now_ns):
            allowed = self._core.allowed(now_ns)
            if allowed == 0:
                break
            waiters = self.waiting.first(allowed or SHARING_MAX)
            once = allowed is not None or len(waiters) < len(self.waiting)
            asks = [(w.inbox, 1 if once else max(1, w.left), w.bytes_left) for w in waiters]
            delivered = self._core.deliver(asks, now_ns)
            for waiter, (messages, size) in zip(waiters, delivered.served, strict=True):
                self._served(waiter, messages, size, now_ns)
            stop, index = Stop(delivered.stop), delivered.request
            next_index = len(waiters) if stop is Stop.DONE else index + (stop is Stop.BATCH)
            self.waiting.rotate(waiters, next_index)
            if stop in REQUEST_ENDS:
                self._stopped(waiters[index], delivered)
            elif stop is Stop.CROWDED:
                self.waiting.drop(waiters[index])
                crowded.append(waiters[index])
        for waiter in crowded:
            self.waiting.add(waiter)
        self._core.held_up_by = Stop.CROWDED if crowded else None
        if stop is Stop.BUSY:
            self._core.held_up_by = stop
        return stop is Stop.END

    def _serve_by_rules(self, now_ns: int) -> bool:
        """As `_share_out`, where the priority policy is asked who is next."""
        while (waiter := self._next(now_ns)) is not None:
            allowed = self._core.allowed(now_ns)
            if allowed == 0:
                return False
            count = allowed or self.priority.run_length(self.waiting)
            ask = (waiter.inbox, count, waiter.bytes_left)
            delivered = self._core.deliver([ask], now_ns, header=self.priority.header)
            messages, size = delivered.served[0]
            self._served(waiter, messages, size, now_ns)
            if messages:
                self.waiting.requeue(by_priority=self.priority.orders)
            stop = Stop(delivered.stop)
            self._core.held_up_by = stop if stop in HINDRANCES else None
            if stop in FINAL or stop is Stop.CROWDED:
                return stop is Stop.END
            if stop in REQUEST_ENDS:
                self._stopped(waiter, delivered)
        return True

    def _next(self, now_ns: int) -> Waiter | None:
        """Whose turn it is by the rules."""
        cycled = 0
        self._drop_expired(now_ns)
        while (waiter := self.waiting.head) is not None and cycled < len(self.waiting):
            match self.priority.turn(waiter, now_ns):
                case Turn.SERVE:
                    return waiter
                case Turn.LATER:
                    self.waiting.cycle()
                    cycled += 1
                case Turn.NEVER:
                    self._close(waiter, statuses.WRONG_PIN)
                    self.waiting.drop(waiter)
                case Turn.NOBODY:
                    return None
        return None

    def _served(self, waiter: Waiter, messages: int, size: int, now_ns: int) -> None:
        if not messages:
            return
        waiter.delivered += messages
        waiter.left -= messages
        if waiter.bytes_left:
            waiter.bytes_left -= size
            if waiter.bytes_left <= 0:  # the end, whatever the batch was
                waiter.left = 0
        if waiter.heartbeat_ns:
            waiter.heartbeat_at_ns = now_ns + waiter.heartbeat_ns
        if waiter.left <= 0 and waiter.bytes_left > 0:
            self._close(waiter, statuses.BATCH_COMPLETED)

    def _stopped(self, waiter: Waiter, delivered: Delivered) -> None:
        """A request cannot be served any further."""
        if waiter.is_done:
            return
        if delivered.stop == Stop.BYTES:
            self._close(waiter, statuses.TOO_LARGE)
            self.priority.refused()
        self.waiting.drop(waiter)
        if not len(self.waiting):  # nobody takes it: others that are to come again go first
            self._core.ledger.requeue(delivered.sequence)

    def _drop_expired(self, now_ns: int) -> bool:
        """Returns true if others are left."""
        due_ns = self.waiting.due_ns
        if due_ns is None or now_ns < due_ns:
            return len(self.waiting) > 0
        for waiter in self.waiting.first(SHARING_MAX):
            if waiter.is_expired(now_ns):
                self._close(waiter, statuses.TIMEOUT)
                self.waiting.drop(waiter)
        return len(self.waiting) > 0

    def look(self, now_ns: int, *, at_end: bool) -> None:
        """Ends requests that have no more to wait for, and sends heartbeats to the others."""
        self._looked_ns = now_ns
        outlet = self._core.outlet
        gone = self.waiting.look(lambda waiter: fate_of(waiter, now_ns, at_end, outlet.is_heard))
        for waiter, fate in gone:
            if fate is Fate.EXPIRED:
                self._close(waiter, statuses.TIMEOUT)
            elif fate is Fate.EMPTY:
                outlet.send(waiter.inbox, statuses.NO_MESSAGES)
        for waiter in self.waiting:
            if waiter.beat(now_ns):
                figures = self._core.figures
                beat = statuses.heartbeat(figures.delivered_consumer, figures.cursor - 1)
                outlet.send(waiter.inbox, beat)

    def check(self, now_ns: int) -> bool:
        """Time has passed; returns true if somebody else may be served now."""
        if self.waiting.is_due(now_ns):
            self.look(now_ns, at_end=True)
        return self.priority.check(now_ns)

    def end(self, words: str = "") -> None:
        """The consumer goes, or (with words) the server."""
        for waiter in self.waiting:
            if words:
                self._close(waiter, words)
            else:
                self._core.outlet.send(waiter.inbox, statuses.DELETED)
        self.waiting = Waiting()

    def _close(self, waiter: Waiter, words: str) -> None:
        headers = statuses.closing(words, waiter.left, waiter.bytes_left)
        self._core.outlet.send(waiter.inbox, headers)
