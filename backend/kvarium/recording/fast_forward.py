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

from kvarium.recording.narrow_blocks import NarrowBlocks
from kvarium.recording.table_entries import GAINS, TableEntries
from kvarium_ledger import codec
from kvarium_ledger.batch import apply_batch
from kvarium_ledger.block_columns import BLOCK_COLUMNS, narrowed
from kvarium_ledger.columns import OperationColumns, u32
from kvarium_ledger.decisions import State as RequestStanding
from kvarium_ledger.operations import CARRIED_MASK, COLUMNS, NONE
from kvarium_ledger.records import (
    BlockColumns,
    Contents,
    Digest,
    Keyframe,
    Operations,
    PinColumns,
    RequestState,
    SequenceState,
)
from kvarium_ledger.state import BlockState, ContentParents

_OPERATIONS_AT_ONCE = 1 << 19
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
    entries: TableEntries
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

    def keyframe(self, record: int) -> Keyframe:
        """A keyframe of the state at ``record`` that tells neither blocks nor contents."""
        pins = sorted(key for key, count in self.pins.items() for _ in range(count))
        return msgspec.structs.replace(
            self.frame,
            record=record,
            blocks=BlockColumns(),
            tables=self.entries.columns(),
            pins=PinColumns(
                block=np.array([block for block, _ in pins], dtype="<u4").tobytes(),
                pin=bytes(pin for _, pin in pins),
            ),
            requests=[row for _, row in sorted(self.requests.items())],
            sequences=[row for _, row in sorted(self.sequences.items())],
            contents=Contents(),
            next_content=self.contents.next,
            audited=False,
        )


class FastState:
    """A session's state at ``record``, held as arrays."""

    @classmethod
    def of(cls, record: int, blocks: NarrowBlocks, beside: Beside) -> "FastState":
        """The state whose parts these are."""
        state = cls.__new__(cls)
        state.record, state._blocks = record, blocks
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
        blocks = BlockState.bulk(num_blocks)
        blocks.load(keyframe.blocks)
        self._blocks: BlockState | NarrowBlocks = blocks
        tables = keyframe.tables
        sequence = u32(tables.sequence)
        group = (
            np.frombuffer(tables.group, dtype="u1") if tables.group else np.zeros(len(sequence), dtype="u1")
        )
        self._entries = TableEntries(sequence, group, u32(tables.position), u32(tables.block))
        self._pins: dict[tuple[int, int], int] = {}
        for block, pin in zip(u32(keyframe.pins.block).tolist(), keyframe.pins.pin, strict=True):
            self._pins[block, pin] = self._pins.get((block, pin), 0) + 1
        self._requests = {row.request: row for row in keyframe.requests}
        self._sequences = {row.sequence: row for row in keyframe.sequences}
        self._contents = ContentParents()
        self._contents.intern(u32(keyframe.contents.content), u32(keyframe.contents.parent))
        self._contents.reserve(keyframe.next_content)

    @property
    def step(self) -> int:
        """The last step (-1: none yet)."""
        return self._frame.step

    @property
    def blocks(self) -> BlockState:
        """Its blocks in whole words, to be changed by whoever goes on."""
        if isinstance(self._blocks, NarrowBlocks):
            self._blocks = self._blocks.widened()
        return self._blocks

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        return 28 * self._blocks.num_blocks + 13 * len(self._entries.block) + 4 * self._contents.next

    def copy(self) -> "FastState":
        """The same state, to go on from without changing this one."""
        twin = copy(self)
        twin._blocks = BlockState.bulk(self.blocks.num_blocks)
        twin._blocks.fill({name: getattr(self.blocks, f"np_{name}") for name in BLOCK_COLUMNS})
        twin._pins = dict(self._pins)
        twin._requests = dict(self._requests)
        twin._sequences = dict(self._sequences)
        twin._contents = deepcopy(self._contents)
        return twin

    def keyframe(self) -> Keyframe:
        """The state as a keyframe; equal to that of the exact fold."""
        keyframe, columns = self._told(with_contents=True)
        found = {
            field: msgspec.structs.replace(
                getattr(keyframe, field), **{name: column.tobytes() for name, column in told.items()}
            )
            for field, told in columns.items()
        }
        return msgspec.structs.replace(keyframe, **found)

    def sealed(self, with_contents: bool) -> list[bytes | memoryview]:
        """The frame of :meth:`keyframe` in pieces, as its columns lie in memory: they are millions of bytes.

        Without contents it tells none, but ``next_content``: whoever asks for the parent of one finds it in the recording.
        """
        keyframe, columns = self._told(with_contents)
        views = {
            field: {name: column.data for name, column in told.items()} for field, told in columns.items()
        }
        return codec.seal_in_pieces(keyframe, views)

    def _told(self, with_contents: bool) -> tuple[Keyframe, dict[str, dict[str, np.ndarray]]]:
        """The keyframe without its largest columns, and these, by the names of its fields and theirs."""
        blocks = self._blocks
        if isinstance(blocks, NarrowBlocks):
            columns = {"blocks": blocks.columns()}
            content = blocks.content
        else:
            found = {name: narrowed(name, getattr(blocks, f"np_{name}")) for name in BLOCK_COLUMNS}
            columns = {"blocks": {name: column for name, column in found.items() if column is not None}}
            content = blocks.np_content
        if with_contents:
            live, parents = self._contents.with_ancestors(content)
            if len(live):
                columns["contents"] = {"content": live, "parent": parents}
        return self.beside().keyframe(self.record), columns

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
            pieces.append(TableEntries.touched(columns, alive))
            self._pin(columns)
            first = last
        self._entries = TableEntries.last_of(pieces, alive)
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
        gains = GAINS[columns.kind[holders][pins]].tolist()
        for block, pin, gain in zip(blocks, columns.pin.tolist(), gains, strict=True):
            count = self._pins.get((block, pin), 0) + (1 if gain else -1)
            if count:
                self._pins[block, pin] = count
            else:
                self._pins.pop((block, pin), None)


def join_operations(parts: list[Operations]) -> Operations:
    """The operations of several steps end to end. Where some have groups, those of the others are all 0."""
    joined: dict[str, bytes] = {
        name: b"".join(cast(list[bytes], [getattr(part, name) for part in parts])) for name in COLUMNS
    }
    if joined["group"]:
        width = COLUMNS["position"].itemsize
        joined["group"] = b"".join(part.group or bytes(len(part.position) // width) for part in parts)
    return Operations(**joined)
