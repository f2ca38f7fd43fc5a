"""Times as the page's field "go to" reads them, each as exact as it is written.

12.5s, 3m, 0:01:02.5, +1:02       of the session          12.5s   [12.5 s, 12.6 s)
14:03, 2026-11-30T14:03:22        of the wall clock       14:03   the whole minute
"""

import re
from datetime import UTC, datetime
from typing import Final

from kvarium_ledger.filtering.terms import Clock, Moment

_SECOND: Final = 10**9
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_UNITS: Final = {"ms": 10**6, "s": _SECOND, "min": _MINUTE, "m": _MINUTE, "h": _HOUR}
_MEASURED: Final = re.compile(r"\+?([0-9]{1,9})(?:\.([0-9]{1,9}))?(ms|s|min|m|h)")
_PARTS: Final = re.compile(r"(\+?)(?:([0-9]{1,6}):)?([0-9]{1,2}):([0-9]{2})(?:\.([0-9]{1,9}))?")
_CLOCK: Final = re.compile(
    r"(?:([0-9]{4}-[0-9]{2}-[0-9]{2})[ t])?([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
)


def _amount(whole: int, decimals: str, unit: int) -> Moment | None:
    """An amount of a unit, with its decimals; None: it is finer than a nanosecond, or more than any session has."""
    fine, rest = divmod(unit, 10 ** len(decimals))
    ns = whole * unit + int(decimals or 0) * fine
    return Moment(ns, fine) if rest == 0 and ns < 1 << 53 else None


def read_moment(typed: str) -> Moment | Clock | None:
    """A time; None: it is none."""
    said = typed.lower()
    measured = _MEASURED.fullmatch(said)
    if measured is not None:
        return _amount(int(measured[1]), measured[2] or "", _UNITS[measured[3]])
    parts = _PARTS.fullmatch(said)
    if parts is not None and (parts[1] or parts[5] is not None):
        seconds = 3600 * int(parts[2] or 0) + 60 * int(parts[3]) + int(parts[4])
        return _amount(seconds, parts[5] or "", _SECOND)
    return _read_clock(said)


def _read_clock(said: str) -> Clock | None:
    parts = _CLOCK.fullmatch(said)
    if parts is None:
        return None
    day, hours, minutes, seconds, decimals = parts.groups()
    _, month, date = map(int, (day or "0000-01-01").split("-"))
    is_day = 1 <= month <= 12 and 1 <= date <= 31
    if not is_day or int(hours) > 23 or int(minutes) > 59 or int(seconds or 0) > 59:
        return None
    found = _amount(3600 * int(hours) + 60 * int(minutes) + int(seconds or 0), decimals or "", _SECOND)
    assert found is not None
    return Clock(day, found.ns, _MINUTE if seconds is None else found.unit)


def _decimals_of(unit: int, of: int) -> int | None:
    """How many decimals it takes to write a unit that is a power of ten of another."""
    return next((decimals for decimals in range(12) if unit * 10**decimals == of), None)


def _decimal(ns: int, unit: int, decimals: int) -> str:
    whole, rest = divmod(ns, unit)
    return str(whole) if decimals == 0 else f"{whole}.{rest * 10**decimals // unit:0{decimals}}"


def print_moment(moment: Moment | Clock) -> str:
    """A time as it is read."""
    ns, unit = moment.ns, moment.unit
    if isinstance(moment, Clock):
        day = "" if moment.day is None else f"{moment.day}T"
        clock = f"{day}{ns // _HOUR:02}:{ns // _MINUTE % 60:02}"
        if unit == _MINUTE:
            return clock
        decimals = _decimals_of(unit, _SECOND)
        assert decimals is not None
        return f"{clock}:{_decimal(ns % _MINUTE, _SECOND, decimals).zfill(decimals + 3 if decimals else 2)}"
    for name, of in (("s", _SECOND), ("m", _MINUTE), ("h", _HOUR)):
        decimals = _decimals_of(unit, of)
        if decimals is not None:
            return _decimal(ns, of, decimals) + name
    raise ValueError(f"a time of {unit} ns can't be written")


def begins(moment: Moment | Clock, start_utc_us: int, zone: int = 0) -> int:
    """The first moment of a time, in ns since the session's start (µs since 1970).

    The wall clock is ``zone`` ns ahead of UTC. A clock without a day is the first one that ends after the start. Raises
    :class:`ValueError` for a day that no calendar has.
    """
    if isinstance(moment, Moment):
        return moment.ns
    start = start_utc_us * 1000 + zone
    if moment.day is not None:
        midnight = datetime.fromisoformat(moment.day).replace(tzinfo=UTC)
        return int(midnight.timestamp()) * _SECOND - start + moment.ns
    today = start // _DAY * _DAY + moment.ns - start
    return today if today + moment.unit > 0 else today + _DAY
