"""What a follower finds wrong: never raised, always reported, with the record at which it went wrong."""

from typing import Literal, NamedTuple

ViolationKind = Literal["operation", "decision", "digest", "audit", "invariant", "order"]


class Violation(NamedTuple):
    """A fault.

    ``operation`` and ``decision``: it does not find what it must; ``digest``: this mirror differs from what the record
    says; ``audit``: the engine's real objects differ from the ledger; ``invariant``: the state is not lawful;
    ``order``: a record or operation is missing, doubled or out of place.
    """

    kind: ViolationKind
    record: int
    op: int | None
    message: str

    def __str__(self) -> str:
        where = f"record {self.record}" + (f", operation {self.op}" if self.op is not None else "")
        return f"{self.kind} at {where}: {self.message}"
