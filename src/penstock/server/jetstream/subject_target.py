"""A target with the subjects it listens to, which change with a stream's configuration."""

from collections.abc import Iterable

from penstock.routing.targets import Target
from penstock.server.jetstream.parts import Parts


class SubjectTarget:
    """Listens to nothing at first."""

    def __init__(self, parts: Parts, target: Target) -> None:
        self._targets = parts.targets
        self._account = parts.account
        self._number = parts.targets.add(target)
        self._subjects: set[str] = set()

    def follow(self, subjects: Iterable[str]) -> None:
        """Listens to these, and no longer to others."""
        wanted = set(subjects)
        for subject in self._subjects - wanted:
            self._targets.ignore(self._number, self._account, subject.encode())
        for subject in wanted - self._subjects:
            self._targets.listen(self._number, self._account, subject.encode())
        self._subjects = wanted

    def end(self) -> None:
        self.follow(())
        self._targets.remove(self._number)
