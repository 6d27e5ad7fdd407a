"""The machine a run was made on: figures of two machines do not compare, and this says which."""

import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.servers import Contestant


def _first(path: str, key: str) -> str:
    for line in Path(path).read_text().splitlines():
        if line.startswith(key):
            return line.split(":", 1)[1].strip()
    return "unknown"


def _cargo() -> str:
    try:
        asked = subprocess.run(["rustc", "--version"], check=False, capture_output=True, text=True)
    except OSError:
        return "unknown"
    return asked.stdout.strip() or "unknown"


def cpu_ticks() -> tuple[int, int]:
    """Ticks of all cores so far, and those of them that the host gave to others."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(ticks), ticks[7]


def facts(contestants: Sequence[Contestant]) -> dict[str, str]:
    found = {
        "cpu": f"{len(os.sched_getaffinity(0))} x {_first('/proc/cpuinfo', 'model name')}",
        "memory": _first("/proc/meminfo", "MemTotal"),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "rust": _cargo(),
        "load average before": f"{os.getloadavg()[0]:.2f}",
    }
    return found | {contestant.name: contestant.version() for contestant in contestants}
