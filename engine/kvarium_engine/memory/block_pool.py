"""The pool: every block, who holds it, and the verbs that change it, each of which tells the ledger.

A block is in one of four states::

            allocate                 fill … fill                  cache
    free ──────────────▶ active, 0 of 16 ──────▶ active, 16 of 16 ──────▶ active, labelled ◀─┐
     ▲                      │                                              │    │ share (+1)  │ reuse
     │                      │ free                                    free │    └──▶ shared   │ (a prefix hit)
     └──────────────────────┘                                              ▼        release   │
     ▲                                     evict                        cached ───────────────┘
     └────────────────────────────────────────────────────────────────────┘

*free* and *cached* blocks have count 0 and stand in the free queue; a cached one keeps its keys, values and label
until it comes to the head and is allocated. An *active* block has one holder, a *shared* one several.
"""

from collections.abc import Sequence
from itertools import compress, groupby

from kvarium_engine.memory.extra_keys import NO_KEYS, ExtraKeys
from kvarium_engine.memory.free_blocks import FreeBlocks
from kvarium_engine.memory.prefix_cache import PrefixCache
from kvarium_ledger.operations import NONE, Cause, Pin

_ALLOCATE, _PREFIX_HIT = Cause.allocate, Cause.prefix_hit


class BlockPool(FreeBlocks):
    """All blocks of the engine and the verbs that change them.

    Every verb asserts what it finds before it changes anything, so that a refused one leaves all counts as they were.
    """

    def reserved_blocks(self, prompt_tokens: int, max_tokens: int) -> int:
        """Blocks that each sequence of such a request gets at its admission: none, they are taken when they are needed."""
        return 0

    # -- new entries of a table ---------------------------------------------------------------------------------------

    def allocate(self, n: int, cause: Cause, sequence: int, position: int) -> list[int]:
        """Allocate ``n`` blocks for the entries ``position``, ... of a sequence's table."""
        ledger = self.ledger
        if n == 1:
            block, ticket, filled_before, label, was_hit = self.take_one()
            if label != NONE:
                ledger.evict((block,), _ALLOCATE, sequence, (label,), (was_hit,))
            ledger.allocate((block,), cause, sequence, position, (ticket,), (filled_before,))
            return [block]
        blocks, tickets, filled, lost, hits = self.take(n)
        had = [content != NONE for content in lost]
        if any(had):
            evicted, contents, hits = (list(compress(column, had)) for column in (blocks, lost, hits))
            ledger.evict(evicted, _ALLOCATE, sequence, contents, hits)
        ledger.allocate(blocks, cause, sequence, position, tickets, filled)
        return blocks

    def prefill(
        self,
        n: int,
        sequence: int,
        position: int,
        last: int,
        parent: int,
        tokens: bytes,
        keys: ExtraKeys = NO_KEYS,
    ) -> tuple[list[int], list[int]]:
        """Allocate ``n`` blocks for a prompt, fill them, and label those that are full, in one pass.

        They are the entries ``position``, ... of a sequence's table; the last one is filled to ``last`` slots. ``tokens``
        (u32) are those of the full blocks, behind the content ``parent``; empty: there are no labels. Returns the blocks and
        the contents.
        """
        ledger, size, cache = self.ledger, self.block_size, self.cache
        assert 0 < last <= size, f"a block of {size} slots can't be filled to {last}"
        if n == 1:
            block, ticket, before, had, hit = self.take_one(last)
            if not tokens:
                ledger.prefill_one(block, sequence, position, ticket, before, had, hit, last, NONE)
                return [block], []
            told = self._label_one(block, parent, tokens, keys)
            ledger.prefill_one(block, sequence, position, ticket, before, had, hit, last, told)
            return [block], [told]
        assert cache is not None or not tokens, "labels need a prefix cache"
        blocks, tickets, filled_before, lost, hits = self.take(n, size)
        contents: list[int] = []
        if last != size:
            self.state.filled[blocks[-1]] = last
        if cache is not None and tokens:
            contents = self._label(cache, blocks if last == size else blocks[:-1], parent, tokens, keys)
        ledger.prefill(blocks, sequence, position, tickets, filled_before, lost, hits, size, last, contents)
        return blocks, contents

    def hit(self, blocks: list[int], sequence: int, position: int) -> None:
        """A prefix hit: labelled ``blocks`` become the entries ``position``, ... of a sequence's table.

        Those in the queue are reused, those in use are shared; runs of one kind are one slice.
        """
        state = self.state
        count, content, hits = state.count, state.content, state.hits
        if len(blocks) == 1:
            block = blocks[0]
            assert content[block] != NONE, f"block {block} is hit but holds no content"
            hits[block] += 1
            held = count[block]
            count[block] = held + 1
            if held:
                self.ledger.share_one(block, sequence, position)
            else:
                self.ledger.reuse_one(block, sequence, position, self.queue.remove(block))
            return
        idle = 0
        for block in blocks:
            assert content[block] != NONE, f"block {block} is hit but holds no content"
            if not count[block]:
                idle += 1
        if not idle or idle == len(blocks):
            for block in blocks:
                count[block] += 1
                hits[block] += 1
            told = blocks[:]  # the caller's is a table that grows
            if idle:
                self.ledger.reuse(told, sequence, position, self.queue.remove_n(blocks))
            else:
                self.ledger.share(told, _PREFIX_HIT, sequence, position)
            return
        start = 0
        for _, run in groupby([count[block] for block in blocks], key=bool):
            end = start + len(list(run))
            self.hit(blocks[start:end], sequence, position + start)
            start = end

    # -- holders ------------------------------------------------------------------------------------------------

    def fork(self, blocks: Sequence[int], sequence: int) -> None:
        """All ``blocks`` of a table become those of a new ``sequence`` too."""
        count = self.state.count
        for block in blocks:
            assert count[block] >= 1, f"block {block} is forked but nobody holds it"
            count[block] += 1
        self.ledger.share(list(blocks), Cause.fork, sequence, 0)

    def copy(self, source: int, sequence: int, position: int) -> int:
        """Copy-on-write: the table entry moves from the shared, partly filled ``source`` to a fresh block.

        The source is pinned until :meth:`launch_copies`, as a copy reads it when the step runs. Returns the target.
        """
        state = self.state
        filled = state.filled[source]
        holders = state.count[source] - self.pins[source]
        assert holders > 1, f"block {source} has {holders} holders: it is written in place"
        assert 0 < filled < self.block_size, f"block {source} is not partly filled: {filled} slots"
        assert state.content[source] == NONE, f"block {source} is labelled"
        if not self.pins[source]:
            self.pins[source] = 1
            state.count[source] += 1
            self.ledger.pin([source], Pin.copy_source, Cause.copy_launch, sequence)
        target, ticket, filled_before, label, hits = self.take_one()
        if label != NONE:
            self.ledger.evict((target,), _ALLOCATE, sequence, (label,), (hits,))
        state.count[source] -= 1
        state.filled[target] = filled
        self.ledger.copy(source, target, sequence, position, ticket, filled_before, filled)
        return target

    def launch_copies(self) -> None:
        """The step's copies are launched: their sources' pins end."""
        if not self.pins:
            return
        count = self.state.count
        held = [block for block in self.pins if count[block] > 1]
        last = [block for block in self.pins if count[block] == 1]
        for block in held:
            count[block] -= 1
        if held:
            self.ledger.unpin_release(held, Pin.copy_source, Cause.copy_launch)
        for block in last:
            count[block] = 0
        for part in self._by_end(last):
            tickets = self._enqueue(part)
            self.ledger.unpin_free(part, Pin.copy_source, Cause.copy_launch, tickets)
        self.pins.clear()

    def let_go(self, table: list[int], cause: Cause, sequence: int) -> None:
        """A sequence's table ends: tail first, still shared blocks are released, then the others freed."""
        count, content = self.state.count, self.state.content
        if len(table) == 1:
            block = table[0]
            holders = count[block]
            assert holders, f"block {block} of sequence {sequence} is freed but nobody holds it"
            count[block] = holders - 1
            if holders > 1:
                self.ledger.release_one(block, cause, sequence)
            else:
                if content[block] == NONE and self.free_order != "lru":
                    (ticket,) = self.queue.prepend_n((block,))
                else:
                    ticket = self.queue.append(block)
                self.ledger.free_one(block, cause, sequence, ticket)
            return
        if not table:
            return
        last = table[::-1]
        to_tail = self.free_order == "lru"
        for block in last:
            if count[block] != 1 or (content[block] == NONE and not to_tail):
                break
        else:
            for block in last:
                count[block] = 0
            self.ledger.free_table(last, cause, sequence, self.queue.append_n(last)[0])
            return
        shared = unlabelled = 0
        for block in last:
            holders = count[block]
            assert holders, f"block {block} of sequence {sequence} is freed but nobody holds it"
            if holders > 1:
                shared += 1
            elif content[block] == NONE:
                unlabelled += 1
        positions: Sequence[int] = range(len(last) - 1, -1, -1)
        if shared == len(last):
            for block in last:
                count[block] -= 1
            self.ledger.release(last, cause, sequence, positions)
            return
        if shared:
            last, positions = self._release_shared(last, positions, cause, sequence)
        for block in last:
            count[block] = 0
        if not unlabelled or unlabelled == len(last) or self.free_order == "lru":
            if last:
                self.ledger.free(last, cause, sequence, positions, self._enqueue(last))
            return
        place = dict(zip(last, positions))
        for part in self._by_end(last):
            self.ledger.free(part, cause, sequence, [place[block] for block in part], self._enqueue(part))

    def _release_shared(
        self, last: list[int], positions: Sequence[int], cause: Cause, sequence: int
    ) -> tuple[list[int], list[int]]:
        """Those of a table's blocks that others hold too are released; returns the rest, with their positions."""
        count = self.state.count
        every = [(block, at, count[block] > 1) for block, at in zip(last, positions)]
        shared = [block for block, _, held in every if held]
        for block in shared:
            count[block] -= 1
        self.ledger.release(shared, cause, sequence, [at for _, at, held in every if held])
        return [block for block, _, held in every if not held], [at for _, at, held in every if not held]

    # -- contents -----------------------------------------------------------------------------------------------

    def fill(
        self, blocks: list[int], cause: Cause, sequence: int, before: list[int], after: list[int]
    ) -> None:
        """Slots are assigned: the fill of each block grows from ``before`` to ``after``."""
        count, filled, size = self.state.count, self.state.filled, self.block_size
        # A labelled block is full, so it can't be written.
        if len(blocks) == 1:
            (block,), (old,), (new,) = blocks, before, after
            assert count[block] == 1, f"block {block} is written with count {count[block]}"
            assert filled[block] == old < new <= size, (
                f"block {block} is filled to {filled[block]} of {size}, not from {old} to {new}"
            )
            filled[block] = new
            self.ledger.fill(blocks, cause, sequence, before, after)
            return
        for block, old, new in zip(blocks, before, after):
            assert count[block] == 1, f"block {block} is written with count {count[block]}"
            assert filled[block] == old < new <= size, (
                f"block {block} is filled to {filled[block]} of {size}, not from {old} to {new}"
            )
            filled[block] = new
        self.ledger.fill(blocks, cause, sequence, before, after)

    def label(
        self, blocks: Sequence[int], parent: int, tokens: bytes, keys: ExtraKeys = NO_KEYS
    ) -> list[int]:
        """Full blocks behind the content ``parent`` are labelled by their ``tokens`` (u32): their contents.

        The ledger hears of new contents; the caller logs the labels (:meth:`Ledger.cache`).
        """
        cache, state, size = self.cache, self.state, self.block_size
        content, filled = state.content, state.filled
        assert cache is not None, "labels need a prefix cache"
        if len(blocks) == 1:
            (block,) = blocks
            assert filled[block] == size, f"block {block} is not full: {filled[block]} slots"
            assert content[block] == NONE, f"block {block} is labelled twice"
            return [self._label_one(block, parent, tokens, keys)]
        for block in blocks:
            assert filled[block] == size, f"block {block} is not full: {filled[block]} slots"
            assert content[block] == NONE, f"block {block} is labelled twice"
        return self._label(cache, blocks, parent, tokens, keys)

    def _label_one(self, block: int, parent: int, tokens: bytes, keys: ExtraKeys) -> int:
        """The same, of one ``block`` that is full and not labelled: its content."""
        cache = self.cache
        assert cache is not None, "labels need a prefix cache"
        told, is_new = cache.intern(parent, tokens, keys)
        if is_new:
            first = keys.first if parent == NONE else keys.rest
            hashes = cache.hashes_of((told,)) if cache.hashing else ()
            self.ledger.contents(told, parent, 1, tokens, first, None, hashes)
        self.state.content[block] = told
        if cache.holders.setdefault(told, block) != block:
            cache.add(told, block)
        return told

    def _label(
        self, cache: PrefixCache, blocks: Sequence[int], parent: int, tokens: bytes, keys: ExtraKeys
    ) -> list[int]:
        """The same, of several ``blocks`` that are full and not labelled."""
        content, hold = self.state.content, cache.holders.setdefault
        contents, new = cache.intern_n(parent, tokens, keys)
        known = len(contents) - new
        if new:
            if known:
                parent, tokens = contents[known - 1], tokens[known * len(tokens) // len(contents) :]
            hashes = cache.hashes_of(contents[known:]) if cache.hashing else ()
            first = keys.first if parent == NONE else keys.rest
            self.ledger.contents(contents[known], parent, new, tokens, first, keys.rest, hashes)
        for block, told in zip(blocks, contents):
            content[block] = told
            if hold(told, block) != block:
                cache.add(told, block)
        return contents

    def evict(self, blocks: Sequence[int], cause: Cause, sequence: int = NONE) -> None:
        """Blocks lose their labels for another reason than an allocation: a reset, a failed or an unscheduled step."""
        content, hits = self.state.content, self.state.hits
        contents = [content[block] for block in blocks]
        hits_before = [hits[block] for block in blocks]
        assert NONE not in contents, f"a block of {list(blocks)} holds no content"
        assert self.cache is not None, "labels need a prefix cache"
        for block, label in zip(blocks, contents):
            self.cache.discard(label, block)
            content[block] = NONE
            hits[block] = 0
        self.ledger.evict(list(blocks), cause, sequence, contents, hits_before)

    def reset_cache(self) -> int:
        """Take all labels away (one ``evict`` a block); returns how many.

        As in vLLM only while no block is in use: raises :class:`ValueError` with the numbers otherwise.
        """
        used = self.num_blocks - self.num_free
        if used:
            raise ValueError(
                f"{used} of {self.num_blocks} blocks are in use: the prefix cache is reset only while none is"
            )
        labelled = [block for block, content in enumerate(self.state.content) if content != NONE]
        if labelled:
            self.evict(labelled, Cause.reset)
        return len(labelled)
