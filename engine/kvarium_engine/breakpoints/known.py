"""What breakpoints know of the engine's state: taken once when one is set, then followed from step to step."""

from dataclasses import dataclass, field, replace

from kvarium_engine.engine import Engine
from kvarium_engine.scheduling.roster import Roster
from kvarium_ledger import block_columns
from kvarium_ledger.decisions import (
    Aborted,
    Admitted,
    Finished,
    Preempted,
    Refused,
    SequenceCreated,
    Submitted,
)
from kvarium_ledger.hit_statistics import HitStatistics
from kvarium_ledger.ledger import SealedStep
from kvarium_ledger.operations import Operation
from kvarium_ledger.slices import PROMPT, TABLE

_GAIN = {Operation.allocate: 1, Operation.reuse: 1, Operation.copy: 1, Operation.free: -1, TABLE: -1}
"""How a block of an operation changes how many are used."""


@dataclass
class Known:
    """The state after the last step that was followed.

    ``used`` of ``num_blocks`` blocks have a holder. ``sequences`` are those of a request, by their numbers with their index, and
    ``owners`` whose each is;
    ``waits`` is since when each waiting request does (ns of the session: no record tells when somebody came in, so the
    ``roster`` is asked). ``preempted`` tells of the last step, for each
    decision that preempts (by its place among the decisions), how often its request had been preempted then.
    """

    num_blocks: int
    used: int
    hits: HitStatistics
    roster: Roster
    names: dict[int, str] = field(default_factory=dict)
    sequences: dict[int, dict[int, int]] = field(default_factory=dict)
    owners: dict[int, int] = field(default_factory=dict)
    waits: dict[int, int] = field(default_factory=dict)
    preemptions: dict[int, int] = field(default_factory=dict)
    preempted: dict[int, int] = field(default_factory=dict)
    _ended: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, engine: Engine) -> "Known":
        """The state between two steps, while nothing waits to be sealed."""
        roster, blocks = engine.scheduler.roster, engine.pool.num_blocks
        keyframe = engine.snapshot()
        count = block_columns.decode("count", keyframe.blocks.count, blocks)
        used = 0 if count is None else int((count > 0).sum())
        found = cls(blocks, used, replace(roster.hit_statistics), roster)
        for request in roster.requests.values():
            found.names[request.id] = request.name
            found.preemptions[request.id] = request.preemptions
            if request.state != "running":
                found.waits[request.id] = request.waits_since
        for each in keyframe.sequences:
            found.sequences.setdefault(each.request, {})[each.sequence] = each.index
            found.owners[each.sequence] = each.request
        return found

    def follow(self, step: SealedStep) -> None:
        """A step was sealed. Those who ended in it are known until the next one."""
        for request in self._ended:
            for sequence in self.sequences.get(request, ()):
                del self.owners[sequence]
            for known in (self.names, self.sequences, self.preemptions):
                known.pop(request, None)
        self._ended.clear()
        self.preempted = {}
        for at, decision in enumerate(step.decisions):
            request = decision.request
            if isinstance(decision, SequenceCreated):
                self.sequences.setdefault(request, {})[decision.sequence] = decision.index
                self.owners[decision.sequence] = request
            elif isinstance(decision, Submitted):
                self.names[request] = decision.name
                self._wait(request)
            elif isinstance(decision, Admitted):
                self.waits.pop(request, None)
                self.hits.count(decision)
            elif isinstance(decision, Preempted):
                self._wait(request)
                self.preemptions[request] = self.preempted[at] = self.preemptions.get(request, 0) + 1
            elif isinstance(decision, Finished | Aborted | Refused):
                self.waits.pop(request, None)
                self._ended.append(request)
        for told in step.told:
            kind, of = told[0], told[1]
            gain = 1 if kind == PROMPT else _GAIN.get(kind, 0)
            if gain:
                self.used += gain if isinstance(of, int) else gain * len(of)

    def _wait(self, request: int) -> None:
        found = self.roster.requests.get(request)
        if found is not None:
            self.waits[request] = found.waits_since

    def sequences_of(self, request: int, index: int | None) -> list[int]:
        """The sequences of a request, or the one of an index."""
        known = self.sequences.get(request, {})
        return [sequence for sequence, each in known.items() if index is None or each == index]

    def named(self, name: str) -> list[int]:
        """The requests of a name: one that ended in the last step may have left it to another."""
        return [request for request, each in self.names.items() if each == name]

    def request_of(self, sequence: int) -> int | None:
        """Whose a sequence is."""
        return self.owners.get(sequence)
