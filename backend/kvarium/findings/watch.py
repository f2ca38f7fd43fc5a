"""What looks for one kind of finding."""

from collections.abc import Callable
from typing import Any, ClassVar

from kvarium.findings.answer import Finding, Setting
from kvarium.findings.blocks import Blocks, Changes
from kvarium.findings.contents import Again, Contents
from kvarium.findings.part import Part
from kvarium.why.past import Past
from kvarium_ledger.decisions import AnyDecision
from kvarium_ledger.records import Keyframe, Step

On = Callable[[Any, Step], None]
"""Takes a decision of a kind, and its step."""


class Watch:
    """Is told all of a recording in order, and says at its end what it found.

    ``fault`` is the fault of production of which what it finds is a cause. ``decisions`` names who takes which kind. ``blocks`` and ``contents`` stand behind the part that is taken.
    """

    kind: ClassVar[str]
    fault: ClassVar[str | None] = None
    thresholds: ClassVar[dict[str, int | float]]

    def __init__(self, past: Past, blocks: Blocks, contents: Contents) -> None:
        self.past = past
        self.blocks = blocks
        self.contents = contents
        self.decisions: dict[type[AnyDecision], On] = {}

    def load(self, keyframe: Keyframe) -> None:
        """A whole state: the recording begins with it, or it follows a gap, across which nothing is known."""

    def begin(self, part: Part, changes: Changes) -> None:
        """The next part, before its decisions are told one by one."""

    def take(self, part: Part, again: Again) -> None:
        """The same part, after them."""

    def step(self, step: Step) -> None:
        """A step, after its decisions."""

    def found(self) -> list[Finding]:
        """What was found."""
        raise NotImplementedError

    def setting(self, name: str, advice: str) -> Setting:
        """An option with the value that this recording tells."""
        return Setting(name=name, now=self.past.config.get(name), advice=advice)
