"""The index of a recording, made from a session's records while they are folded: one row a step, request, landmark."""

from collections import Counter
from typing import Any

import numpy as np

from kvarium.recording.index_rows import REQUEST_COLUMNS, IndexRows, Row
from kvarium_ledger.codec import FrameError
from kvarium_ledger.columns import column, u32
from kvarium_ledger.decisions import (
    Aborted,
    Admitted,
    AnyDecision,
    Finished,
    Preempted,
    Refused,
    Submitted,
)
from kvarium_ledger.fold import Fold
from kvarium_ledger.hit_statistics import HitStatistics
from kvarium_ledger.operations import CARRIED_MASK, Cause, Operation
from kvarium_ledger.records import AnyRecord, Gap, Keyframe, Note, Operations, Step, Text
from kvarium_ledger.violations import Violation


def fill_tokens(operations: Operations) -> tuple[int, int]:
    """How many tokens the fills of a step stand for: of prefills, and decoded; none where its columns don't fit together."""
    kind = column(operations.kind, "kind")
    fills = kind == Operation.fill
    if not fills.any():
        return 0, 0
    cause = column(operations.cause, "cause")
    after, of_after = u32(operations.filled_after), kind[CARRIED_MASK["filled_after"][kind]]
    before, of_before = u32(operations.filled_before), kind[CARRIED_MASK["filled_before"][kind]]
    if (len(cause), len(after), len(before)) != (len(kind), len(of_after), len(of_before)):
        return 0, 0
    cause = cause[fills]
    grown = after[of_after == Operation.fill].astype(np.int64) - before[of_before == Operation.fill]
    return int(grown[cause == Cause.prefill].sum()), int(grown[cause == Cause.decode].sum())


CHANGES = (Submitted, Admitted, Preempted, Finished, Aborted, Refused)
"""The decisions that move a request."""


def step_row(step: Step) -> Row:
    """What a step's record tells of its row by itself: all but the state's columns (usage, running and waiting)."""
    counts = np.bincount(column(step.operations.kind, "kind"), minlength=10).tolist()
    prefill, decode = fill_tokens(step.operations)
    asked = HitStatistics()
    for decision in step.decisions:
        if isinstance(decision, Admitted):
            asked.count(decision)
    return {
        "step": step.step,
        "record": step.record,
        "op": step.op,
        "time": step.sealed,
        "prefill_tokens": prefill,
        "decode_tokens": decode,
        "budget": step.budget,
        "allocate": counts[Operation.allocate],
        "evict": counts[Operation.evict],
        "reuse": counts[Operation.reuse],
        "share": counts[Operation.share],
        "copy": counts[Operation.copy],
        "fill": counts[Operation.fill],
        "cache": counts[Operation.cache],
        "release": counts[Operation.release],
        "freed": counts[Operation.free],
        "preempted": _decided(step, Preempted),
        "queries": asked.queries,
        "hits": asked.hits,
    }


def _decided(step: Step, kind: type[AnyDecision]) -> int:
    return sum(isinstance(decision, kind) for decision in step.decisions)


def landmarks_of(record: AnyRecord, row: Row | None = None) -> list[tuple[str, int, str | None]]:
    """Kind, count and message of each landmark that a record tells by itself; of a step, ``row`` is its :func:`step_row`."""
    if isinstance(record, Gap):
        return [("gap", record.last - record.first + 1, _stored(record.reason))]
    if isinstance(record, Note):
        return [("note", 1, _stored(record.text))]
    if not isinstance(record, Step) or row is None:
        return []
    counts = {name: row[name] for name in ("evict", "copy", "preempted")}
    counts["refused"] = _decided(record, Refused)
    return [(kind, count, None) for kind, count in counts.items() if count]


def _stored(text: str | None) -> str | None:
    """Text as any database takes it: PostgreSQL has no NUL."""
    return text if text is None else text.replace("\0", "\ufffd")


def _states(fold: Fold, before: list[AnyDecision] | None = None) -> Counter[str]:
    """How many requests are in which state, now or before the decisions ``before``."""
    states = Counter[str](row.state for row in fold.state.requests.values())
    for decision in before or ():
        if isinstance(decision, CHANGES):
            states[decision.state_before or ""] += 1
            states[decision.state_after or ""] -= 1
    return states


class Indexer:
    """Collects rows until :meth:`take`. ``requests`` are the rows of requests that had not ended before."""

    def __init__(self, session: int, requests: list[Row]) -> None:
        self.session = session
        self._requests: dict[int, Row] = {row["request"]: dict(row) for row in requests}
        self._changed: set[int] = set()
        self._contents: list[tuple[int, int, int]] = []
        self._rows = IndexRows(session=session, through=-1)
        self._states: Counter[str] | None = None
        self._last_step = -1

    def __len__(self) -> int:
        return len(self._rows) + len(self._changed)

    def keyframe(self, row: Row) -> None:
        """A keyframe that is to be stored."""
        self._rows.keyframes.append(row)

    def violations(self, fold: Fold, record: int, found: list[Violation]) -> None:
        """What the fold found wrong with a record."""
        if not found:
            return
        self._rows.violations += len(found)
        if self._rows.violation is None:
            self._rows.violation = str(found[0])
        self._landmark(fold.step, record, "violation", len(found), str(found[0]))

    def add(self, record: AnyRecord, fold: Fold) -> None:
        """The record that ``fold`` just applied."""
        if isinstance(record, Step):
            self._step(record, fold)
        elif isinstance(record, Text):
            self._text(record)
        elif isinstance(record, Keyframe):
            self._states = _states(fold)
            self._end_lost_requests(fold)
        else:
            self._landmarks(fold.step, record)

    def take(self, through: int) -> IndexRows:
        """The rows since the last call; they bring the index to ``through``."""
        rows, self._rows = self._rows, IndexRows(session=self.session, through=-1)
        rows.through = through
        rows.requests = [self._request_row(request) for request in sorted(self._changed)]
        self._changed.clear()
        rows.contents = self._content_rows()
        for request in [number for number, row in self._requests.items() if row["ended_step"] is not None]:
            # A prompt's text record follows its step's: a request that ended at once is kept for one more round.
            if self._requests[request]["ended_step"] < self._last_step:
                del self._requests[request]
        return rows

    # -- steps ------------------------------------------------------------------------------------------------------

    def _step(self, step: Step, fold: Fold) -> None:
        self._last_step = step.step
        usage = fold.usage()
        states = self._states = self._states or _states(fold, before=step.decisions)
        for decision in step.decisions:
            self._decide(decision, step, states)
        row = step_row(step) | {
            "session": self.session,
            "active": usage.active,
            "shared": usage.shared,
            "cached": usage.cached,
            "free": usage.free,
            "running": states["running"],
            "waiting": states["waiting"] + states["preempted"],
        }
        self._rows.steps.append(row)
        self._landmarks(step.step, step, row)
        self._sampled(step, fold)
        if step.contents.content:
            ids = u32(step.contents.content)
            self._contents.append((int(ids[0]), int(ids[-1]), step.record))

    def _landmarks(self, step: int, record: AnyRecord, row: Row | None = None) -> None:
        for kind, count, message in landmarks_of(record, row):
            self._landmark(step, record.record, kind, count, message)

    def _landmark(self, step: int, record: int, kind: str, count: int, message: str | None = None) -> None:
        self._rows.landmarks.append(
            {
                "session": self.session,
                "step": step,
                "kind": kind,
                "record": record,
                "count": count,
                "message": _stored(message),
            }
        )

    # -- requests ---------------------------------------------------------------------------------------------------

    def _decide(self, decision: AnyDecision, step: Step, states: Counter[str]) -> None:
        if isinstance(decision, CHANGES):
            states[decision.state_before or ""] -= 1
            states[decision.state_after or ""] += 1
        request = getattr(decision, "request", None)
        if request is None:
            return
        if isinstance(decision, Submitted):
            self._requests[request] = {
                "name": _stored(decision.name),
                "state": "waiting",
                "prompt_tokens": decision.prompt_tokens,
                "max_tokens": decision.max_tokens,
                "n": decision.n,
                "priority": decision.priority,
                "hit_tokens": 0,
                "output_tokens": 0,
                "preemptions": 0,
                "submitted_record": step.record,
                "submitted_step": step.step,
                "submitted_time": step.time,
                "ended_step": None,
            }
        row = self._requests.get(request)
        if row is None:
            return
        if isinstance(decision, Admitted):
            row["state"] = "running"
            if row.get("admitted_step") is None:
                row |= {
                    "admitted_step": step.step,
                    "admitted_time": step.time,
                    "hit_tokens": decision.hit,
                }
        elif isinstance(decision, Preempted):
            row["state"] = "preempted"
            row["preemptions"] += 1
        elif isinstance(decision, (Finished, Aborted, Refused)):
            row |= {
                "state": type(decision).__name__.lower(),
                "reason": getattr(decision, "reason", None),
                "message": _stored(getattr(decision, "message", None)),
                "ended_step": step.step,
                "ended_time": step.sealed,
            }
        elif not isinstance(decision, Submitted):
            return
        self._changed.add(request)

    def _sampled(self, step: Step, fold: Fold) -> None:
        if not step.sampled:
            return
        sequences = fold.state.sequences
        for sequence, count in Counter(u32(step.sampled).tolist()).items():
            owner = sequences.get(sequence)
            row = self._requests.get(owner.request) if owner is not None else None
            if owner is None or row is None:
                continue
            row["output_tokens"] += count
            if row.get("first_token_time") is None:
                row["first_token_time"] = step.sealed
            self._changed.add(owner.request)

    def _end_lost_requests(self, fold: Fold) -> None:
        """After a gap: a request that is not in the engine any more has ended, nobody knows how."""
        for request, row in self._requests.items():
            if row["ended_step"] is None and request not in fold.state.requests:
                row |= {"state": "lost", "message": "it ended in a gap", "ended_step": fold.step}
                self._changed.add(request)

    def _request_row(self, request: int) -> Row:
        row: dict[str, Any] = dict.fromkeys(REQUEST_COLUMNS)
        return row | self._requests[request] | {"request": request, "session": self.session}

    # -- text -------------------------------------------------------------------------------------------------------

    def _text(self, text: Text) -> None:
        for prompt in text.prompts:
            row = self._requests.get(prompt.request)
            if row is not None and prompt.tokens:
                row["prompt_record"] = text.record
                self._changed.add(prompt.request)
        if text.pieces.token:
            tokens = u32(text.pieces.token).tolist()
            if len(tokens) != len(text.pieces.piece):
                raise FrameError(f"it tells {len(text.pieces.piece)} pieces of {len(tokens)} tokens")
            self._rows.pieces += [
                {"session": self.session, "token": token, "piece": _stored(piece)}
                for token, piece in dict(zip(tokens, text.pieces.piece, strict=True)).items()
            ]

    def _content_rows(self) -> list[Row]:
        if not self._contents:
            return []
        rows = [
            {
                "session": self.session,
                "first": min(first for first, _, _ in self._contents),
                "last": max(last for _, last, _ in self._contents),
                "first_record": self._contents[0][2],
                "last_record": self._contents[-1][2],
            }
        ]
        self._contents.clear()
        return rows
