"""`python -m benchmarks.spark_recount`: a stream of counters counted again, in one command.

So many increments of so many counters are published; then `penstock pipeline run recount` runs as
a user runs it, once through the protocol and once from block files, and must find every counter
exact. Told is how long it takes from start to end, with the start of Spark, and the most memory
that all of its processes had together: run it with a tenth of the increments to see that memory
does not follow them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.parity.servers import PENSTOCK, Server
from tests.spark.streams import api, make

from benchmarks.pouring import ANSWERS, pour

STREAM = "COUNTS"
AT_ONCE = 10_000
MIB = 1 << 20


def pieces(increments: int, counters: int) -> Iterator[bytes]:
    """Every counter in turn; each is told how much it grows by its own number."""
    numbers = range(counters)
    frames = [_frame(number, b"") for number in numbers]
    for start in range(0, increments, AT_ONCE):
        end = min(start + AT_ONCE, increments)
        asking = _frame((end - 1) % counters, ANSWERS + b" ")
        yield b"".join([*(frames[at % counters] for at in range(start, end - 1)), asking])


def _frame(number: int, reply: bytes) -> bytes:
    headers = b"NATS/1.0\r\nNats-Incr: +%d\r\n\r\n" % (number % 9 + 1)
    parts = (number, reply, len(headers), len(headers), headers)
    return b"HPUB counts.%d %b%d %d\r\n%b\r\n" % parts


def recount(server: Server, folder: Path, settings: list[str]) -> tuple[float, int, dict[str, Any]]:
    """Seconds, bytes, and what the command told."""
    command = [sys.executable, "-m", "penstock", "pipeline", "run", "recount", "--json"]
    command += ["--server", server.url, "--output", str(folder), f"stream={STREAM}"]
    start = time.perf_counter()
    with subprocess.Popen([*command, *settings], stdout=subprocess.PIPE, text=True) as process:
        peak = Peak(process.pid)
        told = process.communicate()[0]
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"recount ended with {process.returncode}: {told}")
    return seconds, peak.end(), json.loads(told)


class Peak:
    """The most memory that a process and all below it have together, looked at as it runs."""

    def __init__(self, root: int) -> None:
        self._root, self._bytes, self._is_over = root, 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def end(self) -> int:
        self._is_over.set()
        self._thread.join()
        return self._bytes

    def _watch(self) -> None:
        while not self._is_over.wait(0.2):
            self._bytes = max(self._bytes, sum(map(_own_bytes, _family(self._root))))


def _family(root: int) -> list[int]:
    below: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            below.setdefault(parent, []).append(int(entry.name))
    found = [root]
    for process in found:
        found += below.get(process, [])
    return found


def _own_bytes(process: int) -> int:
    """What is shared with its family, such as code, counts by the share."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_recount", description=__doc__)
    parser.add_argument("--increments", type=int, default=10_000_000)
    parser.add_argument("--counters", type=int, default=100_000)
    asked: Any = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        store = Path(name) / "store"
        with Server(PENSTOCK, ("-js", "-sd", str(store))) as server:
            make(server, STREAM, subjects=["counts.>"], allow_msg_counter=True)
            start = time.perf_counter()
            pour(server.port, pieces(asked.increments, asked.counters))
            seconds = time.perf_counter() - start
            state = api(server, f"STREAM.INFO.{STREAM}")["state"]
            print(f"{state['messages']:,} increments of {state['num_subjects']:,} counters", end="")
            print(f" in {seconds:.1f} s; {os.cpu_count()} cores", flush=True)
            for way, settings in {
                "protocol": [],
                "blocks": [f"storeDir={store}"],
            }.items():
                seconds, size, told = recount(server, Path(name) / way, settings)
                exact = [row["count"] for row in told["rows"] if row["verdict"] == "exact"]
                if exact != [asked.counters]:
                    raise SystemExit(f"not all counters are exact: {told}")
                rate = asked.increments / seconds
                print(f"{way:9} {seconds:6.1f} s, {rate:9,.0f} increments/s,", end="")
                print(f" {size // MIB:,} MiB at most, all counters exact", flush=True)


if __name__ == "__main__":
    main()
