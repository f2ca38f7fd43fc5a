"""Why does this request wait: what it needs and what there is, behind whom, and what bounds the step.

The engine logs a reason only where it changes; what is logged may be many steps old. So an answer tells both: what was
logged, with its place, and how things stand after the step that is asked about.
"""

from typing import Final

import msgspec

from kvarium.errors import OutOfRangeError
from kvarium.filtering.sheet import Place
from kvarium.recording.index_rows import Row
from kvarium.why.holders import Holder, holder_of, running
from kvarium.why.past import Past
from kvarium.why.places import Moment, Who, moment_of
from kvarium_ledger import codec
from kvarium_ledger.decisions import Preempted
from kvarium_ledger.fold import Fold
from kvarium_ledger.records import Step

_MOST_AHEAD: Final = 20


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """What the engine logged: ``blocks`` (``needs``, of which ``free`` were free), ``budget``, ``max_num_seqs``, ``behind``
    another one, or ``fragmentation`` (the ``largest`` run of free blocks is too short)."""

    reason: str
    at: Moment
    needs: int | None = None
    free: int | None = None
    largest: int | None = None
    behind: Who | None = None


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """The answer, of the state after ``step``.

    ``who`` waits ``since`` it was submitted or preempted (``state``), with ``ahead`` of ``ahead_in_all`` requests before it;
    ``head`` is the first of all, whose turn it is, and ``head_reason`` why that one waits. ``reason`` is its own as it was
    logged last; None: none was. ``free`` of ``pool`` blocks are free. The step computed ``tokens`` of ``budget``;
    ``sequences`` run, of ``max_num_seqs`` (None: not told). ``preempted`` lost their blocks in this step: nobody is
    admitted in such a step.
    """

    who: Who
    step: int
    record: int
    state: str
    since: Moment | None
    steps: int | None
    ahead: list[Who]
    ahead_in_all: int
    reason: Reason | None
    head: Who
    head_reason: Reason | None
    free: int
    pool: int
    tokens: int
    budget: int
    sequences: int
    max_num_seqs: int | None
    running: list[Holder]
    preempted: list[Who]
    not_recorded: list[str]


def why_waits(past: Past, request: str, step: int | None = None) -> Wait:
    """Of a request after a step (None: the last one). Raises :class:`OutOfRangeError` where it does not wait then."""
    number = past.request(request)
    fold = past.after_step(step)
    standing = fold.state.requests.get(number)
    if standing is None or standing.state == "running":
        raise OutOfRangeError(_not_so(past, number, fold, standing is not None))
    queue = sorted(
        (fold.state.facts[each].precedence, row.place, each)
        for each, row in fold.state.requests.items()
        if row.state != "running"
    )
    order = [each for _, _, each in queue]
    place = order.index(number)
    since, reason, told = _logged(past, number, fold)
    head = past.who(order[0])
    who = past.who(number)
    assert head is not None and who is not None
    record = _step(past, fold)
    places = running(fold)
    most = past.config.get("max_num_seqs")
    return Wait(
        who=who,
        step=fold.step,
        record=fold.record,
        state=standing.state,
        since=since,
        steps=None if since is None else fold.step - since.step,
        ahead=[each for one in order[:place][:_MOST_AHEAD] if (each := past.who(one)) is not None],
        ahead_in_all=place,
        reason=reason,
        head=head,
        head_reason=_logged(past, order[0], fold)[1],
        free=int((fold.state.blocks.np_count == 0).sum()),
        pool=past.num_blocks,
        tokens=record.tokens,
        budget=record.budget,
        sequences=sum(
            not fold.state.sequences[sequence].dropped
            for each in places
            for sequence in fold.state.facts[each].sequences
        ),
        max_num_seqs=most if isinstance(most, int) else None,
        running=[holder_of(past, fold, each) for each in sorted(places, key=lambda each: places[each])],
        preempted=[
            each
            for decision in record.decisions
            if isinstance(decision, Preempted) and (each := past.who(decision.request)) is not None
        ],
        not_recorded=told,
    )


def _step(past: Past, fold: Fold) -> Step:
    """The record of the step after which a state stands."""
    for frame in past.reader.frames(past.number, fold.record - 1, fold.record):
        record = codec.open_frame(frame.bytes)
        if isinstance(record, Step):
            return record
    raise OutOfRangeError(f"step {fold.step} is not recorded")


def _logged(past: Past, number: int, fold: Fold) -> tuple[Moment | None, Reason | None, list[str]]:
    """Since when a request waits, the last reason that was logged since then, and what of it is not recorded."""
    reason: Reason | None = None
    typed = f"decision:waiting,submitted,preempted owner:r{number}"
    for row in past.search(typed, Place(fold.record + 1, 0)):
        if row["kind"] == "gap":
            return (
                None,
                reason,
                [f"since when r{number} waits: records {row['first']} to {row['last']} are lost"],
            )
        if row["decision"]["request"] != number:
            continue
        if row["kind"] != "waiting":
            return moment_of(row), reason, []
        if reason is None:
            reason = _reason(past, row)
    return None, reason, [f"since when r{number} waits: it did so when the recording begins"]


def _reason(past: Past, row: Row) -> Reason:
    told = row["decision"]
    return Reason(
        reason=told["reason"],
        at=moment_of(row),
        needs=told.get("needs"),
        free=told.get("free"),
        largest=told.get("largest"),
        behind=past.who(told.get("behind")),
    )


def _not_so(past: Past, number: int, fold: Fold, runs: bool) -> str:
    row = past.requests.get(number)
    said = f"{past.named(number)} does not wait after step {fold.step}"
    if runs:
        return f"{said}: it runs"
    if row is None:
        return f"{said}, as far as it is recorded"
    if row["submitted_step"] is not None and row["submitted_step"] > fold.step:
        return f"{said}: it comes in step {row['submitted_step']} only"
    return f"{said}: it is {row['state']} at the recording's end"
