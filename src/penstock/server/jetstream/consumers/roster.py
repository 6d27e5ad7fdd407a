"""The consumers of one stream, by name and by what they want."""

from collections.abc import Iterator, Mapping

from penstock.consumers.core import Core
from penstock.kernel.consumers import FilterIndex
from penstock.kernel.hub import SubjectIndex
from penstock.model.consumer_config import ConsumerConfig
from penstock.server.jetstream.consumers.live_consumer import LiveConsumer

EVERYTHING = b">"


class Configs(Mapping[str, ConsumerConfig]):
    """How the consumers are configured, by name: as they are whenever it is asked."""

    def __init__(self, lives: Mapping[str, LiveConsumer]) -> None:
        self._lives = lives

    def __getitem__(self, name: str) -> ConsumerConfig:
        return self._lives[name].consumer.core.config

    def __iter__(self) -> Iterator[str]:
        return iter(self._lives)

    def __len__(self) -> int:
        return len(self._lives)


class Roster:
    """Consumers by name, and by their slot in the index."""

    def __init__(self) -> None:
        self.index = FilterIndex()
        self.wanted = SubjectIndex()  # patterns to slots
        self._patterns: dict[int, tuple[bytes, ...]] = {}  # of each slot, in both indexes
        self._by_name: dict[str, LiveConsumer] = {}
        self._by_slot: dict[int, LiveConsumer] = {}
        self._free_slots: list[int] = []
        self.configs: Mapping[str, ConsumerConfig] = Configs(self._by_name)
        self.has_changed = False  # since it was last written to a file
        self.changed: dict[LiveConsumer, None] = {}  # those to whom something happened since

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[LiveConsumer]:
        """In the order of their names."""
        return (self._by_name[name] for name in sorted(self._by_name))

    @property
    def has_unfiltered(self) -> bool:
        return any(EVERYTHING in patterns for patterns in self._patterns.values())

    def at(self, slot: int) -> LiveConsumer | None:
        return self._by_slot.get(slot)

    def find(self, name: str) -> LiveConsumer | None:
        return self._by_name.get(name)

    def new_slot(self) -> int:
        return self._free_slots.pop() if self._free_slots else len(self._patterns)

    def add(self, live: LiveConsumer) -> None:
        core = live.consumer.core
        self._by_name[core.name] = live
        self._by_slot[live.slot] = live
        self._patterns[live.slot] = ()
        self.refilter(live)

    def remove(self, live: LiveConsumer) -> None:
        del self._by_name[live.consumer.core.name]
        del self._by_slot[live.slot]
        self.has_changed = True
        self.changed.pop(live, None)
        self._forget_patterns(live.slot)
        self.index.remove(live.slot)
        self._free_slots.append(live.slot)

    def refilter(self, live: LiveConsumer) -> None:
        """Takes over the filters of a consumer's configuration."""
        filters = tuple(pattern.encode() for pattern in live.consumer.core.config.filters)
        self._forget_patterns(live.slot)
        self._patterns[live.slot] = filters or (EVERYTHING,)
        for pattern in self._patterns[live.slot]:
            self.wanted.insert(pattern, live.slot)
        self.index.set(live.slot, [*filters])

    def _forget_patterns(self, slot: int) -> None:
        for pattern in self._patterns[slot]:
            self.wanted.remove(pattern, slot)
        self._patterns[slot] = ()

    def cores(self) -> list[Core]:
        return [live.consumer.core for live in self._by_name.values()]

    def cores_for(self, subject: bytes) -> Iterator[Core]:
        return (self._by_slot[slot].consumer.core for slot in {*self.wanted.find(subject)})
