"""What an answer refers to, so that each of its statements can be followed to where it stands in the recording."""

import msgspec

from kvarium.recording.index_rows import Row


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """A place in the session: a record, its step, the operation (or the one before which a decision holds), its time.

    ``time`` is when the step was sealed, in ns since the session's start.
    """

    record: int
    step: int
    op: int
    time: int


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """A block, and which of its lives; ``generation`` is None where it is not recorded."""

    block: int
    generation: int | None = None

    def __str__(self) -> str:
        return f"{self.block}" if self.generation is None else f"{self.block}#{self.generation}"


class Who(msgspec.Struct, frozen=True, kw_only=True):
    """A request, what it is called, and which of its sequences is meant (None: it as a whole, or not recorded)."""

    request: int
    name: str | None = None
    sequence: int | None = None
    index: int | None = None


def moment_of(row: Row) -> Moment:
    """Where an event that was found stands."""
    return Moment(record=row["record"], step=row["step"], op=row["op"], time=row["time"])
