"""All links of a server: which streams read which.

A stream's own links follow its configuration. Origins come and go as they like: a link without one
waits for it. When links are read is decided by `reading`.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from penstock.model.stream_config import StreamConfig
from penstock.server.jetstream.parts import Parts
from penstock.server.jetstream.sources.link import Link
from penstock.server.jetstream.sources.reading import Reading
from penstock.streams.feed import Feed, identity_of

if TYPE_CHECKING:
    from penstock.server.jetstream.keeper import Kept


class Links:
    """The links of all streams."""

    def __init__(self, parts: Parts, kept: Mapping[str, "Kept"], now_ns: Callable[[], int]) -> None:
        self._kept = kept
        self._now_ns = now_ns
        self.reading = Reading(parts, kept, now_ns)
        self._of_target: dict[str, list[Link]] = {}
        self._of_origin: dict[str, dict[Link, None]] = {}  # whether it is there or not

    def follow(self, kept: "Kept") -> None:
        """The stream is new, or its configuration may ask for other links than there are."""
        before = {link.feed.index_name: link for link in self._of_target.pop(kept.name, ())}
        links = []
        for feed in feeds_of(kept.stream.config):
            link = before.get(feed.index_name)
            if link is not None and link.target is kept and link.feed.is_mirror is feed.is_mirror:
                del before[feed.index_name]
            else:
                link = Link(kept, feed)
                self._of_origin.setdefault(feed.name, {})[link] = None
                self.reading.begin(link)
            links.append(link)
        for link in before.values():
            self._end(link)
        if links:
            self._of_target[kept.name] = links
        kept.stream.show_origins = lambda: self._shown(kept)
        for link in self._of_origin.get(kept.name, ()):
            if link.origin is None:
                self.reading.begin(link)
        for name in {kept.name, *(link.feed.name for link in links)}:
            self._settle_direct(name)

    def gone(self, kept: "Kept") -> None:
        """A stream is no more: neither who reads nor who is read."""
        for link in self._of_target.pop(kept.name, ()):
            self._end(link)
        self.reading.lose(kept)
        self._settle_direct(kept.name)

    def expect(self) -> None:
        """After a start, before any stream listens: what an origin keeps for its links is known
        before it removes anything."""
        for kept in self._kept.values():
            self.follow(kept)
        for name, links in self._of_origin.items():
            origin = self._kept.get(name)
            for link in links if origin is not None else ():
                assert origin is not None
                link.expect(identity_of(origin.stream))
                self.reading.register(link, origin)

    def _end(self, link: Link) -> None:
        self.reading.end(link)
        links = self._of_origin[link.feed.name]
        del links[link]
        if not links:
            del self._of_origin[link.feed.name]

    def _settle_direct(self, name: str) -> None:
        """A mirror answers direct reads for its origin where that does not do it itself."""
        origin = self._kept.get(name)
        answers = origin is not None and origin.stream.config.allow_direct
        for link in self._of_origin.get(name, ()):
            if link.feed.is_mirror and link.target.origin_answers is not answers:
                link.target.origin_answers = answers
                link.target.follow()

    def _shown(self, kept: "Kept") -> dict[str, Any]:
        links, now_ns = self._of_target.get(kept.name, []), self._now_ns()
        rows = [link.shown(now_ns) for link in links]
        if not rows:
            return {}
        return {"mirror": rows[0]} if links[0].feed.is_mirror else {"sources": rows}


def feeds_of(config: StreamConfig) -> list[Feed]:
    if config.mirror is not None:
        return [Feed(config.mirror, is_mirror=True)]
    return [Feed(source, is_mirror=False) for source in config.sources]
