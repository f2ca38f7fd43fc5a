"""The table ``request``: a row of the index, and what only decisions tell of a request.

The index has what the lists of a page are sorted by. The rest is read from the records, and only by a query that names it:

    index      request  name  state  …  ended_time            no chunk is read
    records    precedence  beam_width  lora_name              of its submission, or after a gap of the keyframe
               stop_reason                                    of its end
"""

from typing import Any, Final

from kvarium.sql.builder import Builder, Columns, Session, numbers, objects
from kvarium.sql.decisions import text_of
from kvarium.sql.schema import REQUEST
from kvarium.sql.walk import Batch
from kvarium_ledger.decisions import Finished, Submitted
from kvarium_ledger.records import Keyframe, RequestState

_SUBMITTED: Final = ("precedence", "beam_width", "lora_name")
_FROM_RECORDS: Final = frozenset((*_SUBMITTED, "stop_reason"))


class Requests(Builder):
    """Builds ``request``, of the whole recording, upon the ``rows`` of the index."""

    needs_all = True

    def __init__(self, session: Session, columns: list[str], rows: list[dict[str, object]]) -> None:
        super().__init__(session, columns)
        self.needs_walk = not _FROM_RECORDS.isdisjoint(columns)
        self._rows = {row["request"]: dict(row) for row in rows}

    def keyframe(self, keyframe: Keyframe) -> None:
        """After a gap: requests whose submission is not recorded."""
        for row in keyframe.requests:
            self._learn(row)

    def build(self, batch: Batch) -> Columns:
        """Nothing yet: the rows are known at the end."""
        for step in batch.steps:
            for decision in step.decisions:
                if isinstance(decision, Submitted):
                    self._learn(decision)
                elif isinstance(decision, Finished) and decision.request in self._rows:
                    self._rows[decision.request]["stop_reason"] = text_of(decision.stop_reason)
        return {}

    def _learn(self, told: Submitted | RequestState) -> None:
        # The index follows a live session with a delay: of what it does not have yet there is no row.
        if told.request in self._rows:
            self._rows[told.request] |= {name: getattr(told, name) for name in _SUBMITTED}

    def finish(self) -> Columns:
        """All of them."""
        columns: Columns = {}
        for name in self.columns:
            values: list[Any] = [row.get(name) for row in self._rows.values()]
            columns[name] = (objects if REQUEST.column(name).type == "VARCHAR" else numbers)(values)
        return columns
