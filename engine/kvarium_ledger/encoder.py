"""The sender's end of the ledger: slices become columns, digests and frames, off the engine's thread."""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
import numpy as np

from kvarium_ledger import codec
from kvarium_ledger.batch import apply_batch
from kvarium_ledger.block_fold import entry_sums
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.decisions import (
    AnyDecision,
    Change,
    Hypothesis,
)
from kvarium_ledger.digest import Lanes, row_sums
from kvarium_ledger.hashes import HASH_BYTES
from kvarium_ledger.ledger import (
    Sealed,
    SealedControl,
    SealedStep,
)
from kvarium_ledger.operations import CARRIED_BY, COLUMNS, NONE, Operation
from kvarium_ledger.privacy import RECORD_TEXT, Privacy
from kvarium_ledger.records import (
    AnyRecord,
    ContentKeys,
    Contents,
    Control,
    Digest,
    Gap,
    Keyframe,
    Logprobs,
    Note,
    Operations,
    Pieces,
    Step,
    Text,
)
from kvarium_ledger.slices import Told, spread
from kvarium_ledger.state import BlockState, request_sums
from kvarium_ledger.step_text import ExtraKeys, PlainContents, TokenLogprobs

EXTRA: dict[Operation, tuple[str, ...]] = {
    Operation.allocate: ("ticket", "filled_before"),
    Operation.evict: ("content", "hits"),
    Operation.reuse: ("ticket",),
    Operation.share: (),
    Operation.copy: ("ticket", "filled_before", "filled_after", "source"),
    Operation.fill: ("filled_before", "filled_after"),
    Operation.cache: ("content",),
    Operation.release: (),
    Operation.free: ("ticket",),
}
"""Which columns the ``extra`` of a :class:`~kvarium_ledger.slices.Slice` holds, in order."""


def columns_of(told: Sequence[Told]) -> Operations:
    """Lay out what a step told as the columns of its record."""
    values: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    holders = CARRIED_BY["position"]
    for kind, blocks, cause, sequences, positions, group, pin, extra in spread(told):
        count = len(blocks)
        values["kind"] += [kind] * count
        values["block"] += blocks
        values["cause"] += [cause] * count
        values["sequence"] += [sequences] * count if isinstance(sequences, int) else sequences
        if kind in holders:
            if not isinstance(positions, int):
                values["position"] += positions
            elif positions == NONE:
                values["position"] += [NONE] * count
                values["pin"] += [pin] * count
            else:
                values["position"] += range(positions, positions + count)
            values["group"] += [group] * count
        for name, column in zip(EXTRA[kind], extra, strict=True):
            values[name] += column
    if not any(values["group"]):
        values["group"] = []
    return Operations(
        **{name: np.array(column, dtype=COLUMNS[name]).tobytes() for name, column in values.items() if column}
    )


def decision_sums(lanes: Lanes, decisions: Sequence[AnyDecision]) -> None:
    """Bring the lane ``requests`` to where it is after ``decisions``."""
    gone: list[tuple[int, Any, Any]] = []
    came: list[tuple[int, Any, Any]] = []
    for decision in decisions:
        if isinstance(decision, Change):
            if decision.state_before is not None:
                gone.append((decision.request, decision.state_before, decision.place_before))
            if decision.state_after is not None:
                came.append((decision.request, decision.state_after, decision.place_after))
    if gone:
        lanes.subtract("requests", request_sums(gone))
    if came:
        lanes.add("requests", request_sums(came))


_EMPTY = Text(record=0, step=0)
_NO_PIECES, _NO_LOGPROBS = _EMPTY.pieces, _EMPTY.logprobs
"""The defaults themselves: only those are left out of the bytes."""


class PieceSource(Protocol):
    """Where the text of tokens comes from; those from ``size`` on have none."""

    size: int

    def piece(self, token: int) -> str:
        """The text of a token below ``size``; empty: it has none."""
        ...


class _Vocabulary:
    """Which pieces have been told."""

    def __init__(self, source: PieceSource) -> None:
        self._source = source
        self._told = np.zeros(source.size + 1, dtype=bool)
        self.forget()

    def forget(self) -> None:
        """Records were lost, and pieces with them: all are told anew."""
        self._told[:-1] = False
        self._told[-1] = True  # stands for every token without a piece

    def untold(self, tokens: np.ndarray) -> Pieces:
        """The pieces of ``tokens`` (u32) that were not told yet; they count as told now."""
        told = self._told
        known = np.minimum(tokens, len(told) - 1)
        fresh = np.unique(known[~told[known]])
        if not len(fresh):
            return _NO_PIECES
        told[fresh] = True
        found = {token: self._source.piece(token) for token in fresh.tolist()}
        found = {token: piece for token, piece in found.items() if piece}
        return Pieces(token=np.array(list(found), dtype="<u4").tobytes(), piece=list(found.values()))


class Encoder:
    """Makes records of what the ledger sealed and numbers them; keeps the block columns and lanes for the digests.

    ``record_text`` is ``full``, ``hash`` or ``none``: without ``full`` no text leaves the engine, and no true hash of it
    (:mod:`kvarium_ledger.privacy`); with ``hash`` a ``text`` record tells prompts by re-keyed hashes, with ``none`` there is
    no such record. ``pieces`` gives the text of tokens, told where a token first comes up; None: tokens are told by their
    ids alone.
    """

    def __init__(self, num_blocks: int, record_text: str = "full", pieces: PieceSource | None = None) -> None:
        if record_text not in RECORD_TEXT:
            raise ValueError(f"record_text is 'full', 'hash' or 'none', not {record_text!r}")
        self.record = -1
        self._privacy = Privacy(record_text) if record_text != "full" else None
        self._time = 0
        self._blocks = BlockState(num_blocks)
        self._lanes = Lanes()
        self._vocabulary = None if pieces is None else _Vocabulary(pieces)

    def _next(self) -> int:
        self.record += 1
        return self.record

    def encode(self, sealed: Sealed) -> list[tuple[int, bytes]]:
        """The frames of one sealed step, control, note or keyframe, each with its number."""
        return [(record.record, codec.seal(record)) for record in self.records(sealed)]

    def records(self, sealed: Sealed) -> list[AnyRecord]:
        """The records of one sealed step, control, note or keyframe."""
        self._time = sealed.sealed if isinstance(sealed, SealedStep) else sealed.time
        if isinstance(sealed, SealedStep):
            records: list[AnyRecord] = [self._step(sealed)]
            if self._privacy is not None:
                if self._privacy.record_text == "hash" and sealed.prompts:
                    told = Text(record=self._next(), step=sealed.step, prompts=sealed.prompts)
                    records.append(self._privacy.text(told))
                return records
            ends = _ends(sealed.decisions) if self._vocabulary is not None else b""
            if sealed.plain_contents or sealed.prompts or sealed.sampled or ends:
                records.append(self._text(sealed, ends))
            return records
        if isinstance(sealed, SealedControl):
            control = Control(
                record=self._next(),
                time=sealed.time,
                id=sealed.id,
                name=sealed.name,
                args=sealed.args,
                asked_by=sealed.asked_by,
                error=sealed.error,
            )
            return [control if self._privacy is None else self._privacy.control(control)]
        if isinstance(sealed, Note):
            note = msgspec.structs.replace(sealed, record=self._next())
            return [note if self._privacy is None else self._privacy.note(note)]
        return [self._keyframe(sealed)]

    def lose(self, sealed: Sealed) -> None:
        """Number a sealed thing that is not encoded: a gap must tell of it."""
        self._time = sealed.sealed if isinstance(sealed, SealedStep) else sealed.time
        self.record += 1
        self._forget_pieces()

    def _forget_pieces(self) -> None:
        if self._vocabulary is not None:
            self._vocabulary.forget()

    def gap(self, first: int, reason: str) -> tuple[int, bytes]:
        """The frame that stands for the lost records from ``first`` to the last number; a keyframe must follow it."""
        last = self.record
        self._forget_pieces()
        record = Gap(record=self._next(), time=self._time, first=first, last=last, reason=reason)
        return record.record, codec.seal(record)

    def _keyframe(self, keyframe: Keyframe) -> Keyframe:
        self._blocks.load(keyframe.blocks)
        self._lanes.load(keyframe.digest)
        told = msgspec.structs.replace(keyframe, record=self._next())
        return told if self._privacy is None else self._privacy.keyframe(told)

    def _digest(self, operations: Operations, decisions: list[AnyDecision]) -> Digest:
        columns = OperationColumns.decode(operations)
        if len(columns):
            touched = columns.touched
            self._lanes.subtract("blocks", self._blocks.sums(touched))
            apply_batch(self._blocks, columns)
            self._lanes.add("blocks", self._blocks.sums(touched))
            added, removed = entry_sums(columns)
            self._lanes.add("tables", row_sums("tables", *added.T))
            self._lanes.subtract("tables", row_sums("tables", *removed.T))
        decision_sums(self._lanes, decisions)
        return self._lanes.digest()

    def _step(self, sealed: SealedStep) -> Step:
        operations = columns_of(sealed.told)
        step = Step(
            record=self._next(),
            step=sealed.step,
            time=sealed.times.start,
            sealed=sealed.sealed,
            op=sealed.op,
            schedule_ns=sealed.times.schedule,
            forward_ns=sealed.times.forward,
            sample_ns=sealed.times.sample,
            seal_ns=sealed.sealed
            - sealed.times.start
            - sealed.times.schedule
            - sealed.times.forward
            - sealed.times.sample,
            tokens=sealed.tokens,
            budget=sealed.budget,
            operations=operations,
            decisions=sealed.decisions,
            sampled=np.array(sealed.sampled, dtype="<u4").tobytes(),
            sampled_op=sealed.sampled_op,
            contents=_contents(sealed.plain_contents),
            digest=self._digest(operations, sealed.decisions),
            audit=sealed.audit,
        )
        return step if self._privacy is None else self._privacy.step(step)

    def _text(self, sealed: SealedStep, ends: bytes) -> Text:
        told = b"".join(tokens for _, _, _, tokens, *_ in sealed.plain_contents)
        sampled = np.array(sealed.sampled_tokens, dtype="<u4").tobytes()
        logprobs = _logprobs(sealed.logprobs) if sealed.logprobs else _NO_LOGPROBS
        return Text(
            record=self._next(),
            step=sealed.step,
            content=_ids(sealed.plain_contents),
            tokens=told,
            extra=_extra(sealed.plain_contents),
            prompts=sealed.prompts,
            sampled=sampled,
            pieces=self._pieces(
                told, sampled, ends, logprobs.top_token, *(prompt.tokens for prompt in sealed.prompts)
            ),
            logprobs=logprobs,
        )

    def _pieces(self, *tokens: bytes) -> Pieces:
        if self._vocabulary is None:
            return _NO_PIECES
        return self._vocabulary.untold(np.frombuffer(b"".join(tokens), dtype="<u4"))


def _ends(decisions: list[AnyDecision]) -> bytes:
    """The last tokens of the answers that a beam search found (u32): no sequence has sampled them."""
    ends = [each.token for each in decisions if isinstance(each, Hypothesis) and each.token is not None]
    return np.array(ends, dtype="<u4").tobytes()


def _ids(contents: list[PlainContents]) -> bytes:
    ids: list[int] = []
    for first, _, count, *_ in contents:
        ids += range(first, first + count)
    return np.array(ids, dtype="<u4").tobytes()


def _contents(contents: list[PlainContents]) -> Contents:
    parents: list[int] = []
    hashes: list[bytes] = []
    for first, parent, count, _, _, _, told in contents:
        parents.append(parent)
        parents += range(first, first + count - 1)
        hashes += told
    return Contents(
        content=_ids(contents),
        parent=np.array(parents, dtype="<u4").tobytes(),
        hash=b"".join(hashes),
        hash_size=HASH_BYTES if hashes else 0,
    )


def _extra(contents: list[PlainContents]) -> list[ContentKeys]:
    """The contents that have extra keys, by these."""
    found: dict[ExtraKeys, list[int]] = {}
    for first, _, count, _, extra, rest, _ in contents:
        if extra is not None:
            found.setdefault(extra, []).append(first)
        if rest is not None and count > 1:
            found.setdefault(rest, []).extend(range(first + 1, first + count))
    return [
        ContentKeys(content=np.array(ids, dtype="<u4").tobytes(), keys=[list(key) for key in keys])
        for keys, ids in found.items()
    ]


def _logprobs(asked: Sequence[TokenLogprobs]) -> Logprobs:
    def column(values: list[Any], dtype: str) -> bytes:
        return np.array(values, dtype=dtype).tobytes()

    return Logprobs(
        sampled=column([item.number for item in asked], "<u4"),
        logprob=column([item.logprob for item in asked], "<f4"),
        rank=column([item.rank for item in asked], "<u4"),
        count=column([len(item.top_tokens) for item in asked], "<u4"),
        top_token=column([token for item in asked for token in item.top_tokens], "<u4"),
        top_logprob=column([value for item in asked for value in item.top_logprobs], "<f4"),
    )
