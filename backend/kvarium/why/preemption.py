"""Why was this request preempted, what did it cost, and does it thrash?

r3  preempted ─── resumed ─── preempted (this one) ─── resumed
                  └ computes again, gains tokens ┘
                    more of the one than of the other: it thrashes
"""

from typing import Final, Literal

import msgspec
import numpy as np

from kvarium.errors import OutOfRangeError
from kvarium.filtering.sheet import Place
from kvarium.recording.index_rows import Row
from kvarium.sql.walk import Batch, sampled_of
from kvarium.why.holders import Holder, holder_of, running
from kvarium.why.past import Past
from kvarium.why.places import Moment, Who, moment_of
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.decisions import Preempted, Scheduled
from kvarium_ledger.filtering.terms import Numbers
from kvarium_ledger.fold import Fold
from kvarium_ledger.operations import Cause, Operation
from kvarium_ledger.records import Gap, Step

_ENDS: Final = ("finished", "aborted", "refused")


class Earlier(msgspec.Struct, frozen=True, kw_only=True):
    """A preemption of the same request before: for whom, and how many computed tokens it lost."""

    at: Moment
    asked: Who
    lost: int


class Since(msgspec.Struct, frozen=True, kw_only=True):
    """From the preemption before to this one: tokens that were computed ``again``, and that it ``gained`` (sampled)."""

    again: int
    gained: int


class After(msgspec.Struct, frozen=True, kw_only=True):
    """What became of it: ``resumed`` (with ``hit`` of ``tokens`` in the prefix cache still), ended, or ``waits`` at the end."""

    how: Literal["resumed", "finished", "aborted", "refused", "waits"]
    at: Moment | None
    tokens: int | None = None
    hit: int | None = None
    steps: int | None = None


class Preemption(msgspec.Struct, frozen=True, kw_only=True):
    """The answer.

    ``asked`` needed ``needs`` blocks (None where it got none, as it was preempted itself, or ended), ``free`` of ``pool``
    were. The victim's tables had ``blocks`` entries: ``freed`` blocks came back to the queue, ``released`` ones others hold still.
    ``others`` were preempted for the same need in this step. ``lost`` tokens had been computed. ``thrashing`` is exact:
    it was preempted before, and since then it computed more tokens again than it gained.
    """

    who: Who
    at: Moment
    asked: Who
    policy: str | None
    pool: int
    needs: int | None
    free: int
    running: list[Holder]
    blocks: int
    freed: int
    released: int
    others: list[Who]
    lost: int
    earlier: list[Earlier]
    since: Since | None
    thrashing: bool
    after: After
    not_recorded: list[str]


def why_preempted(past: Past, request: str, step: int | None = None) -> Preemption:
    """Of a request the last preemption (up to ``step``). Raises :class:`OutOfRangeError` where there is none."""
    number = past.request(request)
    until = None if step is None else Numbers(None, step)
    rows: list[Row] = []
    told: list[str] = []
    for row in past.search(f"decision:preempted owner:r{number}", steps=until):
        if row["kind"] == "gap":
            told.append(f"what happened to it in records {row['first']} to {row['last']}, which are lost")
        elif row["decision"]["request"] == number:
            rows.append(row)
    if not rows:
        raise OutOfRangeError(_none(past, number, step, told))
    row, decision = rows[0], rows[0]["decision"]
    at = moment_of(row)
    fold, record = past.before(at.record, at.op)
    asked = past.who(decision["victim_of"])
    who = past.who(number)
    assert asked is not None and who is not None
    freed, released = _given_back(record, at.op, fold.state.facts[number].sequences)
    since = _since(past, fold, number, rows[1], row) if len(rows) > 1 else None
    return Preemption(
        who=who,
        at=at,
        asked=asked,
        policy=_policy(past),
        pool=past.num_blocks,
        needs=_needs(fold, record, at.op, asked.request),
        free=int((fold.state.blocks.np_count == 0).sum()),
        running=_running(past, fold, record, row),
        blocks=decision["blocks"],
        freed=freed,
        released=released,
        others=[
            other
            for each in record.decisions
            if isinstance(each, Preempted)
            and each.victim_of == asked.request
            and each.request != number
            and (other := past.who(each.request)) is not None
        ],
        lost=decision["tokens"],
        earlier=[_earlier(past, each) for each in rows[1:]],
        since=since,
        thrashing=since is not None and since.again > since.gained,
        after=_after(past, number, row),
        not_recorded=told,
    )


def _none(past: Past, number: int, step: int | None, lost: list[str]) -> str:
    upto = "" if step is None else f" up to step {step}"
    row = past.requests.get(number)
    if lost or row is None:
        return f"no preemption of r{number} is recorded{upto}, and not all is: records are lost, or not indexed yet"
    return f"{past.named(number)} was not preempted{upto}: it is {row['state']} at the recording's end"


def _policy(past: Past) -> str | None:
    policy = past.config.get("scheduling_policy")
    return policy if isinstance(policy, str) else None


# -- that moment --------------------------------------------------------------------------------------------------------


def _mine(fold: Fold, columns: OperationColumns, request: int) -> np.ndarray:
    """``[operations] bool``: which serve a sequence of a request?"""
    facts = fold.state.facts.get(request)
    return np.isin(columns.sequence, [] if facts is None else facts.sequences)


def _needs(fold: Fold, step: Step, op: int, asked: int) -> int | None:
    """How many blocks it takes from there on, in this step; None: it got none."""
    columns = OperationColumns.decode(step.operations)
    taken = columns.mask(Operation.allocate, Operation.copy) & _mine(fold, columns, asked)
    taken[: op - step.op] = False
    return int(np.count_nonzero(taken)) or None


def _given_back(step: Step, op: int, sequences: list[int]) -> tuple[int, int]:
    """How many blocks of the victim are freed, and how many others hold still: samples of its own release theirs first."""
    columns = OperationColumns.decode(step.operations)
    given = np.isin(columns.sequence, sequences) & (columns.cause == int(Cause.preempted))
    given[: op - step.op] = False
    freed = columns.block[given & columns.mask(Operation.free)]
    released = columns.block[given & columns.mask(Operation.release)]
    return len(freed), len(np.setdiff1d(released, freed))


def _running(past: Past, fold: Fold, step: Step, row: Row) -> list[Holder]:
    """Who ran: those that the state says, and whom decisions take out of it before this one's first operation."""
    places = running(fold)
    begun = False
    for each in step.decisions:
        if not isinstance(each, Preempted) or each.op != row["op"]:
            continue
        begun = begun or each.request == row["request"]
        if begun and each.place_before is not None:
            places[each.request] = each.place_before
    return [holder_of(past, fold, request) for request in sorted(places, key=lambda each: places[each])]


# -- before, and after --------------------------------------------------------------------------------------------------


def _earlier(past: Past, row: Row) -> Earlier:
    asked = past.who(row["decision"]["victim_of"])
    assert asked is not None
    return Earlier(at=moment_of(row), asked=asked, lost=row["decision"]["tokens"])


def _since(past: Past, fold: Fold, number: int, before: Row, this: Row) -> Since | None:
    """What it computed again and gained between two preemptions; None: there is a gap between them."""
    then, _ = past.before(before["record"], before["op"])
    size = past.block_size
    reached: dict[int, int] = {}
    for sequence in then.state.facts[number].sequences:
        table = then.state.tables.get((sequence, 0))
        if table:
            last = max(table)
            reached[sequence] = last * size + then.state.blocks.filled[table[last]]
    sequences = fold.state.facts[number].sequences
    again = gained = 0
    for each in past.later(before["step"]):
        if isinstance(each, Gap) and before["record"] < each.record <= this["record"]:
            return None
        if not isinstance(each, Batch):
            continue
        for step in each.steps:
            if step.step <= before["step"]:
                continue
            if step.step > this["step"]:
                return Since(again=again, gained=gained)
            for decision in step.decisions:
                if (
                    isinstance(decision, Scheduled)
                    and decision.request == number
                    and decision.op <= this["op"]
                ):
                    end = min(decision.start + decision.tokens, reached.get(decision.sequence, 0))
                    again += max(0, end - decision.start)
            if step.step < this["step"]:
                gained += int(np.isin(sampled_of(step), sequences).sum())
    return Since(again=again, gained=gained)


def _after(past: Past, number: int, row: Row) -> After:
    wanted = f"decision:admitted,finished,aborted,refused owner:r{number}"
    for each in past.search(wanted, Place(row["record"], row["index"] + 1), "later"):
        if each["kind"] == "gap" or each["decision"]["request"] != number:
            continue
        at, decision = moment_of(each), each["decision"]
        if each["kind"] in _ENDS:
            return After(how=each["kind"], at=at, steps=at.step - row["step"])
        return After(
            how="resumed",
            at=at,
            tokens=decision["tokens"],
            hit=decision.get("hit", 0),
            steps=at.step - row["step"],
        )
    return After(how="waits", at=None)
