"""The most memory that this process had."""

import resource
import sys
from pathlib import Path


def peak_bytes() -> int:
    """Bytes. Of Linux's counters ``ru_maxrss`` counts what the process that forked this one had, too; ``VmHWM`` does not."""
    if sys.platform == "linux":
        lines = Path("/proc/self/status").read_text().splitlines()
        told = next(line.split() for line in lines if line.startswith("VmHWM:"))
        assert told[2] == "kB"
        return int(told[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
