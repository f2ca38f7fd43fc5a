"""Limits as a person writes them: spans of time and sizes."""

import re
from datetime import timedelta

import typer

_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([mhdw])", re.ASCII)
_AGES = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SIZE = re.compile(r"(\d{1,18})(?:\.(\d{1,18}))?\s*([KMGT]?)(?:iB|B)?", re.IGNORECASE | re.ASCII)
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def parse_age(text: str) -> timedelta:
    """A span of time: ``90m``, ``12h``, ``30d``, ``2w``. Raises :class:`typer.BadParameter` for anything else."""
    found = _AGE.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(f"{text!r} is no span of time, as 90m, 12h, 30d or 2w are")
    try:
        return timedelta(seconds=float(found[1]) * _AGES[found[2]])
    except OverflowError:
        raise typer.BadParameter(f"{text!r} is longer than anybody keeps anything") from None


def parse_size(text: str) -> int:
    """Bytes, rounded down: ``500M``, ``10G``, ``1.5GiB`` (powers of 1,024). Raises :class:`typer.BadParameter` for anything else.

    An engine reads its own sizes alike; one test asks both.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(f"{text!r} is no size, as 500M, 10G, 1.5T or a number of bytes are")
    whole, rest, unit = found.groups("")
    power = _POWERS[unit.upper()]
    # In integers: a float holds no number of bytes above 2^53.
    return (int(whole) << power) + (int(rest or 0) << power) // 10 ** len(rest)
