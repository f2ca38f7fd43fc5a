"""What a scenario is: one engine or several, one after another, each with a script."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from kvarium_engine.scenarios.stage import Stage

Script = Callable[[Stage], Generator[None]]
"""Asked before each step of the engine; it yields where a step is to be made, and its end is the scenario's."""


@dataclass(frozen=True)
class Act:
    """One engine of a scenario: its ``options`` are fields of :class:`~kvarium_engine.options.Options`.

    ``num_blocks`` and ``block_size`` are its pool's; ``longest`` the tokens of its longest sequence. ``name`` tells it from the
    scenario's other ones.
    """

    script: Script
    num_blocks: int
    longest: int
    block_size: int = 16
    name: str = ""
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Scenario:
    """A lesson: its name, and what happens."""

    name: str
    acts: tuple[Act, ...]


def one_act(name: str, script: Script, num_blocks: int, longest: int, **options: Any) -> Scenario:
    """A scenario of one engine with blocks of 16."""
    return Scenario(name, (Act(script, num_blocks, longest, options=options),))
