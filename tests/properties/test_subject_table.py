"""Which subjects of a store a wildcard means: the kernel, which keeps them in order once that has
been worth it, against a list of subjects. Subjects come and go in between."""

import random
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kernel.storage import Blocks
from tests.properties import model_subjects as model

WIDTH = 24  # subjects at first: its square, more than are put in order at least
ASKED_TIMES = 6  # more often than it takes to be worth an order

NUMBERS = st.integers(0, 2 * WIDTH).map(lambda number: b"%d" % number)
SUBJECTS = st.lists(NUMBERS | st.sampled_from([b"-", b"/"]), min_size=1, max_size=4).map(b".".join)
TOKENS = st.just(b"*") | NUMBERS
PATTERNS = st.builds(
    lambda tokens, last: b".".join([*tokens, last]),
    st.lists(TOKENS, max_size=3),
    TOKENS | st.just(b">"),
)
STEPS = st.one_of(
    st.lists(SUBJECTS, max_size=30).map(lambda subjects: ("publish", subjects)),
    st.tuples(st.integers(0, 800), st.integers(1, 250)).map(lambda cut: ("remove", cut)),
    st.lists(PATTERNS, min_size=1, max_size=3).map(lambda patterns: ("ask", patterns)),
)


class Stored:
    """A store, and the subjects of its messages by their sequence."""

    def __init__(self) -> None:
        self.blocks = Blocks.in_memory("S")
        self.subjects: dict[int, bytes] = {}
        self.last = 0

    def publish(self, subjects: list[bytes]) -> None:
        for subject in subjects:
            self.last += 1
            self.blocks.append(self.last, self.last, subject, b"", b"")
            self.subjects[self.last] = subject

    def remove(self, cut: tuple[int, int]) -> None:
        for sequence in sorted(self.subjects)[cut[0] :][: cut[1]]:
            assert self.blocks.remove(sequence, False)
            del self.subjects[sequence]

    def ask(self, patterns: list[bytes]) -> None:
        def is_meant(subject: bytes) -> bool:
            return any(model.matches(pattern, subject) for pattern in patterns)

        first = Counter(filter(lambda key: model.matches(patterns[0], key), self.subjects.values()))
        middle = self.last // 2
        meant = [sequence for sequence, subject in self.subjects.items() if is_meant(subject)]
        for _ in range(ASKED_TIMES):
            assert self.blocks.subjects(patterns[0], 0, 10_000) == sorted(first.items())
            assert self.blocks.pending(patterns, 1) == len(meant)
            later = [sequence for sequence in meant if sequence >= middle]
            assert self.blocks.pending(patterns, middle) == len(later)


@settings(max_examples=40)
@given(st.lists(STEPS, max_size=12), st.randoms(use_true_random=False))
def test_wildcards_over_many_subjects(steps: list[tuple[str, Any]], chance: random.Random) -> None:
    stored = Stored()
    begin = [b"%d.%d" % (at // WIDTH, at % WIDTH) for at in range(WIDTH * WIDTH)]
    chance.shuffle(begin)
    stored.publish(begin)
    for name, what in steps:
        getattr(stored, name)(what)
    stored.ask([b"*.7", b"3.*"])
