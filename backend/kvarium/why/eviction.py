"""Why was this block evicted, and was its content wanted again?

42#3   cache c ── hit r4 ── free ───────── idle ─────────▶ evict (for r9) ── … missed by r12, computed again
                             └ its last operation           └ place in the queue, the head, who asked
"""

from typing import Final

import msgspec
import numpy as np

from kvarium.errors import OutOfRangeError
from kvarium.filtering.sheet import Place
from kvarium.recording.index_rows import Row
from kvarium.why.past import Past
from kvarium.why.places import Life, Moment, Who, moment_of
from kvarium.why.wanted import Want, Wants, wanted_again
from kvarium_ledger import codec
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.filtering.terms import Numbers
from kvarium_ledger.fold import Fold
from kvarium_ledger.operations import NONE, Operation
from kvarium_ledger.records import Control, Step

MOST_HITS: Final = 100
_CONTROLS: Final = 256


class Idle(msgspec.Struct, frozen=True, kw_only=True):
    """Since when nothing had happened to the block: its last ``operation``, and ``steps`` and ``ns`` from there."""

    operation: str
    since: Moment
    steps: int
    ns: int


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """The free queue in the moment before: ``length`` blocks, the evicted one with ``before`` of them before it.

    ``taken`` of those the same step takes too; ``passed_over`` it leaves (0 where the head is always taken). ``empty`` of
    the whole queue hold no content, so that taking them would have lost nothing; ``empty_before`` of them stood before it.
    """

    length: int
    before: int
    taken: int
    passed_over: int
    empty: int
    empty_before: int
    head: Life
    head_content: int | None


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A prefix hit on the content in this block: ``reuse`` of a free one, or a ``share`` of one in use."""

    who: Who | None
    operation: str
    at: Moment


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """The command that made the engine do it, and who gave it."""

    name: str
    asked_by: str
    record: int


class Eviction(msgspec.Struct, frozen=True, kw_only=True):
    """The answer.

    ``asked`` is whom the operation served (None at a reset), which takes ``needed`` blocks in this step. ``queue`` and
    ``idle`` are None where the block was not in the queue, and where its last operation is not recorded. ``hits`` is how
    often the content had been hit in this block, ``hit_by`` those that are recorded, at most 100, the newest first.
    ``copies`` are the other blocks that held the same content then. ``wanted`` says who asked for it again, up to record
    ``through``, and ``not_recorded`` what of this answer is not known.
    """

    life: Life
    at: Moment
    content: int
    cause: str
    asked: Who | None
    needed: int
    command: Command | None
    queue: Queue | None
    idle: Idle | None
    hits: int
    hit_by: list[Hit]
    copies: list[Life]
    wanted: list[Want]
    wanted_in_all: int
    through: int
    not_recorded: list[str]


def why_evicted(
    past: Past,
    block: int | None = None,
    generation: int | None = None,
    op: int | None = None,
    step: int | None = None,
) -> Eviction:
    """Of ``block`` the last eviction (up to ``step``; of its life ``generation``), or the one that operation ``op`` is.

    Raises :class:`OutOfRangeError` where there is none, and says what there is instead.
    """
    row = _found(past, block, generation, op, step)
    lost = Lost(
        at=moment_of(row),
        block=int(row["block"]),
        content=int(row["content"]),
        cause=str(row["cause"]),
        hits=int(row["hits"]),
        sequence=row["sequence"],
        asked=past.who(row["request"], row["sequence"], row["sequence_index"]),
    )
    fold, record = past.before(lost.at.record, lost.at.op)
    then = standing(past, lost, fold, record)
    so_far = _life_so_far(past, then.life, row)
    return told(lost, then, so_far, wanted_again(past, lost.content, then.value, lost.at, fold))


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """An eviction as its operation tells it; ``asked`` is None where nobody is known."""

    at: Moment
    block: int
    content: int
    cause: str
    hits: int
    sequence: int | None
    asked: Who | None


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How things stood before an eviction; ``value`` is the content's hash, None where it is not recorded."""

    life: Life
    needed: int
    command: Command | None
    queue: Queue | None
    copies: list[Life]
    value: bytes | None


class SoFar(msgspec.Struct, frozen=True, kw_only=True):
    """A block's life up to its eviction. ``labelled``: it is recorded how the content came into it."""

    idle: Idle | None
    hit_by: list[Hit]
    labelled: bool


def standing(past: Past, lost: Lost, fold: Fold, record: Step) -> Standing:
    """How things stood before an eviction in the step ``record``, where ``fold`` stands."""
    blocks = fold.state.blocks
    holders = np.flatnonzero(blocks.np_content == lost.content)
    return Standing(
        life=Life(block=lost.block, generation=blocks.generation[lost.block]),
        needed=_needed(record, lost.sequence),
        command=_command(past, lost.at.record) if lost.cause == "reset" else None,
        queue=None if blocks.count[lost.block] else _queue(fold, record, lost.at.op, lost.block),
        copies=[
            Life(block=int(each), generation=int(blocks.np_generation[each]))
            for each in holders.tolist()
            if each != lost.block
        ],
        value=past.hash_of(fold, lost.content),
    )


def told(lost: Lost, then: Standing, so_far: SoFar, wants: Wants) -> Eviction:
    """The answer, of its parts."""
    lacks: list[str] = []
    if not so_far.labelled and len(so_far.hit_by) < lost.hits:
        lacks.append(f"the hits of {then.life} before the recording begins")
    if so_far.idle is None:
        lacks.append(f"the operation on {then.life} before it")
    if then.value is None:
        lacks.append(
            f"the hash of content {lost.content}: who missed it is not known, only who hit or computed it"
        )
    lacks += wants.not_recorded
    if lost.sequence is not None and lost.asked is None:
        lacks.append(f"whose sequence {lost.sequence} is")
    return Eviction(
        life=then.life,
        at=lost.at,
        content=lost.content,
        cause=lost.cause,
        asked=lost.asked,
        needed=then.needed,
        command=then.command,
        queue=then.queue,
        idle=so_far.idle,
        hits=lost.hits,
        hit_by=so_far.hit_by,
        copies=then.copies,
        wanted=wants.found,
        wanted_in_all=wants.in_all,
        through=wants.through,
        not_recorded=lacks,
    )


# -- which one ----------------------------------------------------------------------------------------------------------


def _found(past: Past, block: int | None, generation: int | None, op: int | None, step: int | None) -> Row:
    if op is not None:
        row = past.event_at(op, "op:any")
        if row is None or row["kind"] != "evict":
            what = "is not recorded" if row is None else f"is {row['kind']} of block {row['block']}"
            raise OutOfRangeError(f"operation {op} is no eviction: it {what}")
        return row
    assert block is not None
    if block >= past.num_blocks:
        raise OutOfRangeError(
            f"block {block} is not in the pool, which has {past.num_blocks}: 0 to {past.num_blocks - 1}"
        )
    which = f"{block}" if generation is None else f"{block}#{generation}"
    until = None if step is None else Numbers(None, step)
    lost = False
    for row in past.search(f"op:evict block:{which}", steps=until):
        if row["kind"] == "evict":
            return row
        lost = True
    raise OutOfRangeError(_none(past, Life(block=block, generation=generation), step, lost))


def _none(past: Past, life: Life, step: int | None, lost: bool) -> str:
    """Why there is no eviction to explain."""
    fold = past.after_step(step)
    blocks, block, generation = fold.state.blocks, life.block, life.generation
    now = Life(block=block, generation=blocks.generation[block])
    content = blocks.content[block]
    assert now.generation is not None
    first = past.first_state()
    begun = Fold(past.num_blocks, past.block_size)
    if first is not None:
        begun.load(first)
    since = begun.state.blocks.generation[block]
    upto = f"up to step {fold.step}"
    if generation is not None and generation > now.generation:
        return f"block {life} is not there {upto}: the block's life is {now} then"
    if generation is not None and generation < since:
        return f"block {life}: not recorded, as the recording begins with its life {block}#{since}"
    if lost:
        return f"no eviction of block {life} is recorded {upto}, and records are lost: not recorded"
    if content != NONE and generation in (None, now.generation):
        return f"block {life} was not evicted {upto}: it holds content {content} still"
    if generation is None and now.generation == since:
        return f"block {life} was not evicted {upto}: nothing was ever allocated anew in it"
    return f"block {life} was not evicted {upto}: it held no content that could be lost"


# -- what came before -----------------------------------------------------------------------------------------------------


def _life_so_far(past: Past, life: Life, row: Row) -> SoFar:
    """Its last operation, the hits on its content, and whether its labelling is recorded."""
    idle: Idle | None = None
    hits: list[Hit] = []
    for each in past.search(f"block:{life}", Place(row["record"], row["index"])):
        if each["kind"] == "gap":
            return SoFar(idle=idle, hit_by=hits, labelled=False)
        if idle is None:
            since = moment_of(each)
            idle = Idle(
                operation=each["kind"],
                since=since,
                steps=row["step"] - since.step,
                ns=row["time"] - since.time,
            )
        if each["kind"] in ("reuse", "share") and each["cause"] == "prefix_hit" and len(hits) < MOST_HITS:
            who = past.who(each["request"], each["sequence"], each["sequence_index"])
            hits.append(Hit(who=who, operation=each["kind"], at=moment_of(each)))
        if each["kind"] == "cache":
            return SoFar(idle=idle, hit_by=hits, labelled=True)
    return SoFar(idle=idle, hit_by=hits, labelled=False)


def _needed(step: Step, sequence: int | None) -> int:
    """How many blocks a sequence is given anew in a step."""
    if sequence is None:
        return 0
    columns = OperationColumns.decode(step.operations)
    born = columns.mask(Operation.allocate, Operation.copy)
    return int(np.count_nonzero(born & (columns.sequence == sequence)))


def _queue(fold: Fold, step: Step, op: int, block: int) -> Queue:
    blocks = fold.state.blocks
    queued = np.flatnonzero(blocks.np_count == 0)
    order = queued[np.argsort(blocks.np_ticket[queued], kind="stable")]
    place = int(np.flatnonzero(order == block)[0])
    before, head = order[:place], int(order[0])
    columns = OperationColumns.decode(step.operations)
    rest = columns.part(op - step.op, len(columns))
    taken = np.unique(rest.block[rest.mask(Operation.allocate, Operation.copy, Operation.reuse)])
    going = int(np.isin(before, taken).sum())
    content = blocks.content[head]
    return Queue(
        length=len(order),
        before=place,
        taken=going,
        passed_over=place - going,
        empty=int((blocks.np_content[order] == NONE).sum()),
        empty_before=int((blocks.np_content[before] == NONE).sum()),
        head=Life(block=head, generation=blocks.generation[head]),
        head_content=None if content == NONE else content,
    )


def _command(past: Past, record: int) -> Command | None:
    """The reset that was asked for last before a step's record."""
    found: Command | None = None
    for frame in past.reader.frames(past.number, max(-1, record - _CONTROLS), record):
        if frame.head.type != "control":
            continue
        control = codec.open_frame(frame.bytes)
        if isinstance(control, Control) and control.name == "reset_prefix_cache" and control.error is None:
            found = Command(name=control.name, asked_by=control.asked_by, record=control.record)
    return found
