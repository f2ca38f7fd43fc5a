"""One pass over a recording, which tells all watches what they look at."""

from collections.abc import Callable

from kvarium.errors import DamagedRecordingError
from kvarium.findings.answer import Findings, LookedFor
from kvarium.findings.blocks import Blocks
from kvarium.findings.common_prefix import CommonPrefix
from kvarium.findings.contents import Contents
from kvarium.findings.evicted_then_wanted import EvictedThenWanted
from kvarium.findings.head_of_line import HeadOfLine
from kvarium.findings.out_of_memory import OutOfMemory
from kvarium.findings.part import Part
from kvarium.findings.reservations import Reservations
from kvarium.findings.slow_prompts import SlowPrompts
from kvarium.findings.small_blocks import SmallBlocks
from kvarium.findings.tail_waste import TailWaste
from kvarium.findings.thrashing import Thrashing
from kvarium.findings.unreachable import Unreachable
from kvarium.findings.watch import On, Watch
from kvarium.sql.walk import Batch, Sequences, Steps, Walk
from kvarium.why.past import Past
from kvarium_ledger.codec import FrameError
from kvarium_ledger.decisions import AnyDecision
from kvarium_ledger.records import Gap, Keyframe

WATCHES: tuple[type[Watch], ...] = (
    OutOfMemory,
    Thrashing,
    EvictedThenWanted,
    CommonPrefix,
    SlowPrompts,
    HeadOfLine,
    TailWaste,
    SmallBlocks,
    Reservations,
    Unreachable,
)
"""Each kind of finding, the gravest first."""


def find(past: Past, progress: Callable[[int, int], None] = lambda done, total: None) -> Findings:
    """All findings of a session. ``progress`` is told how many of how many records are done."""
    try:
        return Sweep(past).run(progress)
    except (FrameError, IndexError, ValueError) as error:
        raise DamagedRecordingError(f"the records can't be followed: {error}") from None


class Sweep:
    """Reads a session once. ``blocks`` and ``contents`` stand behind the last part that was read."""

    def __init__(self, past: Past) -> None:
        self._past = past
        self.blocks = Blocks(past.num_blocks)
        self.contents = Contents()
        self._watches = [watch(past, self.blocks, self.contents) for watch in WATCHES]
        self._takers: dict[type[AnyDecision], list[On]] = {}
        for watch in self._watches:
            for kind, taker in watch.decisions.items():
                self._takers.setdefault(kind, []).append(taker)
        self._sequences = Sequences()
        self._loaded = False
        self._told: list[str] = []
        self._steps = self._operations = 0
        self._through = -1
        self._step: int | None = None

    def run(self, progress: Callable[[int, int], None] = lambda done, total: None) -> Findings:
        """All that the watches find; ``progress`` as for :func:`find`."""
        past = self._past
        walk = Walk(past.reader, past.number, Steps(), with_text=past.record_text == "full")
        for each in walk:
            if isinstance(each, Keyframe):
                self._keyframe(each)
            elif isinstance(each, Gap):
                self._loaded = False
                self._told.append(f"records {each.first} to {each.last}, which are lost")
            elif each.steps and self._loaded:
                self._batch(each)
            progress(walk.done, walk.total)
        if past.record_text != "full":
            self._told.append("common prefixes: text is not recorded")
        return Findings(
            steps=self._steps,
            operations=self._operations,
            through=self._through,
            step=self._step,
            findings=[finding for watch in self._watches for finding in watch.found()],
            looked_for=[
                LookedFor(kind=watch.kind, fault=watch.fault, thresholds=watch.thresholds)
                for watch in self._watches
            ],
            not_recorded=self._told,
        )

    def _keyframe(self, keyframe: Keyframe) -> None:
        self._sequences.load(keyframe)
        if self._loaded:
            return
        if keyframe.op and not self._told:
            self._told.append(f"what came before record {keyframe.record}, with which the recording begins")
        self._loaded = True
        self.blocks.load(keyframe)
        self.contents.load(keyframe, self.blocks.content)
        for watch in self._watches:
            watch.load(keyframe)

    def _batch(self, batch: Batch) -> None:
        self._sequences.learn(batch)
        part = Part(batch, self._sequences)
        changes = self.blocks.take(part)
        again = self.contents.take(part)
        takers = self._takers
        stepped = [watch.step for watch in self._watches if type(watch).step is not Watch.step]
        for watch in self._watches:
            watch.begin(part, changes)
        for step in part.steps:
            for decision in step.decisions:
                for taker in takers.get(type(decision), ()):
                    taker(decision, step)
            for each in stepped:
                each(step)
        for watch in self._watches:
            watch.take(part, again)
        self._steps += len(part.steps)
        self._operations += len(part.columns)
        self._through, self._step = part.steps[-1].record, part.steps[-1].step
