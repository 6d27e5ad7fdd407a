"""What all consumers need once in every turn, before anything is sent.

Interest that came or went, messages that were stored or removed, and consumers that could not go on
for a while are looked after; then everything that changed is written to the journal, in one entry
for each consumer, and timers are set.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from penstock.kernel.consumers import Stop
from penstock.server.clock import SteadyClock
from penstock.server.jetstream.parts import Parts
from penstock.streams.stream import Stream

if TYPE_CHECKING:
    from penstock.server.jetstream.consumers.live_consumer import LiveConsumer


class Stirred(Protocol):
    """The consumers of a stream to which something happened."""

    stream: Stream

    def catch_up(self) -> None: ...


class TurnEnd:
    """The turn's end for the consumers of all streams."""

    def __init__(self, parts: Parts, clock: SteadyClock) -> None:
        self.parts = parts
        self.now_ns = clock.now_ns
        self._touched: dict[LiveConsumer, None] = {}
        self._stirred: dict[Stirred, None] = {}
        self._woken: dict[LiveConsumer, None] = {}  # before this turn ends
        self._held_up: dict[LiveConsumer, None] = {}  # since an earlier turn
        self._watched: dict[int, LiveConsumer] = {}
        self._numbers_used = 0
        # Set by whoever owns the streams.
        self.on_store_failed: Callable[[Stream, Exception], None] = lambda _stream, _error: None

    def touch(self, live: "LiveConsumer") -> None:
        """Something happened to a consumer."""
        self._touched[live] = None

    def stir(self, stream: Stirred) -> None:
        """Messages of a stream came or went."""
        self._stirred[stream] = None

    def wake_later(self, live: "LiveConsumer") -> None:
        """A consumer may deliver, but not before what is being answered."""
        self._woken[live] = None

    def forget(self, live: "LiveConsumer") -> None:
        """The consumer is gone."""
        self._touched.pop(live, None)
        self._woken.pop(live, None)
        self._held_up.pop(live, None)

    def watch(self, live: "LiveConsumer", subject: bytes, group: bytes | None) -> None:
        """Tells a push consumer from now on whether somebody listens."""
        self._numbers_used += 1
        self._watched[self._numbers_used] = live
        hub, account = self.parts.hub, self.parts.account.number
        live.watch_number = self._numbers_used
        live.bind(hub.watch(account, subject, group, live.watch_number))

    def unwatch(self, live: "LiveConsumer") -> None:
        if live.watch_number:
            del self._watched[live.watch_number]
            self.parts.hub.unwatch(live.watch_number)
            live.watch_number = 0

    def catch_up(self) -> None:
        """What happened outside is told to the consumers."""
        for number, is_bound in self.parts.hub.take_interest_changes():
            if number in self._watched:
                self._watched[number].bind(is_bound)
        stirred, self._stirred = self._stirred, {}
        for stream in stirred:
            try:
                stream.catch_up()
            except OSError as error:
                self.on_store_failed(stream.stream, error)

    def end_turn(self) -> None:
        self.catch_up()
        woken, self._held_up, self._woken = self._held_up | self._woken, {}, {}
        for live in woken:
            live.wake()
        touched, self._touched = self._touched, {}
        for live in touched:
            if live.is_stopped:
                continue
            live.record()
            live.arm()
            if (hindrance := live.consumer.core.held_up_by) is not None:
                self._held_up[live] = None
                if hindrance is Stop.BUSY:
                    self.parts.turns.soon()
