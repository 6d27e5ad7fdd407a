"""A million messages whose time is over at once, while somebody goes on publishing to the stream.

All of them get a `Nats-TTL` that ends in the same second. From then on one publisher sends to the
same stream, one message at a time, until the last of the million is gone: what it waits is the
figure, beside what it waited before. `expiry_markers` has a subject for each message and a delete
marker for each subject. What was to go must be gone, and everything the publisher sent be there.
"""

import json
import math
import os
import time
from collections.abc import Callable

from benchmarks.generator import Load, LoadError
from benchmarks.measure import Benchmark, Metric, Sample, Target
from benchmarks.publishing import LAZY
from benchmarks.servers import Server
from benchmarks.talk import Talk, frame

MESSAGES = int(os.environ.get("PENSTOCK_BENCH_EXPIRING", "1000000"))
SIZE = 64
CHUNK = 10_000  # messages in one write; the last of them is answered
LIFE_SECONDS = max(8, math.ceil(MESSAGES / 25_000))  # of the first ones
CALM_SECONDS = 1.0
ASK_SECONDS = 0.1  # how often the stream is asked what is left
WAIT_SECONDS_MAX = 300.0
MARKER_SECONDS = 3600
SUBJECTS = 1_000


def _fill(talk: Talk, subjects: int) -> float:
    """When all of them are over."""
    end, answers, payload = time.time() + LIFE_SECONDS, talk.answers(), b"x" * SIZE
    for start in range(0, MESSAGES, CHUNK):
        seconds = math.ceil(end - time.time())
        if seconds < 2:
            raise LoadError(f"{start} messages were stored when the first were over")
        headers = {"Nats-TTL": str(seconds)}
        frames = [
            frame(f"timed.{number % subjects}", "", headers, payload)
            for number in range(start, min(start + CHUNK, MESSAGES) - 1)
        ]
        frames.append(frame(f"timed.{(start + CHUNK - 1) % subjects}", "R.fill", headers, payload))
        talk.send(b"".join(frames))
        _, ack = next(answers)
        if json.loads(ack).get("seq") != start + CHUNK:
            raise LoadError(f"{start + CHUNK} messages were due: {ack.decode()}")
    return end


class Publisher:
    """Sends one message at a time to a subject of its own, and remembers what each waited."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._answers = talk.answers()
        self._data = frame("other", "R.other", {"A": "b"}, b"x" * SIZE)
        self.sent = 0

    def until(self, is_over: Callable[[], bool]) -> list[float]:
        waited = []
        while not is_over():
            began = time.monotonic()
            self._talk.send(self._data)
            _, ack = next(self._answers)
            waited.append(time.monotonic() - began)
            self.sent += 1
            if b'"error"' in ack:
                raise LoadError(ack.decode())
        return sorted(waited)


class Watch:
    """Asks now and then, over a connection of its own, whether all that was to go is gone."""

    def __init__(
        self, server: Server, publisher: Publisher, end: float, *, is_marked: bool
    ) -> None:
        self._talk = Talk(server)
        self._publisher = publisher
        self._next = end
        self._deadline = end + WAIT_SECONDS_MAX
        self._is_marked = is_marked

    def is_over(self) -> bool:
        now = time.time()
        if now < self._next:
            return False
        self._next = now + ASK_SECONDS
        state = self._talk.ask("STREAM.INFO.TIMED")["state"]
        if now > self._deadline:
            raise LoadError(f"{state['messages']} messages are still there")
        if self._is_marked:  # each has been followed by its marker
            return bool(state["last_seq"] == 2 * MESSAGES + self._publisher.sent)
        return bool(state["messages"] == self._publisher.sent)


def sampler(*, is_marked: bool) -> Callable[[Server, Load], Sample]:
    def sample(server: Server, _load: Load) -> Sample:
        talk = Talk(server)
        config = {"name": "TIMED", "subjects": ["timed.*", "other"], "allow_msg_ttl": True}
        marker = {"subject_delete_marker_ttl": MARKER_SECONDS * 10**9, "max_msgs_per_subject": 1}
        talk.ask("STREAM.CREATE.TIMED", config | (marker if is_marked else {}))
        end = _fill(talk, MESSAGES if is_marked else SUBJECTS)
        time.sleep(max(0.0, end - CALM_SECONDS - time.time()))
        publisher = Publisher(talk)
        calm = publisher.until(lambda: time.time() > end)
        if not calm:
            raise LoadError("the stream was not full before its messages were over")
        watch = Watch(server, publisher, end, is_marked=is_marked)
        waited = publisher.until(watch.is_over)
        gone = time.time() - end
        talk.close()
        return {
            "gone": gone,
            "rate": len(waited) / gone,
            "calm_p99_us": calm[len(calm) * 99 // 100] * 1e6,
            "p50_us": waited[len(waited) // 2] * 1e6,
            "p99_us": waited[len(waited) * 99 // 100] * 1e6,
            "longest_us": waited[-1] * 1e6,
        }

    return sample


def benchmark(name: str, *, is_marked: bool) -> Benchmark:
    what = ", each the last of its subject, with markers" if is_marked else ""
    no_more = Target("at most", 1.0, "ratio")
    return Benchmark(
        name=name,
        title=f"{MESSAGES:,} messages that are over at once{what}; one publisher, one at a time",
        metrics=(
            Metric("gone", "gone after", "s", no_more),
            Metric("rate", "published meanwhile", "per second"),
            Metric("calm_p99_us", "ack after, p99, before", "us"),
            Metric("p50_us", "ack after, p50, meanwhile", "us"),
            Metric("p99_us", "ack after, p99, meanwhile", "us"),
            Metric("longest_us", "ack after, the longest", "us", no_more),
        ),
        sample=sampler(is_marked=is_marked),
        sync=LAZY,
    )


PLAIN = benchmark("expiry", is_marked=False)
MARKED = benchmark("expiry_markers", is_marked=True)
