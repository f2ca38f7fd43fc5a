"""How many operations of each kind, for the summary at the end of a run."""

from collections import Counter

from kvarium_ledger.decisions import AnyDecision
from kvarium_ledger.ledger import Sealed, SealedStep
from kvarium_ledger.operations import Operation
from kvarium_ledger.slices import spread


class Tally:
    """Counts what passes to ``sink``: operations by kind, and decisions by name."""

    def __init__(self) -> None:
        self._kinds = [0] * (max(Operation) + 1)
        self._types: Counter[type[AnyDecision]] = Counter()

    def count(self, sealed: Sealed) -> None:
        """Count a sealed step."""
        if not isinstance(sealed, SealedStep):
            return
        kinds = self._kinds
        for kind, blocks, *_ in spread(sealed.told):
            kinds[kind] += len(blocks)
        types = self._types
        for decision in sealed.decisions:
            types[type(decision)] += 1

    @property
    def decisions(self) -> dict[str, int]:
        """Decisions by name."""
        return {str(kind.__struct_config__.tag): number for kind, number in self._types.items()}

    @property
    def operations(self) -> dict[str, int]:
        """Operations by kind."""
        return {kind.name: self._kinds[kind] for kind in Operation}

    def shares(self) -> str:
        """The kinds with their shares, one a line, the largest first."""
        total = sum(self._kinds)
        rows = sorted(self.operations.items(), key=lambda row: -row[1])
        return "\n".join(f"  {name:<9} {number:>12,}  {number / max(total, 1):6.1%}" for name, number in rows)
