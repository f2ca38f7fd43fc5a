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

    def pool(self, advice: str) -> Setting:
        """The option that sizes the pool of this engine, with its value."""
        name, now = pool_option(self.past.config, str(self.past.row["device"]), str(self.past.row["runner"]))
        return Setting(name=name, now=now, advice=advice)

    def fewer_sequences(self, advice: str) -> list[Setting]:
        """``max_num_seqs``, where it can be less than it is."""
        return [] if self.past.config.get("max_num_seqs") == 1 else [self.setting("max_num_seqs", advice)]


def pool_option(config: dict[str, Any], device: str, runner: str) -> tuple[str, Any]:
    """Which option sizes the pool of an engine, and its value: another one would change nothing there.

    A number of blocks goes before all else; a share of the card's memory needs a card, and keys and values that take memory
    a runner with a model.
    """
    blocks = config.get("num_gpu_blocks_override")
    if blocks is not None or runner == "null":
        return "num_gpu_blocks_override", blocks
    share = config.get("gpu_memory_utilization")
    if device != "cpu" and share is not None:
        return "gpu_memory_utilization", share
    memory = config.get("kv_cache_memory_bytes", config.get("memory_kv_cache_bytes"))
    if device == "cpu" or memory is not None:
        return "kv_cache_memory_bytes", memory
    return "gpu_memory_utilization", None
