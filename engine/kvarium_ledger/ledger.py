"""The engine's end of the ledger: the hot path, which only appends.

Each method stands for operations of one kind on distinct blocks, and costs the engine's thread one tuple on a list. Columns,
contents' text, digests and msgpack are made of those slices on another thread (:mod:`kvarium_ledger.encoder`).
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kvarium_ledger.decisions import AnyDecision
from kvarium_ledger.operations import NONE, Cause, Operation, Pin
from kvarium_ledger.records import Digest, Hit, Keyframe, Note, Prompt
from kvarium_ledger.slices import PROMPT, TABLE, Slice, Told, slices_of
from kvarium_ledger.step_text import ContentText, ExtraKeys, PlainContents, TokenLogprobs, one_by_one

# Bound once: to look a member up in its enum takes as long as a call.
_ALLOCATE, _EVICT, _REUSE = Operation.allocate, Operation.evict, Operation.reuse
_SHARE, _COPY, _FILL = Operation.share, Operation.copy, Operation.fill
_CACHE, _RELEASE, _FREE = Operation.cache, Operation.release, Operation.free
_PREFIX_HIT, _WRITE, _FULL = Cause.prefix_hit, Cause.write, Cause.full


class StepTimes(NamedTuple):
    """When a step began (ns since the session's start) and how long its parts took (ns)."""

    start: int
    schedule: int
    forward: int
    sample: int


class SealedStep(NamedTuple):
    """All that one step appended: what it ``told`` of so many ``operations``, and more; the encoder makes a ``step`` and a
    ``text`` record of it."""

    step: int
    times: StepTimes
    sealed: int
    op: int
    tokens: int
    budget: int
    told: list[Told]
    operations: int
    decisions: list[AnyDecision]
    sampled: Sequence[int]
    sampled_tokens: Sequence[int]
    sampled_op: int
    logprobs: Sequence[TokenLogprobs]
    plain_contents: list[PlainContents]
    prompts: list[Prompt]
    audit: Digest | None

    @property
    def slices(self) -> list[Slice]:
        """The slices by the names of their parts."""
        return slices_of(self.told)

    @property
    def contents(self) -> list[ContentText]:
        """The contents one by one."""
        return one_by_one(self.plain_contents)


class SealedControl(NamedTuple):
    """A command that was answered between two steps."""

    time: int
    id: str
    name: str
    args: dict[str, str | int | float | bool | None]
    asked_by: str
    error: str | None


Sealed = SealedStep | SealedControl | Note | Keyframe
"""What the ledger hands to its sink. The ``record`` of a note or a keyframe is set by the encoder."""


class Ledger:
    """Collects what one step does and hands it, sealed, to ``sink``.

    ``op`` is the index in the session of the next operation. All blocks of one call are distinct. ``sink`` must not
    block, unless the session is asked to be lossless.
    """

    def __init__(self, sink: Callable[[Sealed], None], clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.sink = sink
        self.op = 0
        self.step = -1
        self._clock = clock
        self._began = clock()
        self.utc_us = time.time_ns() // 1000
        self._clear()

    def _clear(self) -> None:
        self._told: list[Told] = []
        self._decisions: list[AnyDecision] = []
        self._contents: list[PlainContents] = []
        self._prompts: list[Prompt] = []
        self._sampled: Sequence[int] = ()
        self._sampled_tokens: Sequence[int] = ()
        self._sampled_op = 0
        self._logprobs: Sequence[TokenLogprobs] = ()

    def now(self) -> int:
        """ns since the session's start."""
        return self._clock() - self._began

    @property
    def pending(self) -> bool:
        """Something was appended since the last step was sealed."""
        return bool(self._told or self._decisions)

    @property
    def slices(self) -> int:
        """How many calls were appended since the last step was sealed."""
        return len(self._told)

    # -- operations -----------------------------------------------------------------------------------------------

    def allocate(
        self,
        blocks: Sequence[int],
        cause: Cause,
        sequence: int | Sequence[int],
        position: int | Sequence[int],
        tickets: Sequence[float],
        filled_before: Sequence[int],
        group: int = 0,
    ) -> None:
        """Blocks without content leave the free queue for the entries ``position``, ``position + 1``, ... of a table.

        ``sequence`` and ``position`` may also be one each. ``tickets`` and ``filled_before`` are what the blocks had
        before.
        """
        self._told.append((_ALLOCATE, blocks, cause, sequence, position, group, 0, (tickets, filled_before)))
        self.op += len(blocks)

    def prefill(
        self,
        blocks: Sequence[int],
        sequence: int,
        position: int,
        tickets: Sequence[float],
        filled_before: Sequence[int],
        lost: Sequence[int],
        hits: Sequence[int],
        size: int,
        last: int,
        contents: Sequence[int],
    ) -> None:
        """A prompt's blocks, as four calls tell it: they lose the contents ``lost`` (with ``hits``; ``NONE``: had none); all
        are allocated for the entries from ``position`` on; the last one is filled to ``last`` slots, the others to ``size``;
        the first are labelled with their ``contents``."""
        self._told.append(
            (PROMPT, blocks, sequence, position, tickets, filled_before, lost, hits, size, last, contents)
        )
        self.op += 3 * len(blocks) - lost.count(NONE) + len(contents)

    def prefill_one(
        self,
        block: int,
        sequence: int,
        position: int,
        ticket: float,
        filled_before: int,
        lost: int,
        hits: int,
        last: int,
        content: int,
    ) -> None:
        """The same of a prompt's one block; ``content`` is ``NONE`` where it gets none."""
        self._told.append(
            (PROMPT, block, sequence, position, ticket, filled_before, lost, hits, 0, last, content)
        )
        self.op += 2 + (lost != NONE) + (content != NONE)

    def evict(
        self,
        blocks: Sequence[int],
        cause: Cause,
        sequence: int | Sequence[int],
        contents: Sequence[int],
        hits: Sequence[int],
    ) -> None:
        """Blocks lose their ``contents`` (and ``hits``), for ``sequence`` (or one each; ``NONE`` at a reset)."""
        self._told.append((_EVICT, blocks, cause, sequence, NONE, 0, 0, (contents, hits)))
        self.op += len(blocks)

    def reuse(
        self, blocks: Sequence[int], sequence: int, position: int, tickets: Sequence[float], group: int = 0
    ) -> None:
        """Prefix hits on freed blocks, which leave the queue (``tickets`` before) for a table from ``position`` on."""
        self._told.append((_REUSE, blocks, _PREFIX_HIT, sequence, position, group, 0, (tickets,)))
        self.op += len(blocks)

    def reuse_one(self, block: int, sequence: int, position: int, ticket: float) -> None:
        """The same of one block."""
        self._told.append((_REUSE, block, _PREFIX_HIT, sequence, position, ticket))
        self.op += 1

    def share_one(self, block: int, sequence: int, position: int) -> None:
        """A prefix hit on one block in use: a ``share`` of it."""
        self._told.append((_SHARE, block, _PREFIX_HIT, sequence, position))
        self.op += 1

    def share(
        self, blocks: Sequence[int], cause: Cause, sequence: int, position: int, group: int = 0
    ) -> None:
        """One more holder each: a fork or a prefix hit enters blocks in use into a table from ``position`` on."""
        self._told.append((_SHARE, blocks, cause, sequence, position, group, 0, ()))
        self.op += len(blocks)

    def pin(self, blocks: Sequence[int], pin: Pin, cause: Cause, sequence: int = NONE) -> None:
        """One more holder each, which is no sequence (a ``share`` whose holder is a pin); serves ``sequence``."""
        self._told.append((_SHARE, blocks, cause, sequence, NONE, 0, pin, ()))
        self.op += len(blocks)

    def copy(
        self,
        source: int,
        target: int,
        sequence: int,
        position: int,
        ticket: float,
        filled_before: int,
        filled_after: int,
        group: int = 0,
    ) -> None:
        """The table entry moves from the shared, partly filled ``source`` to ``target``, taken from the free queue.

        ``ticket`` and ``filled_before`` are the target's before; ``filled_after`` is the source's fill.
        """
        extra = ((ticket,), (filled_before,), (filled_after,), (source,))
        self._told.append((_COPY, (target,), _WRITE, sequence, position, group, 0, extra))
        self.op += 1

    def fill(
        self,
        blocks: Sequence[int],
        cause: Cause,
        sequences: int | Sequence[int],
        before: Sequence[int],
        after: Sequence[int],
    ) -> None:
        """Slots are assigned: each block's fill grows from ``before`` to ``after``, for one sequence or one each."""
        self._told.append((_FILL, blocks, cause, sequences, NONE, 0, 0, (before, after)))
        self.op += len(blocks)

    def cache(self, blocks: Sequence[int], sequence: int | Sequence[int], contents: Sequence[int]) -> None:
        """Full blocks are labelled with their ``contents`` (interned before, by :meth:`content`)."""
        self._told.append((_CACHE, blocks, _FULL, sequence, NONE, 0, 0, (contents,)))
        self.op += len(blocks)

    def release(
        self,
        blocks: Sequence[int],
        cause: Cause,
        sequence: int,
        positions: Sequence[int],
        group: int = 0,
    ) -> None:
        """Table entries end; the blocks have other holders still."""
        self._told.append((_RELEASE, blocks, cause, sequence, positions, group, 0, ()))
        self.op += len(blocks)

    def free(
        self,
        blocks: Sequence[int],
        cause: Cause,
        sequence: int,
        positions: Sequence[int],
        tickets: Sequence[float],
        group: int = 0,
    ) -> None:
        """The last holders' entries end; the blocks enter the free queue with ``tickets``."""
        self._told.append((_FREE, blocks, cause, sequence, positions, group, 0, (tickets,)))
        self.op += len(blocks)

    def free_table(self, blocks: Sequence[int], cause: Cause, sequence: int, ticket: float) -> None:
        """All of a table's ``blocks`` are freed, its last one first, with the tickets from ``ticket`` on."""
        self._told.append((TABLE, blocks, cause, sequence, ticket))
        self.op += len(blocks)

    def free_one(self, block: int, cause: Cause, sequence: int, ticket: float) -> None:
        """The same of a table's one block."""
        self._told.append((_FREE, block, cause, sequence, 0, ticket))
        self.op += 1

    def release_one(self, block: int, cause: Cause, sequence: int) -> None:
        """The entry of a table's one block ends, which has other holders still."""
        self._told.append((_RELEASE, block, cause, sequence, 0))
        self.op += 1

    def unpin_release(self, blocks: Sequence[int], pin: Pin, cause: Cause, sequence: int = NONE) -> None:
        """Pins end; the blocks have other holders still (a ``release`` whose holder is a pin)."""
        self._told.append((_RELEASE, blocks, cause, sequence, NONE, 0, pin, ()))
        self.op += len(blocks)

    def unpin_free(
        self,
        blocks: Sequence[int],
        pin: Pin,
        cause: Cause,
        tickets: Sequence[float],
        sequence: int = NONE,
    ) -> None:
        """Pins end that were the last holders; the blocks enter the free queue with ``tickets``."""
        self._told.append((_FREE, blocks, cause, sequence, NONE, 0, pin, (tickets,)))
        self.op += len(blocks)

    # -- decisions and text ---------------------------------------------------------------------------------------

    def decide(self, decision: AnyDecision) -> None:
        """Log a decision (its ``op`` is :attr:`op` at this moment)."""
        self._decisions.append(decision)

    def contents(
        self,
        first: int,
        parent: int,
        count: int,
        tokens: bytes,
        extra: ExtraKeys | None = None,
        rest: ExtraKeys | None = None,
        hashes: Sequence[bytes] = (),
    ) -> None:
        """Intern ``count`` contents: ids grow by one from 0, and each is the parent of the next one.

        ``parent`` is the first one's, ``NONE`` for the first block of a prompt. ``tokens`` are the ids of all of them (u32
        little-endian), as many of each. ``extra`` are the extra keys in the first one's hash, ``rest`` those in the others';
        ``hashes`` are given where text is not recorded.
        """
        self._contents.append((first, parent, count, tokens, extra, rest, hashes))

    def prompt(self, request: int, tokens: bytes, text: str | None = None) -> None:
        """A request's prompt: token ids as u32 little-endian, and its text where there is one."""
        self._prompts.append(Prompt(request=request, tokens=tokens, text=text))

    def sampled(
        self, sequences: Sequence[int], tokens: Sequence[int], logprobs: Sequence[TokenLogprobs] = ()
    ) -> None:
        """Each of ``sequences`` got one of ``tokens``, with ``logprobs`` for those that asked; once a step."""
        self._sampled, self._sampled_tokens, self._sampled_op = sequences, tokens, self.op
        self._logprobs = logprobs

    # -- sealing --------------------------------------------------------------------------------------------------

    def seal(
        self,
        times: StepTimes,
        tokens: int,
        budget: int,
        op: int,
        audit: Digest | None = None,
    ) -> None:
        """Close the step: ``tokens`` of ``budget`` were scheduled, ``op`` was :attr:`op` when it began."""
        self.step += 1
        sealed = SealedStep(
            self.step,
            times,
            self.now(),
            op,
            tokens,
            budget,
            self._told,
            self.op - op,
            self._decisions,
            self._sampled,
            self._sampled_tokens,
            self._sampled_op,
            self._logprobs,
            self._contents,
            self._prompts,
            audit,
        )
        self._clear()
        self.sink(sealed)

    def control(
        self,
        id: str,
        name: str,
        args: dict[str, str | int | float | bool | None],
        asked_by: str,
        error: str | None,
    ) -> None:
        """A command was carried out, or refused, between two steps."""
        self.sink(SealedControl(self.now(), id, name, args, asked_by, error))

    def note(self, text: str, by: str = "", hit: Hit | None = None) -> None:
        """A remark behind the last step, and by whom; of a breakpoint that it met, ``hit``."""
        self.sink(Note(record=-1, time=self.now(), text=text, by=by, hit=hit))

    def keyframe(self, keyframe: Keyframe) -> None:
        """The whole state between two steps, of the engine's real objects (its ``record`` is set later)."""
        self.sink(keyframe)
