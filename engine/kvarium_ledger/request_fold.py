"""The exact fold of decisions: which requests are in the engine, in which state and place, with which sequences."""

from collections.abc import Callable

from kvarium_ledger import decisions
from kvarium_ledger.decisions import AnyDecision, Change, SequenceCreated, SequenceDropped, Submitted
from kvarium_ledger.digest import Lanes
from kvarium_ledger.operations import NONE
from kvarium_ledger.records import Keyframe, RequestState, SequenceState
from kvarium_ledger.state import RequestFacts, RequestRow, SequenceRow, State, request_sums

Standing = tuple[decisions.State | None, float | None]


class RequestFold:
    """Applies and undoes decisions on a :class:`~kvarium_ledger.state.State`.

    What never changes about a request (its facts, who its sequences are) is kept after its end, as undoing may bring it
    back; unless ``undoable`` is False: then it is forgotten at the next record, so that a follower of a long session
    needs no more memory than the requests in the engine do. ``fail(message)`` is called for a decision that does not
    find what it must.
    """

    def __init__(self, state: State, fail: Callable[[str], None], undoable: bool) -> None:
        self.state = state
        self._fail = fail
        self._undoable = undoable
        self._ended: list[int] = []
        self._gone: list[tuple[int, decisions.State, float]] = []
        self._came: list[tuple[int, decisions.State, float]] = []

    # -- decisions --------------------------------------------------------------------------------------------------

    def apply(self, decision: AnyDecision) -> None:
        """Follow one decision; those that change no state are passed over."""
        state = self.state
        if isinstance(decision, Submitted):
            state.facts[decision.request] = _facts(decision)
        if isinstance(decision, SequenceCreated):
            if decision.sequence in state.sequences:
                self._fail(f"sequence {decision.sequence} is created twice")
            self._add(decision.sequence, SequenceRow(decision.request, decision.index, decision.parent))
        elif isinstance(decision, SequenceDropped):
            row = state.sequences.get(decision.sequence)
            if row is None or row.dropped:
                self._fail(f"sequence {decision.sequence} is dropped, but it is not there")
            else:
                row.dropped = True
        elif isinstance(decision, Change):
            self._move(
                decision.request,
                (decision.state_before, decision.place_before),
                (decision.state_after, decision.place_after),
            )
            if decision.state_after is None and not self._undoable:
                self._ended.append(decision.request)

    def undo(self, decision: AnyDecision) -> None:
        """Take one decision back."""
        if isinstance(decision, SequenceCreated):
            row = self.state.sequences.pop(decision.sequence, None)
            if row is not None and row.request in self.state.facts:
                self.state.facts[row.request].sequences.remove(decision.sequence)
        elif isinstance(decision, SequenceDropped):
            self.state.sequences[decision.sequence].dropped = False
        elif isinstance(decision, Change):
            self._move(
                decision.request,
                (decision.state_after, decision.place_after),
                (decision.state_before, decision.place_before),
            )

    def _add(self, sequence: int, row: SequenceRow) -> None:
        self.state.sequences[sequence] = row
        facts = self.state.facts.get(row.request)
        if facts is None:
            self._fail(f"sequence {sequence} belongs to request {row.request}, which was never submitted")
        else:
            facts.sequences.append(sequence)

    def _move(self, request: int, before: Standing, after: Standing) -> None:
        if not 0 <= request < NONE:
            self._fail(f"a request's number is below {NONE}, not {request}")
            return
        row = self.state.requests.get(request)
        found: Standing = (row.state, row.place) if row else (None, None)
        if found != before:
            self._fail(f"request {request} is {found[0]} at {found[1]}, not {before[0]} at {before[1]}")
        if row is not None:
            self._gone.append((request, row.state, row.place))
            del self.state.requests[request]
        state, place = after
        if state is not None and place is not None:
            self.state.requests[request] = RequestRow(state, place)
            self._came.append((request, state, place))

    # -- once a record ----------------------------------------------------------------------------------------------

    def bring_forward(self, lanes: Lanes) -> None:
        """Bring the lane ``requests`` to where it is after the decisions since the last call."""
        if self._gone or self._came:
            lanes.subtract("requests", request_sums(self._gone))
            lanes.add("requests", request_sums(self._came))
            self._gone, self._came = [], []

    def forget_ended(self) -> None:
        """Forget the requests that have ended, and their sequences, if nothing will be undone."""
        for request in self._ended:
            facts = self.state.facts.pop(request, None)
            for sequence in facts.sequences if facts is not None else ():
                self.state.sequences.pop(sequence, None)
        self._ended.clear()

    # -- keyframes --------------------------------------------------------------------------------------------------

    def load(self, keyframe: Keyframe) -> None:
        """Take the requests and sequences of a keyframe in place of those that were known."""
        state = self.state
        state.requests.clear()
        state.sequences.clear()
        self._ended.clear()
        self._gone, self._came = [], []
        for row in keyframe.requests:
            if not 0 <= row.request < NONE:
                self._fail(f"a request's number is below {NONE}, not {row.request}")
                continue
            state.requests[row.request] = RequestRow(row.state, row.place)
            state.facts[row.request] = _facts(row)
        for each in keyframe.sequences:
            self._add(each.sequence, SequenceRow(each.request, each.index, each.parent))

    def requests(self) -> list[RequestState]:
        """The requests in the engine, by their ids."""
        return [
            RequestState(
                request=request,
                name=facts.name,
                state=row.state,
                place=row.place,
                prompt_tokens=facts.prompt_tokens,
                max_tokens=facts.max_tokens,
                n=facts.n,
                priority=facts.priority,
                precedence=facts.precedence,
                beam_width=facts.beam_width,
                lora_name=facts.lora_name,
            )
            for request, row in sorted(self.state.requests.items())
            if (facts := self.state.facts.get(request)) is not None
        ]

    def sequences(self) -> list[SequenceState]:
        """The sequences of the requests in the engine that are not dropped, by their ids."""
        state = self.state
        ids = sorted(
            sequence
            for request in state.requests
            if request in state.facts
            for sequence in state.facts[request].sequences
        )
        rows = ((sequence, state.sequences[sequence]) for sequence in ids)
        return [
            SequenceState(sequence=sequence, request=row.request, index=row.index, parent=row.parent)
            for sequence, row in rows
            if not row.dropped
        ]


def _facts(told: Submitted | RequestState) -> RequestFacts:
    return RequestFacts(
        told.name,
        told.prompt_tokens,
        told.max_tokens,
        told.n,
        told.priority,
        told.precedence,
        told.beam_width,
        told.lora_name,
    )
