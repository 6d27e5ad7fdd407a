"""When links are read: whenever more of their origins is durable, before a turn ends.

A stream that is an origin tells when it changes. At the end of the turn its links read what is
durable of it, a piece each, and what is left makes another turn due. A link that cannot go on, for
another reason than that there is nothing more, tries again every second.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from penstock.kernel.storage import Log
from penstock.model.api_errors import Fault
from penstock.model.stream_config import Retention
from penstock.server.jetstream.parts import Parts
from penstock.server.jetstream.sources.durable import Durable
from penstock.server.jetstream.sources.link import Link

if TYPE_CHECKING:
    from penstock.server.jetstream.keeper import Kept

_AGAIN_NS = 1_000_000_000


class Origin:
    """A stream that others read."""

    def __init__(self, kept: "Kept", log: Log | None, changed: Callable[["Origin"], None]) -> None:
        self.kept = kept
        self.durable = Durable(kept, log)
        self.links: dict[Link, None] = {}
        self._before = kept.store.changing
        self._changed = changed
        kept.store.changing = self._changing

    def _changing(self) -> None:
        self._changed(self)
        self._before()

    def leave(self) -> None:
        self.kept.store.changing = self._before


class Reading:
    """The origins, and the links that read them."""

    def __init__(self, parts: Parts, kept: Mapping[str, "Kept"], now_ns: Callable[[], int]) -> None:
        self._parts = parts
        self._kept = kept
        self._now_ns = now_ns
        self._log = None if parts.commit is None else parts.commit.log
        self._origins: dict[str, Origin] = {}
        self._unattached: dict[Link, None] = {}
        self._changed: dict[Origin, None] = {}
        self._moving: dict[Origin, None] = {}  # not all of it was durable when it was looked at
        self._ready: dict[Link, None] = {}
        self._stalled: dict[Link, None] = {}

    def begin(self, link: Link) -> None:
        """The link's origin may be there by the end of the turn."""
        self._unattached[link] = None
        self._parts.turns.soon()

    def end(self, link: Link) -> None:
        """The link is no more."""
        for links in (self._unattached, self._ready, self._stalled):
            links.pop(link, None)
        origin = self._origins.get(link.feed.name)
        if origin is None or link not in origin.links:
            return
        del origin.links[link]
        consumers = origin.kept.consumers
        consumers.followers.remove(link)
        if not origin.links:
            self._forget(origin)
        if origin.kept.stream.config.retention is Retention.INTEREST:
            try:
                consumers.lifecycle.retention.sweep()
            except OSError as error:  # the origin's own trouble
                consumers.lifecycle.turn_end.on_store_failed(origin.kept.stream, error)

    def lose(self, kept: "Kept") -> None:
        """A stream is no more."""
        origin = self._origins.get(kept.name)
        if origin is not None:
            self._forget(origin)
            for link in origin.links:
                link.detach(self._now_ns())
                self._ready.pop(link, None)

    def register(self, link: Link, kept: "Kept") -> Origin:
        """The link counts among those who need what the origin has."""
        origin = self._origins.get(kept.name)
        if origin is not None and origin.kept is not kept:  # one that could not be opened
            self._forget(origin)
            origin = None
        if origin is None:
            origin = self._origins[kept.name] = Origin(kept, self._log, self._note)
        if link not in origin.links:
            origin.links[link] = None
            kept.consumers.followers.append(link)
        return origin

    def _forget(self, origin: Origin) -> None:
        origin.leave()
        self._changed.pop(origin, None)
        self._moving.pop(origin, None)
        del self._origins[origin.kept.name]

    def _note(self, origin: Origin) -> None:
        self._changed[origin] = None

    def end_turn(self) -> None:
        """Reads what is durable, before the turn's own entries go to the log."""
        self._check_log()
        unattached, self._unattached = self._unattached, {}
        for link in unattached:
            self._attach(link)
        changed, self._changed = self._changed, {}
        for origin in changed:
            origin.durable.note()
            self._moving[origin] = None
            self._ready |= origin.links
        if self._ready:
            self._advance()

    def log_moved(self) -> None:
        """More is durable."""
        for origin in [*self._moving]:
            self._ready |= origin.links
            if not origin.durable.is_moving:
                del self._moving[origin]

    def _check_log(self) -> None:
        """After an outage stores were rebuilt from disk: everybody begins anew."""
        log = None if self._parts.commit is None else self._parts.commit.log
        if log is self._log:
            return
        self._log = log
        for origin in self._origins.values():
            origin.durable = Durable(origin.kept, log)
            self._unattached |= origin.links

    def _attach(self, link: Link) -> None:
        kept = self._kept.get(link.feed.name)
        if kept is None:
            link.detach(self._now_ns())
            return
        if kept.failure or link.target.failure:
            self._stall(link)
            return
        origin = self.register(link, kept)
        origin.durable.note()  # it may be known since before the origin was complete
        try:
            if not link.feed.is_mirror:
                link.target.consumers.saved.positions.look_behind(link.target.stream)
            link.attach(kept, origin.durable, self._now_ns())
        except OSError as error:
            link.error = Fault.STREAM_STORE_FAILED.error(reason=str(error))
            self._stall(link)
            return
        self._ready[link] = None
        self._moving[origin] = None

    def _advance(self) -> None:
        commit = self._parts.commit
        if commit is not None and (commit.crowded or commit.failure):
            return  # when that is over, the log moves
        ready, self._ready = self._ready, {}
        now_ns = self._now_ns()
        for link in ready:
            if self._has_more(link, now_ns):
                self._ready[link] = None
            elif link.error is not None or link.target.failure:
                self._stall(link)
        if self._ready or self._changed:
            self._parts.turns.soon()

    def _has_more(self, link: Link, now_ns: int) -> bool:
        try:
            return link.advance(now_ns)
        except OSError as error:
            link.error = Fault.STREAM_STORE_FAILED.error(reason=str(error))
        except Exception:  # a bug of ours must not stop the other links
            name, logger = link.target.name, self._parts.context.logger
            logger.exception("Stream %s cannot read %s", name, link.feed.name)
            link.error = Fault.STREAM_STORE_FAILED.error(reason="internal error")
        return False

    def _stall(self, link: Link) -> None:
        if not self._stalled:
            self._parts.context.after("sources", _AGAIN_NS, self._try_again)
        self._stalled[link] = None

    def _try_again(self) -> None:
        stalled, self._stalled = self._stalled, {}
        self._unattached |= stalled
        self._parts.turns.soon()
