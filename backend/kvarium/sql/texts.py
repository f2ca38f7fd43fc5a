"""The tables ``content`` and ``token``: what blocks hold and what sequences sampled, with the ids that text records tell."""

from collections.abc import Callable

import msgspec
import numpy as np

from kvarium.recording.sampled import Likely, likely
from kvarium.sql.builder import Builder, Columns, Session, floats, numbers, objects
from kvarium.sql.walk import Batch, grouped, sampled_of, told
from kvarium_ledger.columns import u32
from kvarium_ledger.decisions import SequenceCreated
from kvarium_ledger.records import Gap, Keyframe


class Contents(Builder):
    """Builds ``content``: a row a content, where it was interned. ``tokens`` comes as a column a slot, ``slot0`` …"""

    def __init__(self, session: Session, columns: list[str]) -> None:
        super().__init__(session, columns)
        self.needs_text = not {"tokens", "extra"}.isdisjoint(columns)

    def build(self, batch: Batch) -> Columns:
        """The contents that the steps of a batch interned."""
        steps = [step for step in batch.steps if step.contents.content]
        counts = np.array([len(step.contents.content) // 4 for step in steps], dtype=np.int64)
        content = u32(b"".join(step.contents.content for step in steps))
        make: dict[str, Callable[[], np.ndarray]] = {
            "content": lambda: content,
            "parent": lambda: told(u32(b"".join(step.contents.parent for step in steps))),
            "step": lambda: batch.per_step([step.step for step in steps], counts),
            "record": lambda: batch.per_step([step.record for step in steps], counts),
            "time": lambda: batch.per_step([step.sealed for step in steps], counts),
            "hash": lambda: objects(
                [
                    found
                    for step, count in zip(steps, counts.tolist(), strict=True)
                    for found in _hashes(step.contents.hash, step.contents.hash_size, count)
                ]
            ),
        }
        make["extra"] = lambda: objects(_extra(batch, content.tolist()))
        columns = {name: make[name]() for name in self.columns if name != "tokens"}
        if "tokens" in self.columns:
            columns |= self._tokens(batch, content)
        return columns

    def _tokens(self, batch: Batch, content: np.ndarray) -> Columns:
        size = self.session.block_size
        texts = list(batch.texts.values())
        known = u32(b"".join(text.content for text in texts))
        words = u32(b"".join(text.tokens for text in texts))[: len(known) * size].reshape(-1, size)
        order = np.argsort(known, kind="stable")
        place = np.searchsorted(known[order], content)
        there = place < len(known)
        there[there] &= known[order][place[there]] == content[there]
        rows = np.zeros((len(content), size), dtype=np.int64)
        rows[there] = words[order[place[there]]]
        return {f"slot{slot}": np.ma.masked_array(rows[:, slot], mask=~there) for slot in range(size)}


def _extra(batch: Batch, contents: list[int]) -> list[object]:
    """The extra keys of contents as JSON; None where a content has none."""
    found = {
        content: msgspec.json.encode(told.keys).decode()
        for text in batch.texts.values()
        for told in text.extra
        for content in u32(told.content).tolist()
    }
    return [found.get(content) for content in contents]


def _hashes(raw: bytes, size: int, count: int) -> list[str | None]:
    if not size or len(raw) != size * count:
        return [None] * count
    return [raw[at : at + size].hex() for at in range(0, len(raw), size)]


class Tokens(Builder):
    """Builds ``token``: a row a sampled token. A sequence's tokens are counted from the recording's beginning."""

    def __init__(self, session: Session, columns: list[str]) -> None:
        super().__init__(session, columns)
        self.needs_text = bool({"token", "piece", "logprob", "rank"} & set(columns))
        self.needs_all = "number" in columns
        self._counts: dict[int, int] = {}
        self._begun: set[int] = set()
        self._lost: set[int] = set()

    def gap(self, gap: Gap) -> None:
        """What the sequences that are alive sampled in it is not known, nor is their number from there on."""
        self._lost |= self._begun

    def keyframe(self, keyframe: Keyframe) -> None:
        """A sequence that began in a gap: how much it sampled there is not known."""
        self._lost.update(row.sequence for row in keyframe.sequences if row.sequence not in self._begun)

    def build(self, batch: Batch) -> Columns:
        """The tokens of a batch."""
        steps = [step for step in batch.steps if step.sampled]
        lanes = [sampled_of(step) for step in steps]
        counts = np.array([len(lane) for lane in lanes], dtype=np.int64)
        sequence = np.concatenate(lanes) if lanes else np.zeros(0, dtype="<u4")
        request = self.session.sequences.requests(sequence)
        columns: Columns = {
            "op": batch.per_step([step.sampled_op for step in steps], counts),
            "step": batch.per_step([step.step for step in steps], counts),
            "record": batch.per_step([step.record for step in steps], counts),
            "time": batch.per_step([step.sealed for step in steps], counts),
            "sequence": sequence,
            "request": np.ma.masked_array(request, mask=request < 0),
        }
        if self.needs_all:
            self._begun.update(
                decision.sequence
                for step in batch.steps
                for decision in step.decisions
                if isinstance(decision, SequenceCreated)
            )
            columns["number"] = self._numbers(sequence)
        if self.needs_text:
            columns |= self._texts(batch, [step.step for step in steps], counts.tolist())
        return {name: columns[name] for name in self.columns}

    def _numbers(self, sequence: np.ndarray) -> np.ndarray:
        values = grouped(sequence, np.ones(len(sequence), dtype=np.int64)) - 1
        found, inverse, counts = np.unique(sequence, return_inverse=True, return_counts=True)
        before = [self._counts.get(number, 0) for number in found.tolist()]
        lost = np.array([number in self._lost for number in found.tolist()], dtype=bool)
        for number, start, count in zip(found.tolist(), before, counts.tolist(), strict=True):
            self._counts[number] = start + count
        values += np.array(before, dtype=np.int64)[inverse]
        return np.ma.masked_array(values, mask=lost[inverse])

    def _texts(self, batch: Batch, steps: list[int], counts: list[int]) -> Columns:
        tokens: list[int | None] = []
        found: list[Likely | None] = []
        for step, count in zip(steps, counts, strict=True):
            text = batch.texts.get(step)
            ids = [] if text is None else u32(text.sampled).tolist()
            tokens += ids if len(ids) == count else [None] * count
            by_place = {} if text is None or not text.logprobs.sampled else likely(text.logprobs)
            found += [by_place.get(place) for place in range(count)] if by_place else [None] * count
        pieces = self.session.pieces
        return {
            "token": numbers(tokens),
            "piece": objects([None if token is None else pieces.get(token) for token in tokens]),
            "logprob": floats([None if told is None else told.logprob for told in found]),
            "rank": numbers([None if told is None else told.rank for told in found]),
        }
