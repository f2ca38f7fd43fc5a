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


def plural(count: int, one: str) -> str:
    """``1 block``, ``2 blocks``."""
    return f"{figure(count)} {one}{'' if count == 1 else 's'}"


def unknown(told: list[str]) -> list[str]:
    """What is not known, at the end of an answer."""
    return [f"not recorded: {each}" for each in told]


def span(steps: int, ns: int) -> str:
    """``3 steps (0.1 s)``."""
    return f"{plural(steps, 'step')} ({duration(ns)})"
