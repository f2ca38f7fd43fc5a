"""Finds the events of a session that meet a filter, from a place on, for a bounded time.

    chunks     ▐ 1 ▐ 2 ▐ 3 ▐ 4 ▐ 5 ▐ 6 ▐ …        block:7 op:evict
    touched      ─   7   7   ─   7   ─             which blocks a chunk's operations touch
    steps            ·   3       2                 how many evictions the index counts in its steps
    opened               ■       ■   └─ until enough is found or the time is up: ``next`` is where to go on

A chunk is passed over only where nothing in it can be wanted; one with a gap never is. What is found bears its owner and its
block's generation: of a chunk those are known from the state before it, as a seek gives it.
"""

import time
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

import msgspec
import numpy as np
import sqlalchemy as sa

from kvarium.errors import DamagedRecordingError, OutOfRangeError
from kvarium.filtering.bounds import BlockSets, Bounds
from kvarium.filtering.hash_walk import HashWalk
from kvarium.filtering.matching import Matcher, Whose
from kvarium.filtering.rows import decision_row, gap_row, operation_row
from kvarium.filtering.sheet import Decided, Owners, Place, Sheet, decode_step
from kvarium.heads import stored_head
from kvarium.recording import tables
from kvarium.recording.fast_forward import join_operations
from kvarium.recording.index_rows import Row
from kvarium.recording.kept import Kept
from kvarium.recording.reader import Reader, chunk_name
from kvarium.recording.row_types import dicts_of, rows_of
from kvarium.recording.seek import Seeker
from kvarium_ledger import block_columns
from kvarium_ledger.codec import FrameError, open_frame
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.filtering.terms import Filter
from kvarium_ledger.operations import Operation
from kvarium_ledger.records import Gap, Keyframe

Direction = Literal["later", "earlier"]

_KEPT_BYTES: Final = 36 << 20
"""Sheets of about so many bytes are kept. A live engine's chunks are small, and each is looked at for question after question."""

_PORTION: Final = 64


class Known(NamedTuple):
    """A sheet, and what is known only from the state before its chunk."""

    sheet: Sheet
    owners: np.ndarray
    """``[2, operations] int64``: request and index of the sequence that each serves, -1 where there is none."""
    generations: np.ndarray
    """``[2, operations] int64``: of its block as it leaves it, and of a copy's source; -1 where that is not known."""


class Searcher:
    """Searches the sessions of one recording."""

    def __init__(self, reader: Reader, seeker: Seeker) -> None:
        self._reader = reader
        self._seeker = seeker
        self._sets = BlockSets()
        self._sheets: Kept[tuple[int, int, int], Sheet] = Kept(_KEPT_BYTES)
        self._knowns: Kept[tuple[int, int, int], Known] = Kept(_KEPT_BYTES)
        self._hashes: dict[int, HashWalk] = {}

    def search(
        self, session: int, filter: Filter, begin: Place, direction: Direction, limit: int, seconds: float
    ) -> dict[str, Any]:
        """``rows``, at most ``limit``, in their order: those from ``begin`` on, or (``earlier``) those before it.

        ``next`` is where to go on, None where there is nothing more; ``requests`` names those that the rows are of. Raises
        :class:`DamagedRecordingError`, :class:`kvarium.errors.UnknownSessionError` and, where a hash is looked for in a session
        whose text is not recorded, :class:`kvarium.errors.InvalidValueError`.
        """
        row = self._reader.session(session)
        whose = Whose(lambda requests: self._names(session, requests))
        hashes = self._hashes.setdefault(session, HashWalk(self._reader, session))
        matcher = Matcher(filter, whose, int(row["started_utc_us"]), hashes.beginning)
        if matcher.needs_hashes:
            hashes.check_recorded()
        until = time.monotonic() + seconds
        found: list[tuple[Place, Row]] = []
        earlier = direction == "earlier"
        bounds = Bounds(self._reader, session, row, matcher, earlier, self._sets)
        at: Place | None = begin
        for chunk in self._chunks(session, begin, earlier):
            if bounds.is_past(chunk):
                at = None
                break
            if bounds.may_hold(chunk):
                if matcher.needs_hashes:
                    if not hashes.walk(chunk["last"], until):
                        # What is known by now is kept: who asks again from here comes further.
                        break
                    if row["state"] == "live":
                        hashes.settle()
                found += self._of_chunk(session, chunk, matcher, begin, earlier, limit - len(found))
            cut = len(found) >= limit
            if cut:
                last = found[-1][0]
                at = last if earlier else Place(last.record, last.index + 1)
                break
            at = Place(chunk["first"] if earlier else chunk["last"] + 1, 0)
            if time.monotonic() > until:
                break
        else:
            at = None
        if earlier:
            found.reverse()
        rows = [told for _, told in found]
        requests = sorted({each["request"] for each in rows if each.get("request") is not None})
        return {
            "rows": rows,
            "next": None if at is None else {"record": at.record, "index": at.index},
            "requests": self._requests(session, requests),
        }

    # -- chunks -------------------------------------------------------------------------------------------------------

    def _chunks(self, session: int, begin: Place, earlier: bool) -> Iterator[Row]:
        """The chunks from a place on, without their data, in the direction, with the blocks that they touch."""
        columns = tables.chunk.c
        chosen: list[sa.ColumnElement[Any]] = [
            columns[name]
            for name in ("first", "last", "first_step", "last_step", "first_time", "last_time", "checksum")
        ]
        source: sa.FromClause = tables.chunk
        if tables.has_table(tables.touched, self._reader.database.format):
            same = sa.and_(
                tables.touched.c.session == columns.session, tables.touched.c.first == columns.first
            )
            source = tables.chunk.outerjoin(tables.touched, same)
            chosen.append(tables.touched.c.blocks)
        else:
            chosen.append(sa.null().label("blocks"))
        query = sa.select(*chosen).select_from(source).where(columns.session == session)
        query = query.order_by(columns.first.desc() if earlier else columns.first)
        here = columns.last >= begin.record
        if earlier:
            here = columns.first <= begin.record if begin.index else columns.first < begin.record
        portion = 4
        while True:
            with self._reader.database.engine.connect() as connection:
                rows = dicts_of(connection, query.where(here).limit(portion))
            yield from rows
            if len(rows) < portion:
                return
            here = columns.first < rows[-1]["first"] if earlier else columns.first > rows[-1]["first"]
            portion = _PORTION

    def _of_chunk(
        self, session: int, chunk: Row, matcher: Matcher, begin: Place, earlier: bool, limit: int
    ) -> list[tuple[Place, Row]]:
        """The rows of a chunk from a place on that are wanted, in the direction."""
        sheet = self._sheet(session, chunk)
        if sheet is None:
            return []
        empty = np.full((2, len(sheet.columns)), -1, dtype=np.int64)
        owners = generations = empty
        known: Known | None = None
        if matcher.needs_owners or matcher.needs_generations:
            known = self._known(session, chunk, sheet)
            owners, generations = known.owners, known.generations
        mask = matcher.operations(sheet, owners, generations)
        order = (sheet.record, sheet.index)
        mask &= _stands(order, begin, earlier)
        hits = np.flatnonzero(mask)
        hits = hits[-limit:] if earlier else hits[:limit]
        places = [Place(int(order[0][at]), int(order[1][at])) for at in hits.tolist()]
        told: list[tuple[Place, int | Decided | Gap]] = list(zip(places, hits.tolist(), strict=True))
        of = {} if known is None else _indexes(sheet, known)
        told += [
            (decided.place, decided)
            for decided in sheet.decisions
            if (decided.place < begin) == earlier and matcher.decision(decided, of)
        ]
        told += [
            (Place(gap.record, 0), gap)
            for gap in sheet.gaps
            if (Place(gap.record, 0) < begin) == earlier and matcher.gap(gap)
        ]
        told.sort(key=lambda each: each[0], reverse=earlier)
        told = told[:limit]
        if told and known is None:
            known = self._known(session, chunk, sheet)
        if known is None:
            return []
        of = _indexes(sheet, known)
        rows: list[tuple[Place, Row]] = []
        for place, what in told:
            if isinstance(what, int):
                row = operation_row(sheet, what, known.owners[:, what], known.generations[:, what])
            elif isinstance(what, Decided):
                row = decision_row(what, of)
            else:
                row = gap_row(what)
            rows.append((place, row))
        return rows

    def _sheet(self, session: int, chunk: Row) -> Sheet | None:
        """A chunk's events; None: it was removed meanwhile."""
        key = (session, chunk["first"], chunk["checksum"])
        found = self._sheets.get(key)
        if found is not None:
            return found
        columns = tables.columns_of(tables.chunk, self._reader.database.format)
        query = sa.select(*columns).where(
            tables.chunk.c.session == session, tables.chunk.c.first == chunk["first"]
        )
        with self._reader.database.engine.connect() as connection:
            rows = dicts_of(connection, query)
        if not rows:
            return None
        sheet = Sheet(self._reader.open_chunk(rows[0], with_text=False), chunk_name(rows[0]))
        self._sheets.put(key, sheet, sheet.bytes)
        return sheet

    # -- what is known from the state before --------------------------------------------------------------------------

    def _known(self, session: int, chunk: Row, sheet: Sheet) -> Known:
        key = (session, chunk["first"], chunk["checksum"])
        found = self._knowns.get(key)
        if found is not None:
            return found
        owners = Owners()
        blocks = np.unique(np.concatenate((sheet.columns.block, sheet.columns.source)))
        base = self._before(session, chunk["first"], owners, blocks)
        owners.learn(sheet.steps)
        if sheet.gaps:
            # Behind a gap nobody knows it until the keyframe that follows it.
            base = None
        generations = np.full((2, len(sheet.columns)), -1, dtype=np.int64)
        if base is not None:
            generations = generations_of(sheet, blocks, base)
        known = Known(sheet, owners.of(sheet.columns.sequence), generations)
        self._knowns.put(key, known, sheet.bytes)
        return known

    def _before(self, session: int, record: int, owners: Owners, blocks: np.ndarray) -> np.ndarray | None:
        """``[blocks] int64``: generations of ``blocks`` before a record; None: not known. ``owners`` learns who there is."""
        row = self._reader.session(session)
        num_blocks = int(row["num_blocks"])
        if len(blocks) and int(blocks[-1]) >= num_blocks:
            raise DamagedRecordingError(
                f"the chunk of record {record}: an operation names block {int(blocks[-1])}, the pool has {num_blocks}"
            )
        try:
            found = self._seeker.sought(session, record, record, 0, with_contents=False)
            keyframe = open_frame(b"".join(found.keyframe))
            steps = [decode_step(frame) for frame in found.frames[:-1] if stored_head(frame).type == "step"]
            if not isinstance(keyframe, Keyframe):
                return None
            generation = block_columns.decode("generation", keyframe.blocks.generation, num_blocks)
        except (OutOfRangeError, FrameError, msgspec.MsgspecError):
            # Records before it are lost: who was there is not known.
            return None
        for each in keyframe.sequences:
            owners.put(each.sequence, each.request, each.index)
        if keyframe.record >= record:
            # A session's first record is a keyframe itself.
            return np.zeros(len(blocks), dtype=np.int64)
        owners.learn(steps)
        base = (
            np.zeros(len(blocks), dtype=np.int64)
            if generation is None
            else generation[blocks].astype(np.int64)
        )
        # All at once: a live engine's chunks are so many and so small that a step takes longer than its operations.
        columns = OperationColumns.decode(join_operations([step.operations for step in steps]))
        born = columns.block[columns.mask(Operation.allocate, Operation.copy)]
        place = np.searchsorted(blocks, born)
        inside = place < len(blocks)
        same = np.zeros(len(born), dtype=bool)
        same[inside] = blocks[place[inside]] == born[inside]
        np.add.at(base, place[same], 1)
        return base

    # -- requests -----------------------------------------------------------------------------------------------------

    def _requests(self, session: int, requests: list[int]) -> dict[str, Row]:
        """Names of requests and how many samples they have, by their numbers, as far as they are indexed."""
        columns = tables.request.c
        query = sa.select(columns.request, columns.name, columns.n).where(
            columns.session == session, columns.request.in_(requests)
        )
        with self._reader.database.engine.connect() as connection:
            rows = rows_of(connection, query)
        return {str(request): {"name": name, "n": n} for request, name, n in rows}

    def _names(self, session: int, requests: list[int]) -> dict[int, str]:
        found: dict[int, str] = {}
        for first in range(0, len(requests), 500):
            told = self._requests(session, requests[first : first + 500])
            found |= {int(request): str(row["name"]) for request, row in told.items()}
        return found


def _stands(order: tuple[np.ndarray, np.ndarray], begin: Place, earlier: bool) -> np.ndarray:
    """``[operations] bool``: which stand before a place (``earlier``), or not?"""
    record, index = order
    before: np.ndarray = (record < begin.record) | ((record == begin.record) & (index < begin.index))
    return before == earlier


def _indexes(sheet: Sheet, known: Known) -> dict[int, tuple[int, int]]:
    """Request and index of the sequences that a sheet's operations serve, and of those that it creates."""
    sequences, first = np.unique(sheet.columns.sequence, return_index=True)
    request, index = known.owners[:, first]
    found = dict(zip(sequences.tolist(), zip(request.tolist(), index.tolist(), strict=True), strict=True))
    for decided in sheet.decisions:
        decision: Any = decided.decision
        if decision.__struct_config__.tag == "sequence_created":
            found[decision.sequence] = (decision.request, decision.index)
    return found


def generations_of(sheet: Sheet, blocks: np.ndarray, base: np.ndarray) -> np.ndarray:
    """``[2, operations] int64``: generations of the blocks, and of copies' sources, from those before the chunk."""
    columns = sheet.columns
    copies = np.flatnonzero(columns.mask(Operation.copy))
    births = columns.mask(Operation.allocate, Operation.copy).astype(np.int64)
    keys = np.concatenate((columns.source, columns.block))
    amounts = np.concatenate((np.zeros(len(copies), dtype=np.int64), births))
    # In the order of the operations, of equal blocks: a copy does not change its source's.
    at = np.concatenate((copies, np.arange(len(births))))
    order = np.lexsort((at, keys))
    running = np.cumsum(amounts[order])
    begins = np.searchsorted(keys[order], keys[order], side="left")
    before = np.where(begins > 0, running[begins - 1], 0)
    sums = np.empty(len(keys), dtype=np.int64)
    sums[order] = running - before + base[np.searchsorted(blocks, keys[order])]
    found = np.full((2, len(births)), -1, dtype=np.int64)
    found[1, copies] = sums[: len(copies)]
    found[0] = sums[len(copies) :]
    return found
