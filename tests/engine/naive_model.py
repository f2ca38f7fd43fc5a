"""What an engine must be, said again in the plainest way: lists, dictionaries and whole prefixes, no hashes and no links.

It reads only what the engine tells (operations, decisions, sampled tokens) and asserts of each that it is what the rules
ask for, from what it knows itself:

    the free queue is a list        allocations take its first blocks, frees go to its ends, a sequence's last block first
    a label is a whole prefix       (extra keys, all tokens up to the end of the block); a hit is the longest prefix that any
                                    block holds, but never all of the tokens, and of equal blocks the first labelled
    the waiting ones are a list     who is admitted is its least; who is preempted is the greatest, or the last, that runs

What it has after each step is compared with the engine's own objects.
"""

from collections.abc import Sequence as Values
from typing import Any

from kvarium_ledger.columns import u32
from kvarium_ledger.decisions import (
    Aborted,
    Admitted,
    AnyDecision,
    Finished,
    Preempted,
    Refused,
    SequenceCreated,
    SequenceDropped,
    Submitted,
)
from kvarium_ledger.hashes import block_hash, root_hash
from kvarium_ledger.ledger import SealedStep
from kvarium_ledger.operations import NONE, Cause, Operation
from kvarium_ledger.records import Prompt
from kvarium_ledger.slices import Slice, slices_of
from tests.engine.mirrored import Mirrored

Label = tuple[Any, tuple[int, ...]]
PIN = (-1, -1)


class Line:
    """A sequence: its tokens and its table."""

    def __init__(self, request: "Asked", tokens: list[int]) -> None:
        self.request = request
        self.tokens = tokens
        self.table: dict[int, int] = {}


class Asked:
    """A request. ``order`` is what it is sorted by, ``place`` its number in the order of coming or of running."""

    def __init__(self, told: Submitted, prompt: list[int], order: int, place: int) -> None:
        self.id = told.request
        self.keys = (told.lora_name, told.cache_salt)
        self.prompt = prompt
        self.beams = told.beam_width is not None
        self.width = told.beam_width or told.n
        self.order = order
        self.place = place
        self.forked = False
        self.lines: dict[int, Line] = {}


class NaiveModel:
    """Follows an engine; ``catch_up`` after whatever was done to it."""

    def __init__(self, engine: Mirrored) -> None:
        self.engine = engine
        self.size = engine.pool.block_size
        self.caching = engine.pool.cache is not None
        self.config = engine.engine.config.scheduler
        blocks = range(engine.pool.num_blocks)
        self.queue = list(blocks)
        self.taken: set[int] = set()
        self.holders: list[list[tuple[int, int]]] = [[] for _ in blocks]
        self.filled = [0 for _ in blocks]
        self.labels: dict[int, Label] = {}
        """Block → label, the block that was labelled first first."""
        self.contents: dict[int, Label] = {}
        self.requests: dict[int, Asked] = {}
        self.waiting: list[Asked] = []
        self.running: list[Asked] = []
        self.lines: dict[int, Line] = {}
        self.step = 0
        self._places = 0
        self._fronts = 0
        self._pending: list[tuple[Admitted, Asked]] = []
        self._steps = 0
        self._told = self._decisions = 0
        self.prompts: dict[int, list[int]] = {}
        self._begin_step()

    def _begin_step(self) -> None:
        self.preempted: set[int] = set()
        self.labelled: dict[int, Line] = {}
        self.tokens: dict[int, int] = {}
        self.running_before = list(self.running)

    # -- following --------------------------------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Follow what was sealed since the last call, then what was done since the last step."""
        sealed = [each for each in self.engine.sealed if isinstance(each, SealedStep)]
        for each in sealed[self._steps :]:
            self._follow(each.slices, each.decisions, each.prompts, each.op)
            self._end_step(each)
            self._told = self._decisions = 0
        self._steps = len(sealed)
        ledger = self.engine.engine.ledger
        self._follow(
            slices_of(ledger._told),
            ledger._decisions,
            ledger._prompts,
            self.engine.engine._op,
        )

    def _follow(
        self, slices: list[Slice], decisions: list[AnyDecision], prompts: list[Prompt], op: int
    ) -> None:
        self.prompts = {prompt.request: u32(prompt.tokens).tolist() for prompt in prompts}
        op += sum(len(part.blocks) for part in slices[: self._told])
        left = decisions[self._decisions :]
        for part in slices[self._told :]:
            while left and left[0].op <= op:
                self._decide(left.pop(0))
            self._operate(part)
            op += len(part.blocks)
        for decision in left:
            self._decide(decision)
        self._settle()
        self._told, self._decisions = len(slices), len(decisions)

    def _end_step(self, sealed: SealedStep) -> None:
        for sequence, token in zip(sealed.sampled, sealed.sampled_tokens, strict=True):
            self.lines[sequence].tokens.append(token)
        self._check_pending(None)
        assert sealed.tokens == sum(self.tokens.values()) <= self.config.max_num_batched_tokens
        worked = sealed.times.schedule > 0
        for asked in self.running_before:
            served = (
                not worked
                or asked.id in self.tokens
                or asked.id in self.preempted
                or asked not in self.running
            )
            assert served or sealed.tokens == self.config.max_num_batched_tokens, f"request {asked.id} idles"
        failed = any(isinstance(each, Finished) and each.reason == "error" for each in sealed.decisions)
        for block, line in self.labelled.items():
            assert not failed or block not in self.labels, "the forward failed"
            assert line.request.id not in self.preempted or block not in self.labels, "nobody computes it"
        self.step += 1
        self._begin_step()

    # -- decisions --------------------------------------------------------------------------------------------------

    def _order(self, priority: int) -> int:
        if self.config.policy == "fcfs":
            return 0
        aging = self.config.priority_aging
        return priority * aging + self.step if aging else priority

    def _decide(self, decision: AnyDecision) -> None:
        if isinstance(decision, Submitted):
            prompt = self.prompts.pop(decision.request)
            assert len(prompt) == decision.prompt_tokens
            asked = Asked(decision, prompt, self._order(decision.priority), self._places)
            self._places += 1
            self.requests[asked.id] = asked
            self.waiting.append(asked)
        elif isinstance(decision, Admitted):
            self._admit(decision)
        elif isinstance(decision, SequenceCreated):
            asked = self.requests[decision.request]
            said = asked.prompt if decision.parent is None else self.lines[decision.parent].tokens
            line = self.lines[decision.sequence] = Line(asked, said.copy())
            asked.lines[decision.sequence] = line
            asked.forked |= decision.index > 0
        elif isinstance(decision, SequenceDropped):
            del self.requests[decision.request].lines[decision.sequence]
        elif isinstance(decision, Preempted):
            self._preempt(decision)
        elif isinstance(decision, Finished | Aborted | Refused):
            asked = self.requests.pop(decision.request)
            (self.running if asked in self.running else self.waiting).remove(asked)

    def _admit(self, decision: Admitted) -> None:
        asked = self.requests[decision.request]
        assert asked is min(self.waiting, key=lambda each: (each.order, each.place)), (
            "who is next is admitted"
        )
        assert not self.preempted, "in a step that preempts nobody is admitted"
        self.waiting.remove(asked)
        self.running.append(asked)
        self._places += 1
        asked.place = self._places
        width = sum(
            len(each.lines) if each.forked and not each.beams else each.width for each in self.running
        )
        assert width <= self.config.max_num_seqs
        self._pending.append((decision, asked))

    def _preempt(self, decision: Preempted) -> None:
        asked = self.requests[decision.request]
        if self.config.policy == "priority":
            victim = max(self.running, key=lambda each: (each.order, each.place))
        else:
            victim = self.running[-1]
        assert asked is victim, f"request {victim.id} is the one to be preempted"
        assert decision.blocks == sum(len(line.table) for line in asked.lines.values())
        self.running.remove(asked)
        self.waiting.append(asked)
        self._fronts -= 1
        asked.place = self._fronts
        self.preempted.add(asked.id)
        self.tokens.pop(asked.id, None)

    def _check_pending(self, sequences: "set[int] | None") -> None:
        """Before an admitted one's first operation, its hits are looked for: all that it could hit was told by then."""
        for decision, asked in self._pending.copy():
            if sequences is not None and sequences.isdisjoint(asked.lines):
                continue
            self._pending.remove((decision, asked))
            tokens = next(iter(asked.lines.values())).tokens[: decision.tokens]
            held = set(self.labels.values())
            blocks = 0
            while self.caching and self._label(asked, tokens, blocks) in held:
                blocks += 1
            most = (decision.tokens - 1) // self.size
            assert decision.hit == min(blocks, most) * self.size, "the longest prefix that a block holds"
            assert decision.cap_applied == (blocks > most)
            missing = self.caching and blocks <= most and (blocks + 1) * self.size <= decision.tokens
            assert decision.missed == (self._hash(asked, tokens, blocks) if missing else None)

    def _label(self, asked: Asked, tokens: list[int], position: int) -> Label | None:
        end = (position + 1) * self.size
        return (asked.keys, tuple(tokens[:end])) if end <= len(tokens) else None

    def _hash(self, asked: Asked, tokens: list[int], position: int) -> bytes:
        lora, salt = asked.keys
        value = root_hash("0")
        for i in range(position + 1):
            keys = [["lora", lora, lora]] if lora else []
            keys += [["cache_salt", salt]] if salt and not i else []
            value = block_hash(value, tokens[i * self.size : (i + 1) * self.size], keys or None)
        return value

    # -- operations -------------------------------------------------------------------------------------------------

    def _operate(self, part: Slice) -> None:
        count = len(part.blocks)
        assert len(set(part.blocks)) == count
        sequences = [part.sequences] * count if isinstance(part.sequences, int) else list(part.sequences)
        if not isinstance(part.positions, int):
            positions = list(part.positions)
        else:
            positions = (
                [NONE] * count
                if part.positions == NONE
                else list(range(part.positions, part.positions + count))
            )
        self._check_pending(set(sequences))
        if part.kind is Operation.free:
            assert part.positions == NONE or positions == sorted(positions, reverse=True), (
                "the last block first"
            )
            for block, sequence, position in zip(part.blocks, sequences, positions, strict=True):
                self._let_go(block, sequence, position)
                assert not self.holders[block]
            self._enqueue(list(part.blocks))
            return
        act = getattr(self, f"_{part.kind.name}")
        for i, block in enumerate(part.blocks):
            act(block, sequences[i], positions[i], part.cause, tuple(column[i] for column in part.extra))

    def _hold(self, block: int, sequence: int, position: int) -> None:
        if position == NONE:
            self.holders[block].append(PIN)
        else:
            self.holders[block].append((sequence, position))
            table = self.lines[sequence].table
            assert position == len(table), "a table grows at its end"
            table[position] = block

    def _let_go(self, block: int, sequence: int, position: int) -> None:
        if position == NONE:
            self.holders[block].remove(PIN)
        else:
            assert (sequence, position) in self.holders[block], "only who holds a block lets it go"
            self.holders[block].remove((sequence, position))
            assert self.lines[sequence].table.pop(position) == block

    def _enqueue(self, blocks: list[int]) -> None:
        self._settle()
        head = self.engine.pool.free_order == "unhashed-first" and blocks[0] not in self.labels
        assert not head or not any(block in self.labels for block in blocks)
        self.queue = blocks + self.queue if head else self.queue + blocks

    def _settle(self) -> None:
        """What was taken since anything else happened to the queue is its head: within that, copies are told first."""
        assert set(self.queue[: len(self.taken)]) == self.taken, "the head of the queue is taken"
        del self.queue[: len(self.taken)]
        self.taken.clear()

    def _take(self, block: int) -> None:
        assert block in self.queue
        assert block not in self.taken
        self.taken.add(block)
        assert not self.holders[block]
        assert block not in self.labels
        self.filled[block] = 0

    def _allocate(self, block: int, sequence: int, position: int, cause: Cause, extra: Values[Any]) -> None:
        self._take(block)
        self._hold(block, sequence, position)

    def _copy(self, block: int, sequence: int, position: int, cause: Cause, extra: Values[Any]) -> None:
        source = extra[3]
        self._take(block)
        assert len(self.holders[source]) - self.holders[source].count(PIN) > 1, (
            "only a shared block is copied"
        )
        assert 0 < self.filled[source] < self.size
        self.holders[source].remove((sequence, position))
        self.holders[block].append((sequence, position))
        assert self.lines[sequence].table[position] == source
        self.lines[sequence].table[position] = block
        self.filled[block] = self.filled[source]

    def _evict(self, block: int, sequence: int, position: int, cause: Cause, extra: Values[Any]) -> None:
        assert self.contents[extra[0]] == self.labels.pop(block)
        if cause is Cause.reset:
            assert not any(self.holders), "a reset while blocks are in use"
        assert cause is not Cause.allocate or block in self.queue

    def _hit(self, block: int, sequence: int, position: int) -> None:
        line = self.lines[sequence]
        label = self._label(line.request, line.tokens, position)
        assert self.labels[block] == label, "what is hit holds the sequence's own prefix"
        assert next(each for each, found in self.labels.items() if found == label) == block, (
            "and is the first that does"
        )
        self._hold(block, sequence, position)

    def _reuse(self, block: int, sequence: int, position: int, cause: Cause, extra: Values[Any]) -> None:
        self._settle()
        self.queue.remove(block)
        self._hit(block, sequence, position)

    def _share(self, block: int, sequence: int, position: int, cause: Cause, extra: Values[Any]) -> None:
        assert self.holders[block]
        if cause is Cause.prefix_hit:
            self._hit(block, sequence, position)
        else:
            self._hold(block, sequence, position)

    def _fill(self, block: int, sequence: int, position: int, cause: Cause, extra: Values[Any]) -> None:
        before, after = extra
        [(holder, _)] = self.holders[block]
        assert holder == sequence
        assert block not in self.labels
        assert self.filled[block] == before < after <= self.size
        self.filled[block] = after
        asked = self.lines[sequence].request
        self.tokens[asked.id] = self.tokens.get(asked.id, 0) + after - before

    def _cache(self, block: int, sequence: int, position: int, cause: Cause, extra: Values[Any]) -> None:
        line = self.lines[sequence]
        [place] = [place for holder, place in self.holders[block] if holder == sequence]
        label = self._label(line.request, line.tokens, place)
        assert label is not None
        assert block not in self.labels
        assert self.filled[block] == self.size
        self.labels[block] = label
        self.labelled[block] = line
        assert self.contents.setdefault(extra[0], label) == label, "one content is one prefix"
        assert list(self.contents.values()).count(label) == 1, "and one prefix one content"

    def _release(self, block: int, sequence: int, position: int, cause: Cause, extra: Values[Any]) -> None:
        self._let_go(block, sequence, position)
        assert self.holders[block]

    # -- the whole --------------------------------------------------------------------------------------------------

    def assert_equal(self) -> None:
        """The engine's own objects are what this model has."""
        pool, roster = self.engine.pool, self.engine.roster
        assert pool.queue.walk() == self.queue
        assert list(pool.state.count) == [len(held) for held in self.holders]
        assert list(pool.state.filled) == self.filled
        labels = {b: self.contents[c] for b, c in enumerate(pool.state.content) if c != NONE}
        assert labels == self.labels
        assert [request.id for request in roster.running] == [asked.id for asked in self.running]
        order = sorted(self.waiting, key=lambda asked: (asked.order, asked.place))
        assert [request.id for request in roster.waiting.requests()] == [asked.id for asked in order]
        for request in roster.requests.values():
            asked = self.requests[request.id]
            live = [sequence.id for sequence in request.live]
            assert (sorted(live) if asked.beams else live) == list(asked.lines)
            for sequence in request.live:
                line = asked.lines[sequence.id]
                assert sequence.table == [line.table[i] for i in range(len(line.table))]
                assert sequence.tokens.tolist() == line.tokens
