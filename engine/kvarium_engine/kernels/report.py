"""What was compiled, as a table for a person and as one JSON object."""

from collections.abc import Sequence
from importlib.metadata import version

from kvarium_engine.kernels.compilation import Binary

COLUMNS = ("kernel", "arch", "binaries", "registers", "spill", "shared memory", "cubin", "seconds")


def summary(which: str, asked: int, binaries: Sequence[Binary]) -> dict[str, object]:
    """The JSON of ``kvarium kernels compile``: how many of those ``asked`` for, how many failed and spill, and each with its numbers."""
    return {
        "triton": version("triton"),
        "set": which,
        "asked": asked,
        "compiled": sum(binary.error is None for binary in binaries),
        "failed": sum(binary.error is not None for binary in binaries),
        "spilling": sum(binary.spill_stores > 0 for binary in binaries),
        "binaries": [binary.facts() for binary in binaries],
    }


def report(binaries: Sequence[Binary]) -> None:
    """Print a line for each kernel and architecture, then each binary that spills."""
    groups: dict[tuple[str, str], list[Binary]] = {}
    for binary in binaries:
        groups.setdefault((binary.job.variant.kernel, f"sm_{binary.job.arch}"), []).append(binary)
    rows = [COLUMNS, *(_row(kernel, arch, found) for (kernel, arch), found in sorted(groups.items()))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    for row in rows:
        cells = [
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
    for binary in binaries:
        if binary.spill_stores:
            print(
                f"spills {binary.spill_stores} bytes, with {binary.registers} registers: {binary.job.title}"
            )


def _row(kernel: str, arch: str, found: Sequence[Binary]) -> tuple[str, ...]:
    """The least and the most of each number."""
    good = [binary for binary in found if binary.error is None]
    numbers = [
        f"{min(values):,}" + (f" – {max(values):,}" if len(set(values)) > 1 else "") if values else "none"
        for values in (
            [binary.registers for binary in good],
            [binary.spill_stores for binary in good],
            [binary.shared_bytes for binary in good],
            [binary.cubin_bytes for binary in good],
        )
    ]
    return (kernel, arch, f"{len(good):,}", *numbers, f"{sum(binary.seconds for binary in found):.1f}")
