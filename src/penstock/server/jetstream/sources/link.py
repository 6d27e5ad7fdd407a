"""A link: one feed of one stream on a running server, with the stream it is read from.

Both streams live here, so a link reads the origin's store where it is, as far as it is durable, a
bounded piece at a time. A message that the stream refuses stops its feed, which tries again later:
nothing is left out.
"""

from typing import TYPE_CHECKING, Any

from penstock.model.api_errors import ApiError, Fault
from penstock.model.limits import SEQUENCE_BEYOND
from penstock.model.stream_config import Retention, Source, shown
from penstock.model.timestamps import unix_ns
from penstock.server.jetstream.sources.copier import Copier
from penstock.server.jetstream.sources.durable import Durable
from penstock.storage.journal import Kind
from penstock.streams.feed import Feed, Position, identity_of, skip_to

if TYPE_CHECKING:
    from penstock.server.jetstream.keeper import Kept

_HEARTBEAT_NS = 1_000_000_000  # an origin that is there is heard of as often


class Link:
    """One origin of one stream."""

    def __init__(self, target: "Kept", feed: Feed) -> None:
        self.target = target
        self.feed = feed
        self.origin: Kept | None = None
        self.position = 0  # the next sequence of the origin to look at
        self.error: ApiError | None = None
        self._durable: Durable | None = None
        self._copier: Copier | None = None
        self._identity = ""
        self._began = 0  # the first sequence that was looked at; 0 if nobody knows
        self._taken = 0  # the sequence of the last message of a source
        self._heard_ns: int | None = None

    # What the origin's retention asks

    def wants(self, subject: bytes) -> bool:
        return self.feed.wants(subject)

    @property
    def wants_everything(self) -> bool:
        return not self.feed.filters

    # Beginning and end

    def expect(self, identity: str) -> None:
        """After a start, before the origin may remove anything: no message that was not taken yet
        comes before the position."""
        if self.feed.is_mirror:
            self.position = self.target.store.state().sequence_last + 1
        elif (known := self._known(identity)) is not None:
            self.position = known.sequence + 1

    def attach(self, origin: "Kept", durable: Durable, now_ns: int) -> None:
        """The origin is there. Raises OSError if one of the stores fails."""
        self._identity = identity_of(origin.stream)
        self.position = self._start(origin)
        if self.feed.is_mirror:
            skip_to(self.target.stream, self.position)
        self._copier = Copier(self.target, self.feed, origin, self._identity)
        self.origin, self._durable = origin, durable
        if self._heard_ns is None and origin.stream.config.retention is not Retention.LIMITS:
            self._let_go(origin, self._taken_from(origin))  # before a crash it may still have been
        self.error, self._heard_ns = None, now_ns

    def detach(self, now_ns: int) -> None:
        """The origin is gone, or was never there."""
        self.origin = self._durable = self._copier = None
        self.error = Fault.STREAM_UNKNOWN.error()
        if self._heard_ns is not None:
            self._heard_ns = now_ns

    def _start(self, origin: "Kept") -> int:
        """Where to begin: behind what is known, or where the configuration says."""
        stream = self.target.stream
        first = max(1, origin.store.state().sequence_first)
        if self.feed.is_mirror and (stream.sequence_last or stream.has_begun):
            return max(first, stream.sequence_last + 1)
        if (known := self._known(self._identity)) is not None:
            self._taken, self._began = known.sequence, known.began
            return known.sequence + 1
        self._began = _first_wanted(self.feed.source, origin, first)
        return self._began

    def _taken_from(self, origin: "Kept") -> int:
        """From where on what the origin has before the position was taken, as far as is known."""
        source, state = self.feed.source, self.target.store.state()
        is_anew = self.feed.is_mirror and origin.stream.created_ns > state.time_last_ns
        if self._began and not self.feed.is_mirror:
            return self._began
        begins_late = source.opt_start_seq or source.opt_start_time is not None
        return self.position if is_anew or begins_late else 1

    def _known(self, identity: str) -> Position | None:
        known = self.target.consumers.saved.positions.known.get(self.feed.index_name)
        return known if known is not None and known.identity in ("", identity) else None

    # Reading

    def advance(self, now_ns: int) -> bool:
        """Takes a piece of what there is; true if there may be more. Raises OSError if the origin
        cannot be read."""
        origin, target, ingest = self.origin, self.target, self.target.ingest
        if origin is None or self._durable is None or self._copier is None or ingest is None:
            return False
        if not (_runs(origin) and _runs(target)) or target.stream.config.sealed:
            return False
        up_to = self._durable.sequence
        if self.feed.is_mirror:
            self.position = max(self.position, target.stream.sequence_last + 1)
        if self.position > up_to:
            return False
        self._heard_ns, self.error = now_ns, None
        if not ingest.has_room():
            self.error = Fault.NO_RESOURCES.error()
            return False
        first = self.position
        self.position, taken, self.error = self._copier.step(first, up_to, now_ns)
        if not _runs(target):
            return False
        if taken and not self.feed.is_mirror:
            self._taken = taken
            position = Position(taken, self._identity, self._began)
            self._note(position)
        if origin.stream.config.retention is not Retention.LIMITS:
            self._let_go(origin, first)
        return self.error is None and self.position <= up_to

    def _note(self, position: Position) -> None:
        """The source was read up to there; the messages are in the journal."""
        target, name = self.target, self.feed.index_name
        positions = target.consumers.saved.positions
        entry = positions.note(name, position, target.stream.sequence_last)
        if target.store.journal is not None:
            target.store.journal.append(Kind.SOURCED, entry)
        elif target.consumers.saved.folder is not None:
            last = target.stream.sequence_last
            target.store.carried.by(last)
            if target.store.load(last) is None:  # nobody was interested in it
                target.store.carried.let_go(last)

    def _let_go(self, origin: "Kept", first: int) -> None:
        """What was taken need not be kept for this link."""
        lifecycle = origin.consumers.lifecycle
        try:
            lifecycle.retention.followed(self, first)
        except OSError as error:
            lifecycle.turn_end.on_store_failed(origin.stream, error)

    # Showing

    def shown(self, now_ns: int) -> dict[str, Any]:
        """As stream info has it."""
        fields: dict[str, Any] = {"name": self.feed.name, "lag": self._lag()}
        if self._taken:
            fields["seq"] = self._taken
        fields["active"] = self._active_ns(now_ns)
        if self.error is not None:
            fields["error"] = self.error.shown()
        if self.feed.source.filter_subject:
            fields["filter_subject"] = self.feed.source.filter_subject
        if transforms := self.feed.source.subject_transforms:
            fields["subject_transforms"] = [shown(transform) for transform in transforms]
        return fields

    def _lag(self) -> int:
        """What the origin has for this stream; 0 where it cannot be asked."""
        if self.origin is None or self.origin.failure:
            return 0
        try:
            return self.origin.store.blocks.pending(self.feed.patterns, self.position)
        except OSError:  # the origin's own trouble
            return 0

    def _active_ns(self, now_ns: int) -> int:
        """Since when nothing was heard of the origin; -1 if nothing ever was."""
        if self._heard_ns is None:
            return -1
        elapsed_ns = max(0, now_ns - self._heard_ns)
        return elapsed_ns if self.origin is None else elapsed_ns % _HEARTBEAT_NS


def _first_wanted(source: Source, origin: "Kept", first: int) -> int:
    if source.opt_start_seq:
        return max(first, min(source.opt_start_seq, SEQUENCE_BEYOND))
    if source.opt_start_time is not None:
        return max(first, origin.store.sequence_at(unix_ns(source.opt_start_time)))
    return first


def _runs(kept: "Kept") -> bool:
    return not kept.failure
