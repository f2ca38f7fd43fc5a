"""What builders of tables have in common: a batch of records in, columns out."""

from dataclasses import dataclass, field

import numpy as np

from kvarium.sql.walk import Batch, Sequences
from kvarium_ledger.records import Gap, Keyframe

Columns = dict[str, np.ndarray]
"""A table's rows as columns of one length; a masked value is NULL."""


@dataclass
class Session:
    """What builders know of the session; ``sequences`` goes with the walk."""

    num_blocks: int
    block_size: int
    pieces: dict[int, str] = field(default_factory=dict)
    sequences: Sequences = field(default_factory=Sequences)


class Builder:
    """Makes the ``columns`` of one table. ``needs_text``: of the text records, too; ``needs_all``: of all steps."""

    needs_text = False
    needs_all = False

    def __init__(self, session: Session, columns: list[str]) -> None:
        self.session = session
        self.columns = columns

    def keyframe(self, keyframe: Keyframe) -> None:
        """A keyframe comes next."""

    def gap(self, gap: Gap) -> None:
        """Records are lost."""

    def build(self, batch: Batch) -> Columns:
        """The rows of a batch, which has at least one step."""
        raise NotImplementedError

    def finish(self) -> Columns:
        """The rows that are known only at the end."""
        return {}


def objects(values: list[object]) -> np.ndarray:
    """``[n] object``: texts, numbers or None."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def numbers(values: list[int | None]) -> np.ndarray:
    """``[n] int64``, masked where a value is None."""
    absent = [value is None for value in values]
    return np.ma.masked_array(np.array([value or 0 for value in values], dtype=np.int64), mask=absent)


def floats(values: list[float | None]) -> np.ndarray:
    """``[n] f64``, masked where a value is None."""
    absent = [value is None for value in values]
    return np.ma.masked_array(np.array([value or 0.0 for value in values], dtype=np.float64), mask=absent)
