"""From a keyframe to a later one without walking the operations between: each column's last write wins.

A keyframe of a large pool is large, so they are stored far apart, and what lies between two can be a hundred megabytes of
frames. Nobody should fetch and fold those in order to see one step. All operations between are laid end to end and
applied with a handful of array operations (:func:`kvarium_ledger.batch.apply_batch`); table entries need only be
resolved for the sequences that are still there at the end. Nothing is checked on the way: the result bears the digest
that the engine sent with its last step, and whoever loads it compares.
"""

from collections.abc import Sequence
from copy import copy, deepcopy
from typing import NamedTuple, cast

import msgspec
import numpy as np

from kvarium_ledger.batch import apply_batch
from kvarium_ledger.block_columns import BLOCK_COLUMNS
from kvarium_ledger.columns import OperationColumns, u32
from kvarium_ledger.decisions import State as RequestStanding
from kvarium_ledger.operations import CARRIED_MASK, COLUMNS, NONE, Operation
from kvarium_ledger.records import (
    Contents,
    Digest,
    Keyframe,
    Operations,
    PinColumns,
    RequestState,
    SequenceState,
    TableColumns,
)
from kvarium_ledger.state import BlockState, ContentParents

_OPERATIONS_AT_ONCE = 1 << 19
_GAINS = np.zeros(256, dtype=bool)
_GAINS[[Operation.allocate, Operation.reuse, Operation.share, Operation.copy]] = True
_CHANGES = frozenset({"submitted", "admitted", "preempted", "finished", "aborted", "refused"})


class _Decision(msgspec.Struct):
    """What of any decision outlasts the step."""

    kind: str
    request: int = 0
    state_after: RequestStanding | None = None
    place_after: float | None = None
    name: str = ""
    prompt_tokens: int = 0
    max_tokens: int = 0
    n: int = 1
    priority: int = 0
    precedence: int = 0
    beam_width: int | None = None
    lora_name: str | None = None
    sequence: int = 0
    index: int = 0
    parent: int | None = None


class _Step(msgspec.Struct):
    step: int
    sealed: int
    op: int
    digest: Digest
    operations: Operations = Operations()
    decisions: list[_Decision] = []
    contents: Contents = Contents()


_step = msgspec.msgpack.Decoder(_Step)


class Beside(NamedTuple):
    """What a state has beside its blocks; nothing of it is changed by whoever goes on from it."""

    frame: Keyframe
    entries: "_Entries"
    pins: dict[tuple[int, int], int]
    requests: dict[int, RequestState]
    sequences: dict[int, SequenceState]
    contents: ContentParents

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes; the parents of contents are the session's, and counted nowhere."""
        return 13 * len(self.entries.block) + 200 * (
            len(self.requests) + len(self.sequences) + len(self.pins)
        )


class FastState:
    """A session's state at ``record``, held as arrays."""

    @classmethod
    def of(cls, record: int, blocks: BlockState, beside: Beside) -> "FastState":
        """The state whose parts these are; the ``blocks`` are its own from now on."""
        state = cls.__new__(cls)
        state.record, state.blocks = record, blocks
        state._frame, state._entries = beside.frame, beside.entries
        state._pins = dict(beside.pins)
        state._requests = dict(beside.requests)
        state._sequences = dict(beside.sequences)
        state._contents = beside.contents.until(beside.contents.next)
        return state

    def beside(self) -> Beside:
        """All but the blocks, as it is now."""
        contents = self._contents.until(self._contents.next)
        return Beside(
            self._frame,
            self._entries,
            dict(self._pins),
            dict(self._requests),
            dict(self._sequences),
            contents,
        )

    def __init__(self, keyframe: Keyframe, num_blocks: int) -> None:
        self.record = keyframe.record
        self._frame = keyframe
        self.blocks = BlockState(num_blocks)
        self.blocks.load(keyframe.blocks)
        tables = keyframe.tables
        sequence = u32(tables.sequence)
        group = (
            np.frombuffer(tables.group, dtype="u1") if tables.group else np.zeros(len(sequence), dtype="u1")
        )
        self._entries = _Entries(sequence, group, u32(tables.position), u32(tables.block))
        self._pins: dict[tuple[int, int], int] = {}
        for block, pin in zip(u32(keyframe.pins.block).tolist(), keyframe.pins.pin, strict=True):
            self._pins[block, pin] = self._pins.get((block, pin), 0) + 1
        self._requests = {row.request: row for row in keyframe.requests}
        self._sequences = {row.sequence: row for row in keyframe.sequences}
        self._contents = ContentParents()
        self._contents.intern(u32(keyframe.contents.content), u32(keyframe.contents.parent))
        self._contents.reserve(keyframe.next_content)

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        return 28 * self.blocks.num_blocks + 13 * len(self._entries.block) + 4 * self._contents.next

    def copy(self) -> "FastState":
        """The same state, to go on from without changing this one."""
        twin = copy(self)
        twin.blocks = BlockState.bulk(self.blocks.num_blocks)
        for name in BLOCK_COLUMNS:
            getattr(twin.blocks, f"np_{name}")[:] = getattr(self.blocks, f"np_{name}")
        twin._pins = dict(self._pins)
        twin._requests = dict(self._requests)
        twin._sequences = dict(self._sequences)
        twin._contents = deepcopy(self._contents)
        return twin

    def keyframe(self) -> Keyframe:
        """The state as a keyframe; equal to that of the exact fold."""
        live, parents = self._contents.with_ancestors(self.blocks.np_content)
        pins = sorted(key for key, count in self._pins.items() for _ in range(count))
        return msgspec.structs.replace(
            self._frame,
            record=self.record,
            blocks=self.blocks.columns(),
            tables=self._entries.columns(),
            pins=PinColumns(
                block=np.array([block for block, _ in pins], dtype="<u4").tobytes(),
                pin=bytes(pin for _, pin in pins),
            ),
            requests=[row for _, row in sorted(self._requests.items())],
            sequences=[row for _, row in sorted(self._sequences.items())],
            contents=Contents(content=live.tobytes(), parent=parents.tobytes()),
            next_content=self._contents.next,
            audited=False,
        )

    def advance(self, frames: Sequence[tuple[str, int, bytes]]) -> np.ndarray:
        """Go on over frames, each with its record's type and number, none of which is a gap; keyframes say nothing new.

        Returns the numbers of the blocks that changed, u32, ascending.
        """
        steps = [_step.decode(memoryview(frame)[:-4]) for kind, _, frame in frames if kind == "step"]
        self._decide(steps)
        self._contents.intern(
            u32(b"".join(step.contents.content for step in steps)),
            u32(b"".join(step.contents.parent for step in steps)),
        )
        pieces = [self._entries]
        touched: list[np.ndarray] = []
        alive = self._alive()
        first = 0
        while first < len(steps):
            last, operations = first, 0
            while last < len(steps) and operations < _OPERATIONS_AT_ONCE:
                operations += len(steps[last].operations.kind)
                last += 1
            columns = OperationColumns.decode(
                join_operations([step.operations for step in steps[first:last]])
            )
            apply_batch(self.blocks, columns)
            touched += (columns.block, columns.source)
            pieces.append(_Entries.touched(columns, alive))
            self._pin(columns)
            first = last
        self._entries = _Entries.last_of(pieces, alive)
        if steps:
            end = steps[-1]
            self._frame = msgspec.structs.replace(
                self._frame,
                step=end.step,
                time=end.sealed,
                op=end.op + len(end.operations.kind),
                digest=end.digest,
            )
        if frames:
            self.record = frames[-1][1]
        changed = np.zeros(self.blocks.num_blocks, dtype=bool)
        for column in touched:
            changed[column] = True
        return np.flatnonzero(changed).astype(np.uint32)

    def _decide(self, steps: list[_Step]) -> None:
        sequences = self._sequences
        of_request: dict[int, list[int]] = {}
        for sequence, row in sequences.items():
            of_request.setdefault(row.request, []).append(sequence)
        for step in steps:
            for decision in step.decisions:
                kind, request = decision.kind, decision.request
                if kind == "sequence_created":
                    sequences[decision.sequence] = SequenceState(
                        sequence=decision.sequence,
                        request=request,
                        index=decision.index,
                        parent=decision.parent,
                    )
                    of_request.setdefault(request, []).append(decision.sequence)
                elif kind == "sequence_dropped":
                    sequences.pop(decision.sequence, None)
                elif kind in _CHANGES:
                    self._change(decision)
                    if decision.state_after is None:
                        for sequence in of_request.pop(request, ()):
                            sequences.pop(sequence, None)

    def _change(self, decision: _Decision) -> None:
        before = self._requests.pop(decision.request, None)
        state, place = decision.state_after, decision.place_after
        if state is None or place is None:
            return
        if decision.kind == "submitted":
            self._requests[decision.request] = RequestState(
                request=decision.request,
                name=decision.name,
                state=state,
                place=place,
                prompt_tokens=decision.prompt_tokens,
                max_tokens=decision.max_tokens,
                n=decision.n,
                priority=decision.priority,
                precedence=decision.precedence,
                beam_width=decision.beam_width,
                lora_name=decision.lora_name,
            )
        elif before is not None:
            self._requests[decision.request] = msgspec.structs.replace(before, state=state, place=place)

    def _alive(self) -> np.ndarray:
        """``[sequences] bool``, by id: is it there at the end? Only such ones have entries then."""
        alive = np.zeros(max(self._sequences, default=-1) + 2, dtype=bool)
        alive[list(self._sequences)] = True
        return alive

    def _pin(self, columns: OperationColumns) -> None:
        if not len(columns.pin):
            return
        holders = CARRIED_MASK["position"][columns.kind]
        pins = columns.position == NONE
        blocks = columns.block[holders][pins].tolist()
        gains = _GAINS[columns.kind[holders][pins]].tolist()
        for block, pin, gain in zip(blocks, columns.pin.tolist(), gains, strict=True):
            count = self._pins.get((block, pin), 0) + (1 if gain else -1)
            if count:
                self._pins[block, pin] = count
            else:
                self._pins.pop((block, pin), None)


class _Entries:
    """Table entries, or changes of them in order: where ``gone``, the entry ends."""

    def __init__(
        self,
        sequence: np.ndarray,
        group: np.ndarray,
        position: np.ndarray,
        block: np.ndarray,
        gone: np.ndarray | None = None,
    ) -> None:
        self.sequence = sequence
        self.group = group
        self.position = position
        self.block = block
        self.gone = np.zeros(len(block), dtype=bool) if gone is None else gone

    @classmethod
    def touched(cls, columns: OperationColumns, alive: np.ndarray) -> "_Entries":
        """What operations change in the tables of sequences that are alive at the end."""
        holders = CARRIED_MASK["position"][columns.kind]
        sequence = columns.sequence[holders]
        kept = columns.position != NONE
        kept &= alive[np.minimum(sequence, len(alive) - 1)]
        kept &= sequence < len(alive)
        return cls(
            sequence[kept],
            columns.group[kept],
            columns.position[kept],
            columns.block[holders][kept],
            ~_GAINS[columns.kind[holders][kept]],
        )

    @classmethod
    def last_of(cls, pieces: "list[_Entries]", alive: np.ndarray) -> "_Entries":
        """The entries that stand after all changes, ordered by sequence, group and position."""
        names = ("sequence", "group", "position", "block", "gone")
        columns = {name: np.concatenate([getattr(piece, name) for piece in pieces]) for name in names}
        sequence = columns["sequence"]
        kept = (sequence < len(alive)) & alive[np.minimum(sequence, len(alive) - 1)]
        columns = {name: column[kept] for name, column in columns.items()}
        key = columns["sequence"].astype(np.uint64) << np.uint64(32) | columns["position"]
        if columns["group"].any():
            # A stable sort by position, then group, then sequence.
            order = np.lexsort((columns["position"], columns["group"], columns["sequence"]))
            key ^= columns["group"].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        else:
            order = np.argsort(key, kind="stable")
        key = key[order]
        last = np.ones(len(key), dtype=bool)
        last[:-1] = key[1:] != key[:-1]
        chosen = order[last]
        chosen = chosen[~columns["gone"][chosen]]
        return cls(*(columns[name][chosen] for name in names[:4]))

    def columns(self) -> TableColumns:
        return TableColumns(
            sequence=self.sequence.astype("<u4").tobytes(),
            group=self.group.astype("u1").tobytes() if self.group.any() else b"",
            position=self.position.astype("<u4").tobytes(),
            block=self.block.astype("<u4").tobytes(),
        )


def join_operations(parts: list[Operations]) -> Operations:
    """The operations of several steps end to end. Where some have groups, those of the others are all 0."""
    joined: dict[str, bytes] = {
        name: b"".join(cast(list[bytes], [getattr(part, name) for part in parts])) for name in COLUMNS
    }
    if joined["group"]:
        width = COLUMNS["position"].itemsize
        joined["group"] = b"".join(part.group or bytes(len(part.position) // width) for part in parts)
    return Operations(**joined)
