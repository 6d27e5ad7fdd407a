"""What the process takes from the machine: memory and processor time."""

import contextlib
import os
import resource
import sys
import time
from pathlib import Path

from penstock.server.clock import monotonic_ns

_SAMPLE_NS_MIN = 1_000_000_000  # over less than a second the percentage means little


def resident_bytes() -> int:
    """Memory in use; the peak where the system does not tell the present."""
    with contextlib.suppress(OSError):
        pages = Path("/proc/self/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


class CpuGauge:
    """Percent of one core between looks that are at least a second apart."""

    def __init__(self) -> None:
        self._looked_ns = monotonic_ns()
        self._used_ns = time.process_time_ns()
        self._percent = 0.0

    def percent(self) -> float:
        now_ns, used_ns = monotonic_ns(), time.process_time_ns()
        elapsed_ns = now_ns - self._looked_ns
        if elapsed_ns >= _SAMPLE_NS_MIN:
            self._percent = round(100 * (used_ns - self._used_ns) / elapsed_ns, 1)
            self._looked_ns, self._used_ns = now_ns, used_ns
        return self._percent
