"""Sizes in bytes as people write and read them: powers of 1,024, with or without the ``iB``.

The server's command line reads sizes of its own by the same rules; one test asks both.
"""

import math
import re

import typer

_SIZE = re.compile(r"(\d{1,18})(?:\.(\d{1,18}))?\s*([KMGT]?)(?:iB|B)?", re.IGNORECASE | re.ASCII)
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def parse_size(text: str) -> int:
    """Bytes, rounded down: ``4G``, ``1.5GiB``, ``512MiB``, ``1000000``. Raises :class:`typer.BadParameter` for anything else."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(f"{text!r} is no size, as 512MiB, 4G, 1.5T or a number of bytes are")
    whole, rest, unit = found.groups("")
    power = _POWERS[unit.upper()]
    # In integers: a float holds no number of bytes above 2^53.
    return (int(whole) << power) + (int(rest or 0) << power) // 10 ** len(rest)


def size(count: int) -> str:
    """Bytes for a person; the small ones exactly too."""
    if count < 1024:
        return f"{count} bytes"
    step = min(int(math.log2(count)) // 10, 4)
    scaled = count / (1 << (10 * step))
    text = f"{scaled:,.2f}".rstrip("0").rstrip(".") + " " + ("bytes", "KiB", "MiB", "GiB", "TiB")[step]
    return text if step > 2 else f"{count:,} bytes ({text})"
