"""What the Python fold and the records themselves say of a recording: one pass, its events and steps, and some states.

recording ──▶ Truth ──▶ behind.py compares what the page shows with it
"""

import bisect
from typing import Any

import msgspec

from kvarium_ledger import codec
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.decisions import (
    Admitted,
    AnyDecision,
    Preempted,
    Scheduled,
    SequenceCreated,
    Submitted,
    Waiting,
)
from kvarium_ledger.fold import Fold
from kvarium_ledger.operations import NONE, Operation
from kvarium_ledger.records import Keyframe, RequestState, Step
from tests.e2e.conftest import Recording

Plain = dict[str, Any]
BIRTHS = (Operation.allocate, Operation.copy)


def told(decision: AnyDecision) -> Plain:
    """A decision as the page has it."""
    plain: Plain = msgspec.to_builtins(decision, builtin_types=(bytes,))
    return {name: list(value) if isinstance(value, bytes) else value for name, value in plain.items()}


class Truth:
    """What the records of a session say that no state tells.

    ``events`` are all operations and decisions in their order, as the page's list has them; ``steps`` the records by their
    numbers; ``figures`` what the timeline draws of each step, by name; ``facts`` and ``sequences`` what every request and
    sequence of the session was when it began.
    """

    def __init__(self, recording: Recording, looked_at: set[int]) -> None:
        """``looked_at``: the steps behind which :meth:`fold` gives the state."""
        self._hello = recording.hello
        self._states: dict[int, Keyframe] = {}
        self.steps: list[Step] = []
        self.events: list[Plain] = []
        self.figures: dict[str, list[int]] = {}
        self.facts: dict[int, Submitted | RequestState] = {}
        self.sequences: dict[int, SequenceCreated] = {}
        self._waiting: dict[int, list[tuple[int, Waiting]]] = {}
        fold = Fold(recording.hello.num_blocks, recording.hello.block_size)
        for frame in recording.frames:
            record = codec.open_frame(frame)
            if isinstance(record, Keyframe):
                self.facts |= {each.request: each for each in record.requests}
            if isinstance(record, Step):
                self._read(record, list(fold.state.blocks.generation))
            assert fold.apply(record) == []  # type: ignore[arg-type]
            if isinstance(record, Step):
                self._count(record, fold)
            if fold.step in looked_at:
                # Behind the last of a step's records.
                self._states[fold.step] = fold.keyframe()
        self._ends = [(event["record"], event["index"]) for event in self.events]

    def fold(self, step: int) -> Fold:
        """The state behind a step."""
        fold = Fold(self._hello.num_blocks, self._hello.block_size)
        assert fold.apply(self._states[step]) == []
        return fold

    def label(self, sequence: int) -> str:
        row = self.sequences[sequence]
        facts = self.facts[row.request]
        several = row.index > 0 or facts.n > 1 or facts.beam_width is not None
        return f"r{row.request}.{row.index}" if several else f"r{row.request}"

    def reason(self, request: int, step: int) -> Plain | None:
        """The last one that was told of a request by a step, in this stay in the engine."""
        found = [(at, each) for at, each in self._waiting.get(request, []) if at <= step]
        return told(found[-1][1]) | {"step": found[-1][0]} if found else None

    def _read(self, step: Step, generations: list[int]) -> None:
        """Its events, and what its decisions say of requests and sequences."""
        self.steps.append(step)
        for decision in step.decisions:
            if isinstance(decision, Submitted):
                self.facts[decision.request] = decision
            elif isinstance(decision, SequenceCreated):
                self.sequences[decision.sequence] = decision
            elif isinstance(decision, Waiting):
                self._waiting.setdefault(decision.request, []).append((step.step, decision))
        columns = OperationColumns.decode(step.operations)
        names = ("block", "cause", "sequence", "position", "ticket", "filled_before", "filled_after")
        values = {name: columns.expand(name).tolist() for name in (*names, "source", "content", "hits")}
        decisions = list(step.decisions)
        rows: list[Plain] = []
        for i, kind in enumerate(map(Operation, columns.kind.tolist())):
            while decisions and decisions[0].op <= step.op + i:
                rows.append(self._decided(decisions.pop(0)))
            block, sequence = values["block"][i], values["sequence"][i]
            generations[block] += kind in BIRTHS
            holds = kind in (*BIRTHS, Operation.reuse, Operation.share, Operation.release, Operation.free)
            value = {
                Operation.copy: values["source"][i],
                Operation.fill: values["filled_after"][i],
                Operation.free: values["ticket"][i],
                Operation.evict: values["content"][i],
                Operation.cache: values["content"][i],
            }.get(kind, 0)
            filled = kind in (*BIRTHS, Operation.fill)
            rows.append(
                {
                    "op": step.op + i,
                    "kind": int(kind),
                    "block": block,
                    "generation": generations[block],
                    "cause": values["cause"][i],
                    "sequence": sequence,
                    "label": "" if sequence == NONE else self.label(sequence),
                    "position": values["position"][i] if holds else NONE,
                    "value": value,
                    "before": values["hits"][i]
                    if kind == Operation.evict
                    else values["filled_before"][i] * filled,
                }
            )
        rows += [self._decided(decision) for decision in decisions]
        common = {"record": step.record, "step": step.step, "time": step.sealed}
        self.events += [common | {"index": index} | row for index, row in enumerate(rows)]

    def _decided(self, decision: AnyDecision) -> Plain:
        sequence = getattr(decision, "sequence", NONE)
        nothing = {"block": NONE, "generation": None, "cause": 0, "position": NONE, "value": 0, "before": 0}
        label = f"r{decision.request}" if sequence == NONE else self.label(sequence)
        return nothing | {"op": decision.op, "kind": told(decision), "sequence": sequence, "label": label}

    def _count(self, step: Step, fold: Fold) -> None:
        usage = fold.usage()
        kinds = list(step.operations.kind)
        prefill = sum(each.tokens for each in step.decisions if isinstance(each, Scheduled))
        admitted = [
            each for each in step.decisions if isinstance(each, Admitted) and each.state_before == "waiting"
        ]
        row = {
            "active": usage.active,
            "shared": usage.shared,
            "cached": usage.cached,
            "prefill": prefill,
            "decode": max(0, step.tokens - prefill),
            "evict": kinds.count(Operation.evict),
            "copy": kinds.count(Operation.copy),
            "preempted": sum(isinstance(each, Preempted) for each in step.decisions),
            "queries": sum(each.tokens for each in admitted),
            "hits": sum(each.hit for each in admitted),
        }
        for name, value in row.items():
            self.figures.setdefault(name, []).append(value)

    def behind(self, record: int) -> int:
        """How many events hold at the end of a record."""
        return bisect.bisect_left(self._ends, (record + 1, 0))
