"""The words of which answers are made, on a terminal."""

from kvarium.terminal import duration, figure, shown
from kvarium.why.places import Moment, Who


def who(told: Who | None) -> str:
    """``r17.1 (name)``."""
    if told is None:
        return "a request that is not recorded"
    index = f".{told.index}" if told.index else ""
    name = "" if told.name is None else f" ({shown(told.name)})"
    return f"r{told.request}{index}{name}"


def at(moment: Moment) -> str:
    """``step 812, op 9920``."""
    return f"step {moment.step}, op {moment.op}"


def plural(count: int, one: str, many: str | None = None) -> str:
    """``1 block``, ``2 blocks``; ``many`` where it is not made with an s."""
    return f"{figure(count)} {one if count == 1 else many or f'{one}s'}"


def are(count: int, of: str = "") -> str:
    """``1 is``, ``2 are``; ``1 of 8 blocks is`` with what stands between."""
    return f"{figure(count)}{of} {'is' if count == 1 else 'are'}"


def were(count: int, of: str = "") -> str:
    """``1 was``, ``2 were``; ``1 of 8 was`` with what stands between."""
    return f"{figure(count)}{of} {'was' if count == 1 else 'were'}"


def unknown(told: list[str]) -> list[str]:
    """What is not known, at the end of an answer."""
    return [f"not recorded: {each}" for each in told]


def span(steps: int, ns: int) -> str:
    """``3 steps (0.1 s)``."""
    return f"{plural(steps, 'step')} ({duration(ns)})"
