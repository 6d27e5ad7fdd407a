"""Push consumers: messages go to the deliver subject as soon as there are any, while somebody
listens there; flow control, rate limit and heartbeats on the way."""

from penstock.consumers import statuses
from penstock.consumers.core import HINDRANCES, Core, messages_of
from penstock.consumers.flow_control import ID_LENGTH, FlowControl
from penstock.consumers.pace import RateLimit
from penstock.consumers.pause import Pause
from penstock.kernel.consumers import Stop

RUN_MESSAGES_MAX = 1 << 31  # in one call; bytes and crowds bound it


class Pushing:
    """Deliveries of one push consumer."""

    def __init__(self, core: Core, pause: Pause, payload_bytes_max: int, now_ns: int) -> None:
        self._core = core
        self._pause = pause
        self._payload_bytes_max = payload_bytes_max
        self.is_bound = False
        self.flow: FlowControl | None = None
        self.limit: RateLimit | None = None
        self.beat_ns: int | None = None
        self.configure(now_ns)

    def configure(self, now_ns: int) -> None:
        config = self._core.config
        self.subject = config.deliver_subject.encode()
        if config.flow_control and self.flow is None:
            self.flow = FlowControl()
        self.limit = None
        if config.rate_limit_bps:
            self.limit = RateLimit(config.rate_limit_bps, self._payload_bytes_max, now_ns)
        if self.beat_ns is None:
            self._beat_later(now_ns)

    def serve(self, now_ns: int) -> None:
        """Delivers what there is."""
        if not self.is_bound or self._pause.is_on(now_ns):
            return
        core = self._core
        while not (self.flow is not None and self.flow.is_stalled):
            allowed = core.allowed(now_ns)
            if self.limit is not None and self.limit.room_bytes(now_ns) <= 0:
                core.resume_ns = self.limit.ready_ns()
                return
            if allowed == 0:
                return
            ask = (self.subject, allowed or RUN_MESSAGES_MAX, 0)
            delivered = core.deliver([ask], now_ns, bytes_soft=self._room_bytes(now_ns))
            if messages_of(delivered):
                self._sent(delivered.served[0][1], now_ns)
            stop = Stop(delivered.stop)
            core.held_up_by = stop if stop in HINDRANCES else None
            if stop is Stop.NO_INTEREST:
                self.is_bound = False
            if stop not in (Stop.DONE, Stop.SOFT, Stop.GIVE_UP):
                return

    def _room_bytes(self, now_ns: int) -> int:
        rooms = []
        if self.flow is not None:
            rooms.append(self.flow.room_bytes)
        if self.limit is not None:
            rooms.append(self.limit.room_bytes(now_ns))
        return min(rooms, default=0)

    def _sent(self, size: int, now_ns: int) -> None:
        self._beat_later(now_ns)
        if self.limit is not None:
            self.limit.sent(size)
        if self.flow is not None:
            self.flow.sent(size)
            if self.flow.wants_answer:
                self._ask_for_answer(self.flow)

    def _ask_for_answer(self, flow: FlowControl) -> None:
        core = self._core
        request = f"$JS.FC.{core.stream}.{core.name}.{core.outlet.unique(ID_LENGTH)}"
        flow.ask(request)
        core.outlet.send(self.subject, statuses.FLOW_CONTROL, reply=request.encode())

    def answered(self, subject: bytes) -> bool:
        """A sign of life; returns true if deliveries may go on."""
        return self.flow is not None and self.flow.answered(subject.decode(errors="replace"))

    def check(self, now_ns: int) -> None:
        """A heartbeat, if it is time."""
        if self.beat_ns is None or now_ns < self.beat_ns:
            return
        if self.is_bound:
            figures = self._core.figures
            stalled = "" if self.flow is None else self.flow.request
            beat = statuses.heartbeat(figures.delivered_consumer, figures.cursor - 1, stalled)
            self._core.outlet.send(self.subject, beat)
        self._beat_later(now_ns)

    def _beat_later(self, now_ns: int) -> None:
        interval_ns = self._core.config.idle_heartbeat
        self.beat_ns = now_ns + interval_ns if interval_ns > 0 else None
