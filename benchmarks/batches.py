"""Atomic batches of 1,000 messages of 1 kB into a file stream, from one connection.

A batch is one write; its first message and the one that commits it are answered, as a client does
it that wants to know of an error early. `batches` has one on its way at a time, `batches_4` four.
Every commit must be acknowledged with its size and the next 1,000 sequences.
"""

import json
import time
from collections import deque
from collections.abc import Callable

from benchmarks.generator import Load, LoadError
from benchmarks.measure import Benchmark, Metric, Sample, Target
from benchmarks.publishing import DURABLE, LAZY
from benchmarks.servers import Server, Sync
from benchmarks.talk import Talk, cpu_seconds, frame

SIZE = 1_024
MESSAGES = 1_000
WARM_UP_SECONDS = 0.3
ID_BYTES = 22  # as many as the ids of clients have
_MARK = b"@" * ID_BYTES


class Template:
    """A batch as it is sent, in which only the id changes."""

    def __init__(self) -> None:
        frames = []
        for number in range(1, MESSAGES + 1):
            headers = {"Nats-Batch-Id": _MARK.decode(), "Nats-Batch-Sequence": str(number)}
            reply = "R.first" if number == 1 else ""
            if number == MESSAGES:
                headers["Nats-Batch-Commit"], reply = "1", f"R.{_MARK.decode()}"
            frames.append(frame(f"batch.{number % 100}", reply, headers, b"x" * SIZE))
        self._bytes = bytearray(b"".join(frames))
        self._places = []
        place = self._bytes.find(_MARK)
        while place >= 0:
            self._places.append(place)
            place = self._bytes.find(_MARK, place + ID_BYTES)

    def named(self, number: int) -> bytearray:
        name = b"%0*d" % (ID_BYTES, number)
        for place in self._places:
            self._bytes[place : place + ID_BYTES] = name
        return self._bytes


def _commits(talk: Talk, seconds: float, in_flight: int, sequence: int) -> list[float]:
    """Sends batches for so long; how long each took to be acknowledged."""
    template, waiting, found = Template(), deque[tuple[int, float]](), []
    answers = talk.answers()
    number, deadline = sequence, time.monotonic() + seconds
    while waiting or time.monotonic() < deadline:
        while len(waiting) < in_flight and time.monotonic() < deadline:
            number += MESSAGES
            waiting.append((number, time.monotonic()))
            talk.send(template.named(number))
        subject, payload = next(answers)
        if subject == b"R.first":
            if payload:
                raise LoadError(payload.decode())
            continue
        due, sent = waiting.popleft()
        ack = json.loads(payload)
        if (ack.get("seq"), ack.get("count")) != (due, MESSAGES):
            raise LoadError(f"a batch was answered with {ack}, sequence {due} was due")
        found.append(time.monotonic() - sent)
    return found


def sampler(in_flight: int) -> Callable[[Server, Load], Sample]:
    def sample(server: Server, load: Load) -> Sample:
        talk = Talk(server)
        config = {"name": "BATCH", "subjects": ["batch.>"], "allow_atomic": True}
        talk.ask("STREAM.CREATE.BATCH", config)
        warm = len(_commits(talk, WARM_UP_SECONDS, in_flight, 0))
        cpu, began = cpu_seconds(server), time.monotonic()
        took = sorted(_commits(talk, load.seconds, in_flight, warm * MESSAGES))
        elapsed = time.monotonic() - began
        messages = talk.ask("STREAM.INFO.BATCH")["state"]["messages"]
        if messages != (warm + len(took)) * MESSAGES:
            raise LoadError(f"{messages} messages are there")
        talk.close()
        return {
            "rate": len(took) * MESSAGES / elapsed,
            "p50_us": took[len(took) // 2] * 1e6,
            "server_cpu_us": (cpu_seconds(server) - cpu) * 1e6 / len(took) / MESSAGES,
        }

    return sample


def benchmark(name: str, in_flight: int, sync: Sync) -> Benchmark:
    how = "every commit synced, the reference lazy" if sync is DURABLE else "lazy"
    return Benchmark(
        name=name,
        title=f"atomic batches of {MESSAGES:,} x {SIZE} B, {in_flight} on their way, {how}",
        metrics=(
            Metric("rate", "messages", "per second", Target("at least", 1.0, "ratio")),
            Metric("p50_us", "commit after, p50", "us"),
            Metric("server_cpu_us", "server CPU for each message", "us"),
        ),
        sample=sampler(in_flight),
        sync=sync,
    )


LAZY_ONE = benchmark("batches", 1, LAZY)
LAZY_FOUR = benchmark("batches_4", 4, LAZY)
DURABLE_ONE = benchmark("batches_durable", 1, DURABLE)
DURABLE_FOUR = benchmark("batches_4_durable", 4, DURABLE)
