"""The consumers of one stream: made, changed and deleted, and told what becomes of messages.

Every change is an entry of the stream's journal before anybody hears of it. A consumer that is kept
in memory has no entries, and is gone after a restart.
"""

from penstock.consumers.consumer import Consumer
from penstock.consumers.draft import Limits, Surroundings
from penstock.consumers.start import start_of
from penstock.model.consumer_config import ConsumerConfig
from penstock.model.stream_config import Retention as Policy
from penstock.server.jetstream.advisories import Advisories
from penstock.server.jetstream.consumers.lifecycle import Lifecycle
from penstock.server.jetstream.consumers.live_consumer import LiveConsumer
from penstock.server.jetstream.consumers.record import ConsumerRecord
from penstock.server.jetstream.consumers.saved_state import SavedState
from penstock.server.jetstream.consumers.turn_end import TurnEnd
from penstock.server.jetstream.parts import Parts
from penstock.storage.block_store import BlockStore
from penstock.streams.stream import Stream


def consumer_limits(parts: Parts) -> Limits:
    settings = parts.context.options.jetstream_settings.limits
    return Limits(
        server_ack_pending_max=settings.max_ack_pending or 0,
        server_batch_max=settings.max_request_batch or 0,
    )


class StreamConsumers:
    """All of them."""

    def __init__(
        self, turn_end: TurnEnd, stream: Stream, store: BlockStore, advisories: Advisories
    ) -> None:
        self._turn_end = turn_end
        self.stream = stream
        self.lifecycle = Lifecycle(turn_end, stream, store, advisories, self)
        self._roster = self.lifecycle.roster
        self._removed = self.lifecycle.audience.removed
        self._limits = consumer_limits(turn_end.parts)
        self.followers = self.lifecycle.retention.followers  # streams that copy this one
        self.saved = SavedState(self.lifecycle, turn_end.parts.context.logger.error)

    def all(self) -> list[Consumer]:
        return [live.consumer for live in self._roster]

    def find(self, name: str) -> Consumer | None:
        live = self._roster.find(name)
        return None if live is None else live.consumer

    def surroundings(self, name: str) -> Surroundings:
        consumer = self.find(name)
        pushing = None if consumer is None else consumer.pushing
        is_bound = pushing is not None and pushing.is_bound
        return Surroundings(
            stream=self.stream.config,
            consumers=self._roster.configs,
            limits=self._limits,
            is_bound=is_bound,
        )

    def create(self, name: str, config: ConsumerConfig) -> Consumer:
        now_ns, lifecycle = self._turn_end.now_ns(), self.lifecycle
        self.saved.found.numbers_used += 1
        record = ConsumerRecord(self.saved.found.numbers_used, name, now_ns, config)
        live = lifecycle.make(record, lifecycle.ledger_for(record))
        try:
            start = start_of(config, lifecycle.store, self.stream.config.max_msgs_per_subject)
            live.ledger.start(start.cursor, [*start.listed])
            lifecycle.describe(live)
            live.record()
            self.saved.made(live)
        except OSError:
            lifecycle.clear(live)
            raise
        consumer = live.consumer
        consumer.core.advise("CREATED", "consumer_action", action="create")
        if consumer.pause.is_on(now_ns):
            consumer.pause.advise(now_ns)
        lifecycle.open(live)
        return consumer

    def configure(self, consumer: Consumer, config: ConsumerConfig) -> None:
        live, old = self._live(consumer), consumer.core.config
        consumer.configure(config, self._turn_end.now_ns())
        if config.filters != old.filters:
            self._roster.refilter(live)
            self.lifecycle.retention.spare(consumer.core, consumer.core.figures.cursor)
            if self.stream.config.retention is Policy.INTEREST:
                self.lifecycle.retention.sweep()
        moved = (config.deliver_subject, config.deliver_group)
        if moved != (old.deliver_subject, old.deliver_group):
            self.lifecycle.watch(live)
        self.lifecycle.describe(live)
        live.settle()
        self.saved.try_write_unlogged()

    def delete(self, consumer: Consumer) -> None:
        self.lifecycle.delete(self._live(consumer))

    def reset(self, consumer: Consumer, sequence: int) -> None:
        live = self._live(consumer)
        self.lifecycle.retention.spare(consumer.core, sequence)
        self.lifecycle.describe(live)
        consumer.reset(sequence, self._turn_end.now_ns())
        live.settle()
        if self.stream.config.retention is Policy.INTEREST:
            self.lifecycle.retention.sweep()
        self.saved.try_write_unlogged()

    def unpin(self, consumer: Consumer, group: str) -> None:
        assert consumer.pulling is not None, "only pull consumers have priority groups"
        consumer.pulling.priority.unpin(group, "admin")
        self._live(consumer).wake()

    def begin(self) -> None:
        """After a start, or a rebuild from disk: those who were found listen again."""
        lives = self.saved.found.attach_all()
        self._removed.suspect()
        self._removed.catch_up(self._turn_end.now_ns())
        if lives and self.saved.found.is_complete:
            self.lifecycle.retention.sweep()
        for live in lives:
            self.lifecycle.open(live)

    def stop(self, failure: str) -> None:
        """The stream stopped, and what is known may never be durable; or it goes on, and what was
        due in the meantime is looked at."""
        for live in self._roster:
            live.is_stopped = bool(failure)
            if not failure:
                live.settle()  # its timer may have gone off in vain
                self._turn_end.wake_later(live)
        if not failure:
            self._turn_end.parts.turns.soon()

    def forget(self) -> None:
        """Everything that is written down is about to be read again."""
        for live in [*self._roster]:
            if not live.is_in_memory:
                self.lifecycle.clear(live)
        self.saved.load()

    def end(self) -> None:
        """The stream goes."""
        for live in [*self._roster]:
            self.lifecycle.dismiss(live)
        self._removed.end()

    def catch_up(self) -> None:
        """Messages came or went."""
        self._removed.catch_up(self._turn_end.now_ns())
        for live in self.lifecycle.audience.take_woken():
            live.wake()

    def _live(self, consumer: Consumer) -> LiveConsumer:
        live = self._roster.find(consumer.core.name)
        assert live is not None, "the consumer is gone"
        return live
