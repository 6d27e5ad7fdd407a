"""How a consumer of a stream comes to be on a running server, and how it leaves.

First it gets its ledger and its place in the roster; then it may be given a state; then it listens,
and delivers. Leaving undoes all of it.
"""

from collections.abc import Callable

from penstock.consumers.consumer import Consumer
from penstock.consumers.core import Core
from penstock.consumers.retention import Retention
from penstock.kernel.consumers import AckPolicy as KernelAckPolicy
from penstock.kernel.consumers import Ledger
from penstock.model.consumer_config import AckPolicy, ConsumerConfig
from penstock.model.stream_config import Storage
from penstock.server.jetstream.advisories import Advisories
from penstock.server.jetstream.consumers.audience import ConsumerAudience
from penstock.server.jetstream.consumers.live_consumer import LiveConsumer
from penstock.server.jetstream.consumers.outlet import ConsumerOutlet
from penstock.server.jetstream.consumers.record import ConsumerRecord
from penstock.server.jetstream.consumers.roster import Roster
from penstock.server.jetstream.consumers.targets import listen
from penstock.server.jetstream.consumers.turn_end import Stirred, TurnEnd
from penstock.storage.block_store import BlockStore
from penstock.streams.stream import Stream

_POLICIES = {
    AckPolicy.NONE: KernelAckPolicy.NONE,
    AckPolicy.EXPLICIT: KernelAckPolicy.EXPLICIT,
    AckPolicy.ALL: KernelAckPolicy.ALL,
}


class Lifecycle:
    """Makes and removes the consumers of one stream."""

    def __init__(
        self,
        turn_end: TurnEnd,
        stream: Stream,
        store: BlockStore,
        advisories: Advisories,
        stirred: Stirred,
    ) -> None:
        self.turn_end = turn_end
        self.stream = stream
        self.store = store
        self._advisories = advisories
        self.roster = Roster()
        self.retention = Retention(stream, store, self.roster)
        self.audience = ConsumerAudience(turn_end, self.roster, store, stirred)
        self.audience.followers = self.retention.followers
        stream.audience = self.audience
        self.on_awaited: Callable[[LiveConsumer], None] = lambda _live: None
        self.on_deleted: Callable[[LiveConsumer], None] = lambda _live: None  # without a journal

    def ledger_for(self, record: ConsumerRecord) -> Ledger:
        config = record.config
        return Ledger(
            ack_subject=f"$JS.ACK.{self.stream.config.name}.{record.name}.".encode(),
            ack_policy=_POLICIES[config.ack_policy],
            filters=[pattern.encode() for pattern in config.filters],
            headers_only=config.headers_only,
            recorded=self._is_written(config),
        )

    def _is_written(self, config: ConsumerConfig) -> bool:
        return self.stream.config.storage is Storage.FILE and not config.mem_storage

    def make(self, record: ConsumerRecord, ledger: Ledger) -> LiveConsumer:
        """A consumer that does not listen yet."""
        outlet = ConsumerOutlet(
            self.turn_end.parts,
            self.store,
            self.roster.index,
            self.roster.new_slot(),
            self._advisories,
            self.retention,
        )
        outlet.ledger = ledger
        outlet.on_store_failed = lambda error: self.turn_end.on_store_failed(self.stream, error)
        core = Core(self.stream.config.name, record.name, record.config, ledger, outlet)
        core.spared_below = record.spared_below
        core.is_written = self._is_written(record.config)
        size = self.stream.config.max_msg_size
        payload_max = size if size > 0 else self.turn_end.parts.context.options.max_payload
        consumer = Consumer(core, record.created_ns, payload_max, self.turn_end.now_ns())
        index = self.roster.index
        live = LiveConsumer(self.turn_end, self.store, index, consumer, outlet, record.number)
        live.on_unused = lambda: self.delete(live)
        live.on_changed = lambda: self._note_change(live)
        live.on_awaited = lambda: self.on_awaited(live)
        self.roster.add(live)
        return live

    def _note_change(self, live: LiveConsumer) -> None:
        self.roster.has_changed = True
        self.roster.changed[live] = None
        self.store.changing()

    def open(self, live: LiveConsumer) -> None:
        """Lets a consumer listen and deliver."""
        live.consumer.begin(self.turn_end.now_ns(), self.stream.sequence_last)
        listen(live)
        live.is_stopped = False
        self.watch(live)
        live.settle()
        self.turn_end.wake_later(live)

    def watch(self, live: LiveConsumer) -> None:
        """Follows the interest in a push consumer's deliver subject."""
        config = live.consumer.core.config
        self.turn_end.unwatch(live)
        if config.is_push:
            group = config.deliver_group.encode() or None
            self.turn_end.watch(live, config.deliver_subject.encode(), group)

    def describe(self, live: LiveConsumer) -> None:
        """Writes down how a consumer is configured."""
        if self.store.journal is not None and live.is_recorded:
            self.store.journal.consumer(live.description())

    def delete(self, live: LiveConsumer) -> None:
        """The consumer goes, for good."""
        if self.store.journal is not None and live.is_recorded:
            self.store.journal.consumer_deleted(live.number)
        self.dismiss(live)
        self.on_deleted(live)
        self.retention.sweep()

    def dismiss(self, live: LiveConsumer) -> None:
        """The consumer goes, with its stream if not alone."""
        live.consumer.core.advise("DELETED", "consumer_action", action="delete")
        if live.consumer.pulling is not None:
            live.consumer.pulling.end()
        self.clear(live)

    def clear(self, live: LiveConsumer) -> None:
        """Takes it out of everything that knows it."""
        self.turn_end.unwatch(live)
        self.turn_end.forget(live)
        live.leave()
        self.roster.remove(live)
