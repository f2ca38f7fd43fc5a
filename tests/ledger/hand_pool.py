"""A pool of a few lines that writes a lawful ledger by hand: what the tests of the ledger itself are fed with.

It knows no scheduler and no prefix cache; it draws lawful operations at random. The real engine has its own tests.
"""

import random
from array import array
from dataclasses import dataclass, field

from kvarium_ledger.decisions import Aborted, Admitted, Finished, Preempted, SequenceCreated, Submitted
from kvarium_ledger.ledger import Ledger, StepTimes
from kvarium_ledger.operations import NONE, Cause, Pin

TIMES = StepTimes(0, 0, 0, 0)


@dataclass
class HandBlock:
    """The true state of a block."""

    ticket: float
    count: int = 0
    filled: int = 0
    content: int = NONE
    hits: int = 0


@dataclass
class HandPool:
    """Random lawful operations on a small pool, written to ``ledger``."""

    ledger: Ledger
    rng: random.Random
    num_blocks: int = 24
    block_size: int = 4
    tables: dict[int, dict[int, int]] = field(default_factory=dict)
    pins: dict[int, int] = field(default_factory=dict)
    requests: dict[int, tuple[str, float]] = field(default_factory=dict)
    request_of: dict[int, int] = field(default_factory=dict)
    contents: int = 0
    next_id: int = 0
    next_place: float = 0.0

    def __post_init__(self) -> None:
        self.blocks = [HandBlock(float(i)) for i in range(self.num_blocks)]
        self.head, self.tail = -1.0, float(self.num_blocks)

    # -- a step -----------------------------------------------------------------------------------------------------

    def step(self, actions: int) -> None:
        """Some random actions, sealed as one step."""
        first = self.ledger.op
        sampled = []
        for _ in range(actions):
            self.rng.choice(
                [self.begin, self.grow, self.grow, self.grow, self.fork, self.end, self.pin, self.hit]
            )()
        if self.tables:
            sampled = [self.rng.choice(sorted(self.tables))]
        self.ledger.sampled(sampled, [7] * len(sampled))
        self.ledger.seal(TIMES, actions, 64, first)

    def begin(self) -> None:
        """A request comes and runs at once."""
        request = self.next_id
        self.next_id += 1
        self.next_place += 1
        op = self.ledger.op
        self.ledger.decide(
            Submitted(
                op=op,
                request=request,
                state_after="waiting",
                place_after=self.next_place,
                name=f"r{request}",
                prompt_tokens=3,
                max_tokens=9,
                priority=request % 3,
                precedence=100 * (request % 3) + request,
                beam_width=(None, None, 2, 4)[request % 4],
                lora_name="sql" if request % 5 == 1 else None,
                cache_salt="pepper" if request % 5 == 1 else None,
            )
        )
        self.ledger.prompt(request, b"\1\0\0\0", "a")
        self.ledger.decide(
            Admitted(
                op=op,
                request=request,
                state_before="waiting",
                place_before=self.next_place,
                state_after="running",
                place_after=-self.next_place,
                tokens=3,
            )
        )
        self.requests[request] = ("running", -self.next_place)
        self.sequence(request, None)

    def sequence(self, request: int, parent: int | None) -> int:
        """A new sequence of a request."""
        sequence = self.next_id
        self.next_id += 1
        self.request_of[sequence] = request
        self.tables[sequence] = {}
        self.ledger.decide(
            SequenceCreated(op=self.ledger.op, request=request, sequence=sequence, index=0, parent=parent)
        )
        return sequence

    def take(self) -> int | None:
        """The head of the queue, evicted if it holds content."""
        queued = [i for i, block in enumerate(self.blocks) if block.count == 0]
        if not queued:
            return None
        return min(queued, key=lambda i: self.blocks[i].ticket)

    def evict(self, i: int, sequence: int) -> None:
        """Drop a block's content."""
        block = self.blocks[i]
        if block.content != NONE:
            self.ledger.evict([i], Cause.allocate, sequence, [block.content], [block.hits])
            block.content, block.hits = NONE, 0

    def grow(self) -> None:
        """A sequence gets tokens: a fill, an allocation, or a copy and a fill."""
        if not self.tables:
            return
        sequence = self.rng.choice(sorted(self.tables))
        table = self.tables[sequence]
        position = max(table, default=-1)
        last = self.blocks[table[position]] if table else None
        if last is None or last.filled == self.block_size:
            target = self.take()
            if target is None:
                return
            self.evict(target, sequence)
            block = self.blocks[target]
            self.ledger.allocate(
                [target], Cause.prefill, sequence, position + 1, [block.ticket], [block.filled]
            )
            block.count, block.filled, block.ticket = 1, 0, float("nan")
            table[position + 1] = target
        elif last.count > 1 and last.filled:
            target, source = self.take(), table[position]
            if target is None or source in self.pins:
                return
            self.evict(target, sequence)
            block = self.blocks[target]
            self.ledger.copy(source, target, sequence, position, block.ticket, block.filled, last.filled)
            block.count, block.filled, block.ticket = 1, last.filled, float("nan")
            last.count -= 1
            table[position] = target
        position = max(table)
        block = self.blocks[table[position]]
        if block.count > 1 or block.content != NONE:
            return
        after = self.rng.randint(block.filled + 1, self.block_size)
        self.ledger.fill([table[position]], Cause.decode, [sequence], [block.filled], [after])
        block.filled = after
        if after == self.block_size and self.rng.random() < 0.8:
            self.ledger.contents(self.contents, NONE, 1, array("I", [1, 2, 3, 4]).tobytes())
            self.ledger.cache([table[position]], sequence, [self.contents])
            block.content = self.contents
            self.contents += 1

    def fork(self) -> None:
        """A second sequence of a request shares all blocks of the first."""
        if not self.tables:
            return
        parent = self.rng.choice(sorted(self.tables))
        table = dict(self.tables[parent])
        child = self.sequence(self.request_of[parent], parent)
        if table:
            blocks = [table[position] for position in sorted(table)]
            self.ledger.share(blocks, Cause.fork, child, 0)
            for block in blocks:
                self.blocks[block].count += 1
        self.tables[child] = table

    def hit(self) -> None:
        """A new request finds a labelled block."""
        labelled = [i for i, block in enumerate(self.blocks) if block.content != NONE]
        if not labelled:
            return
        self.begin()
        sequence = max(self.tables)
        i = self.rng.choice(labelled)
        block = self.blocks[i]
        if block.count:
            self.ledger.share([i], Cause.prefix_hit, sequence, 0)
        else:
            self.ledger.reuse([i], sequence, 0, [block.ticket])
            block.ticket = float("nan")
        block.count += 1
        block.hits += 1
        self.tables[sequence][0] = i

    def pin(self) -> None:
        """A pin comes or goes."""
        if self.pins:
            i = self.rng.choice(sorted(self.pins))
            block = self.blocks[i]
            del self.pins[i]
            if block.count > 1:
                self.ledger.unpin_release([i], Pin.transfer, Cause.foreign)
            else:
                self.tail += 1
                self.ledger.unpin_free([i], Pin.transfer, Cause.foreign, [self.tail])
                block.ticket = self.tail
            block.count -= 1
            return
        held = [i for i, block in enumerate(self.blocks) if block.count and block.content != NONE]
        if held:
            i = self.rng.choice(held)
            self.ledger.pin([i], Pin.transfer, Cause.foreign)
            self.pins[i] = 1
            self.blocks[i].count += 1

    def end(self) -> None:
        """A request ends (or is preempted): all its sequences let go, tail first."""
        if not self.tables:
            return
        request = self.request_of[self.rng.choice(sorted(self.tables))]
        for sequence in [s for s in self.tables if self.request_of[s] == request]:
            table = self.tables.pop(sequence)
            for position in sorted(table, reverse=True):
                block = self.blocks[table[position]]
                if block.count > 1:
                    self.ledger.release([table[position]], Cause.finished, sequence, [position])
                else:
                    at_head = self.rng.random() < 0.3
                    self.head, self.tail = self.head - at_head, self.tail + (not at_head)
                    block.ticket = self.head if at_head else self.tail
                    self.ledger.free([table[position]], Cause.finished, sequence, [position], [block.ticket])
                block.count -= 1
        state, place = self.requests.pop(request)
        op = self.ledger.op
        which = self.rng.choice(["finished", "aborted"])
        if which == "aborted":
            self.ledger.decide(
                Preempted(
                    op=op,
                    request=request,
                    state_before=state,
                    place_before=place,
                    state_after="preempted",
                    place_after=0.5,
                    victim_of=request,
                    blocks=1,
                    tokens=1,
                )
            )
            self.ledger.decide(Aborted(op=op, request=request, state_before="preempted", place_before=0.5))
        else:
            self.ledger.decide(
                Finished(
                    op=op,
                    request=request,
                    state_before=state,
                    place_before=place,
                    reason="stop",
                    stop_reason=(None, 7, "END")[request % 3],
                )
            )
