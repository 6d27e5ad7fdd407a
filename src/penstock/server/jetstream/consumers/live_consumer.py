"""A consumer on a running server: its subjects, its journal, its timer.

Whatever changed is written to the journal once, at the end of the turn, or before the first answer
that depends on it. Each consumer has one timer, which goes off no later than anything is due.
"""

from collections.abc import Callable
from typing import TypeVar

from penstock.consumers.consumer import Consumer
from penstock.kernel.consumers import FilterIndex, Ledger
from penstock.model.consumer_config import ConsumerConfig
from penstock.routing.targets import Target
from penstock.server.jetstream.consumers.outlet import ConsumerOutlet
from penstock.server.jetstream.consumers.record import ConsumerRecord
from penstock.server.jetstream.consumers.turn_end import TurnEnd
from penstock.server.jetstream.parts import Parts
from penstock.storage.block_store import BlockStore

Subject = TypeVar("Subject")


class LiveConsumer:
    """One consumer with what it needs outside."""

    def __init__(
        self,
        turn_end: TurnEnd,
        store: BlockStore,
        index: FilterIndex,
        consumer: Consumer,
        outlet: ConsumerOutlet,
        number: int,
    ) -> None:
        self.parts: Parts = turn_end.parts
        self.consumer = consumer
        self.ledger: Ledger = outlet.ledger
        self.number = number  # in the log; never used again in the stream
        self.slot = outlet.slot  # in the filter index; used again
        self.turn_end = turn_end
        self._store = store
        self._index = index
        self.outlet = outlet
        self._targets: dict[int, tuple[bytes, ...]] = {}
        self._armed_ns: int | None = None
        self._is_waiting = False
        self._described: tuple[ConsumerConfig, int, bytes] | None = None
        self.is_stopped = True  # nothing is taken: it does not listen yet, or its stream stopped
        self.changes = 0  # how many were written to a file of changes
        self.watch_number = 0  # of the watch over its deliver subject
        self.on_unused: Callable[[], None] = lambda: None
        self.on_changed: Callable[[], None] = lambda: None
        self.on_awaited: Callable[[], None] = lambda: None  # there is no journal: it is written

    @property
    def is_in_memory(self) -> bool:
        """Whether the consumer is gone after a restart."""
        return self.consumer.core.config.mem_storage

    @property
    def is_recorded(self) -> bool:
        """Whether its changes go to the journal."""
        return self._store.journal is not None and not self.is_in_memory

    def description(self) -> bytes:
        """How it is configured, as it is written down: often, for all consumers, so it is kept."""
        core = self.consumer.core
        config, spared, created_ns = core.config, core.spared_below, self.consumer.created_ns
        known = self._described
        if known is None or known[0] is not config or known[1] != spared:
            record = ConsumerRecord(self.number, core.name, created_ns, config, spared)
            self._described = known = (config, spared, record.encode())
        return known[2]

    def now_ns(self) -> int:
        return self.turn_end.now_ns()

    def listen(self, target: Target, *patterns: str) -> None:
        """One more target of the consumer."""
        number = self.parts.targets.add(target)
        self._targets[number] = tuple(pattern.encode() for pattern in patterns)
        for pattern in self._targets[number]:
            self.parts.targets.listen(number, self.parts.account, pattern)

    def leave(self) -> None:
        """Ends what was begun: the consumer goes."""
        self.is_stopped = True
        for number, patterns in self._targets.items():
            for pattern in patterns:
                self.parts.targets.ignore(number, self.parts.account, pattern)
            self.parts.targets.remove(number)
        self._targets = {}
        self.parts.context.wheel.cancel(self)

    def record(self, *, is_awaited: bool = False) -> None:
        """Writes down what changed, and answers what waited for that."""
        changes = self.ledger.take_changes() if self.is_recorded else b""
        if changes:
            assert self._store.journal is not None
            self._store.journal.consumer_changed(self.number, changes)
        elif self._store.journal is None and (is_awaited or self.outlet.replies):
            self.on_awaited()
            if self.is_stopped:  # it could not be written
                self.outlet.replies = []
        if self.outlet.replies:
            replies, self.outlet.replies = self.outlet.replies, []
            with self.outlet.gated_by_all():
                for reply in replies:
                    self.parts.publish(reply, b"")

    def answer_run(self, start: int, end: int) -> None:
        """Answers a run of acknowledgements that the ledger has taken."""
        self.record(is_awaited=True)
        if not self.is_stopped:
            with self.outlet.gated_by_all():
                self.parts.hub.answer_run(start, end)

    def guarded(self, action: Callable[[Consumer, Subject, int], None], subject: Subject) -> None:
        """A bug of ours must not reach the other frames of the turn."""
        try:
            action(self.consumer, subject, self.now_ns())
        except Exception:
            core, logger = self.consumer.core, self.parts.context.logger
            logger.exception("Consumer %s of stream %s failed", core.name, core.stream)

    def wake(self) -> None:
        """There may be something to deliver."""
        if not self.is_stopped:
            self.guarded(lambda consumer, _, now_ns: consumer.wake(now_ns), None)
            self.settle()

    def bind(self, is_bound: bool) -> None:
        """Somebody listens to the deliver subject, or nobody does any more."""
        self.guarded(lambda consumer, bound, now_ns: consumer.bind(bound, now_ns), is_bound)
        self.settle()
        self.turn_end.wake_later(self)

    def settle(self) -> None:
        """After anything happened to the consumer."""
        self.on_changed()
        if self.consumer.is_waiting != self._is_waiting:
            self._is_waiting = not self._is_waiting
            self._index.wait(self.slot, self._is_waiting)
        self.turn_end.touch(self)

    def arm(self) -> None:
        """Sets the timer, if something is due earlier than it goes off."""
        due_ns = self.consumer.due_ns
        if due_ns is None or (self._armed_ns is not None and self._armed_ns <= due_ns):
            return
        self._armed_ns = due_ns
        self.parts.context.after(self, max(0, due_ns - self.now_ns()), self._fire)

    def _fire(self) -> None:
        self._armed_ns = None
        is_unused = False

        def check(consumer: Consumer, _: None, now_ns: int) -> None:
            nonlocal is_unused
            is_unused = consumer.check(now_ns)

        if not self.is_stopped:
            self.guarded(check, None)
            if is_unused:
                self.on_unused()
            else:
                self.settle()
        self.parts.turns.flush()
