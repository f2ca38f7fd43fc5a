"""The scheduler: who computes how many tokens in this step, and who loses blocks for it.

One step::

    running requests, in order     each gets its next tokens and the blocks for them; where blocks lack, the last of
                                   the running ones (by priority: the least urgent) is preempted, whole
    waiting requests, in order     if nobody was preempted: prefix hits, then a chunk of what is left of the budget
    launch                         copies, then the fills that waited for them
    ── the runner computes ──
    update                         forks, sampled tokens, ends

Continuous batching: requests join and leave at any step. A prefill takes what the token budget leaves (chunked
prefill), so decodes never wait for a long prompt. Preemption is by recompute: blocks are freed, tokens are kept.
"""

from array import array
from typing import NamedTuple

from kvarium_engine.memory.block_pool import BlockPool
from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.memory.extra_keys import NO_KEYS, ExtraKeys
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.scheduling.forks import Forks
from kvarium_engine.scheduling.request import Request, Stage
from kvarium_engine.scheduling.roster import Roster
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.scheduling.sequence import Sequence
from kvarium_engine.scheduling.slot_writer import SlotWriter
from kvarium_engine.scheduling.step_plan import Prefill, StepPlan
from kvarium_engine.scheduling.stopping import Ending, ending
from kvarium_engine.vocabulary import Vocabulary
from kvarium_ledger.decisions import Scheduled
from kvarium_ledger.ledger import Ledger
from kvarium_ledger.operations import NONE


class _Blocked(NamedTuple):
    """A waiting request for which blocks lacked: nothing is looked up again while this can't have changed.

    Fewer blocks lack only when a block came back to the queue (``entered`` grew), when fewer tokens are asked for, or
    when the first block that was missed in the cache (``parent``, ``missed``) is held now.
    """

    request: Request
    place: float | None
    entered: int
    tokens: int
    hit: int
    parent: int
    missed: bytes


class Scheduler:
    """Requests in, plans out; the pool and the ledger follow.

    ``roster`` has the requests. Each of ``eos_tokens`` ends a sequence that does not ignore it; ``vocabulary`` gives the
    text in which stop strings are looked for.
    """

    def __init__(
        self,
        config: SchedulerConfig,
        pool: BlockPool,
        ledger: Ledger,
        eos_tokens: frozenset[int] = frozenset(),
        vocabulary: Vocabulary | None = None,
    ) -> None:
        self.config = config
        self.pool = pool
        self.ledger = ledger
        self.eos_tokens = eos_tokens
        self.vocabulary = vocabulary
        self.roster = Roster(config, pool, ledger)
        self.slots = SlotWriter(pool, ledger)
        self.forks = Forks(pool, self.roster, eos_tokens)
        self._blocked: _Blocked | None = None

    # -- from outside, between steps ----------------------------------------------------------------------------

    def submit(
        self,
        prompt: "array[int]",
        params: SamplingParams,
        name: str = "",
        priority: int = 0,
        text: str | None = None,
        keys: ExtraKeys = NO_KEYS,
    ) -> Request:
        """A request comes in; see :meth:`Roster.submit`. Raises :class:`ValueError`, too, as :meth:`check` does."""
        self.check(params)
        return self.roster.submit(prompt, params, name, priority, text, keys)

    def check(self, params: SamplingParams) -> None:
        """Raises :class:`ValueError` for what this engine can't do: stop strings without text."""
        if params.stop and self.vocabulary is None:
            raise ValueError(
                "stop strings need text, and this engine's model has no tokenizer: give stop_token_ids"
            )

    def abort(self, request: Request, asked_by: str = "") -> None:
        """End a request, whatever it does; see :meth:`Roster.abort`."""
        self.roster.abort(request, asked_by)

    @property
    def idle(self) -> bool:
        """No request is in the engine."""
        return not self.roster.requests

    # -- a step: running requests -------------------------------------------------------------------------------

    def schedule(self) -> StepPlan:
        """Plan a step; its slots are assigned and its operations are told when this returns."""
        plan = StepPlan(self.ledger.step + 1)
        slots, pool, roster = self.slots, self.pool, self.roster
        decodes, mask = plan.decodes, pool.block_size - 1
        count, filled = pool.state.count, pool.state.filled
        budget = self.config.max_num_batched_tokens
        waiting_before = len(roster.waiting)
        own = Stage.own
        for request in roster.running.copy():
            if plan.tokens >= budget:
                break
            if request.state != "running":
                continue  # preempted for one before it
            live = request.live
            if request.stage is own and len(live) == 1:
                # The common case, a decode into a block of one's own: what SlotWriter.decode does, without the calls.
                sequence = live[0]
                position = sequence.computed
                offset = position & mask
                if offset and sequence.length - position == 1:
                    block = sequence.table[-1]
                    if count[block] == 1:
                        assert filled[block] == offset, f"block {block} has {filled[block]} slots filled"
                        filled[block] = offset + 1
                        slots.filled.append(block)
                        slots.filled_for.append(sequence.id)
                        slots.filled_before.append(offset)
                        sequence.computed = position + 1
                        if offset == mask:
                            slots.label_last(sequence, block)
                        decodes.append(sequence)
                        plan.tokens += 1
                        continue
            self._continue(request, plan)
            decodes = plan.decodes
        slots.flush()
        if len(roster.waiting) == waiting_before:
            self._admit(plan)
        plan.copies = slots.launch()
        roster.explain_waiting()
        return plan

    def _wants(self, request: Request, budget: int) -> list[tuple[Sequence, int]]:
        """(sequence, tokens) of a request that are next, within ``budget`` tokens."""
        if request.stage is not Stage.own:
            sequence = request.live[0]
            return [(sequence, min(request.prefix_tokens - sequence.computed, budget))]
        wants: list[tuple[Sequence, int]] = []
        # Beams go on together: until all of them can, each keeps its last token back.
        kept = 0
        if request.params.beam_width is not None:
            kept = int(sum(sequence.length - sequence.computed for sequence in request.live) > budget)
        for sequence in request.live:
            tokens = min(sequence.length - sequence.computed - kept, budget)
            if tokens:
                wants.append((sequence, tokens))
                budget -= tokens
        return wants

    def _continue(self, request: Request, plan: StepPlan) -> None:
        """Give a running request its next tokens: all of its sequences get their blocks, or none."""
        wants = self._wants(request, self.config.max_num_batched_tokens - plan.tokens)
        needed = self.slots.blocks_needed(wants)
        while needed > self.pool.num_free:
            if len(self.roster.running) == 1:
                free, blocks = self.pool.num_free, self.pool.num_blocks
                message = f"it needs {needed} more blocks; {free} of {blocks} are free, and nobody else runs"
                self._finish(request, "capacity", message)
                return
            victim = self._victim()
            self._preempt(victim, request, plan)
            if victim is request:
                return
        for sequence, tokens in wants:
            self._write(request, sequence, tokens, plan)

    def _victim(self) -> Request:
        """Who is preempted: the last one that began to run, or the least urgent one."""
        running = self.roster.running
        if self.config.policy == "priority":
            return max(running, key=lambda request: (request.precedence, request.place))
        return running[-1]

    def _preempt(self, victim: Request, needed_by: Request, plan: StepPlan) -> None:
        scheduled = sum(sequence.request is victim for sequence in plan.decodes)
        scheduled += sum(prefill.tokens for prefill in plan.prefills if prefill.sequence.request is victim)
        lost = victim.recompute() - scheduled
        if scheduled:
            self.slots.unschedule(victim)
            plan.decodes = [sequence for sequence in plan.decodes if sequence.request is not victim]
            plan.prefills = [prefill for prefill in plan.prefills if prefill.sequence.request is not victim]
            plan.tokens -= scheduled
        self.slots.flush()
        self.roster.preempt(victim, needed_by, lost)

    def _write(self, request: Request, sequence: Sequence, tokens: int, plan: StepPlan) -> None:
        """Assign the slots of the next ``tokens`` tokens of a sequence and enter them into the plan."""
        start = sequence.computed
        plan.tokens += tokens
        if request.stage is Stage.own and sequence.length - start == 1:
            self.slots.decode(sequence)
            plan.decodes.append(sequence)
            return
        ledger = self.ledger
        ledger.decide(
            Scheduled(op=ledger.op, request=request.id, sequence=sequence.id, start=start, tokens=tokens)
        )
        self.slots.prefill(sequence, tokens)
        samples = 0
        if sequence.computed == sequence.length and request.stage is not Stage.prefix:
            is_forking = request.stage is Stage.prompt and request.params.beam_width is None
            samples = request.params.n if is_forking else 1
        plan.prefills.append(Prefill(sequence, start, tokens, samples))

    # -- a step: waiting requests -------------------------------------------------------------------------------

    def _admit(self, plan: StepPlan) -> None:
        """Let waiting requests begin to run, in order, until one can't."""
        roster = self.roster
        while True:
            request = roster.waiting.head()
            if request is None:
                return
            budget = self.config.max_num_batched_tokens - plan.tokens
            if budget <= 0:
                roster.wait(request, "budget")
                return
            if roster.width + request.width > self.config.max_num_seqs:
                roster.wait(request, "max_num_seqs")
                return
            if not self._begin(request, budget, plan):
                return

    def _begin(self, request: Request, budget: int, plan: StepPlan) -> bool:
        """Admit one request, with its prefix hits and its first chunk; False when the blocks do not suffice."""
        pool, cache, size = self.pool, self.pool.cache, self.pool.block_size
        source = request.live[0].tokens if request.live else request.prompt
        target = request.prefix_tokens if request.stage is Stage.prefix else len(source)
        if not pool.num_free:
            self.roster.wait(request, "blocks", blocks_for(min(target, budget), size), 0)
            return False
        if self._still_blocked(request, target, budget):
            return False
        raw = b""
        hits: list[int] = []
        contents: list[int] = []
        if cache is not None:
            raw = source.tobytes()
            hits, contents = cache.lookup(raw, (target - 1) // size, request.keys)
        hit = len(hits) * size
        tokens = min(target - hit, budget)
        count = pool.state.count
        parent = contents[-1] if hits else NONE
        following = raw[4 * hit : 4 * (hit + size)]
        needed = blocks_for(hit + tokens, size) - len(hits) + [count[block] for block in hits].count(0)
        if needed > pool.num_free:
            self.roster.wait(request, "blocks", needed, pool.num_free)
            self._blocked = _Blocked(
                request, request.place, pool.queue.entered, tokens, hit, parent, following
            )
            return False
        cap_applied, missed = False, None
        if cache is not None and hit + size <= target:
            cap_applied = hit + size == target and cache.holds(parent, following, request.keys)
            if not cap_applied:
                missed = cache.missed_hash(raw, contents, request.keys)
        self.roster.admit(request, target, hit, cap_applied, missed)
        sequence = request.live[0]
        if hits:
            self.slots.flush()  # a label that is hit must be told first
            pool.hit(hits, sequence.id, 0)
            sequence.table = hits
            sequence.computed = hit
            sequence.labelled = len(hits)
            sequence.content = parent
        self._write(request, sequence, tokens, plan)
        return True

    def _still_blocked(self, request: Request, target: int, budget: int) -> bool:
        blocked, cache = self._blocked, self.pool.cache
        if blocked is None or blocked.request is not request or blocked.place != request.place:
            return False
        if blocked.entered != self.pool.queue.entered or min(target - blocked.hit, budget) < blocked.tokens:
            return False
        return cache is None or not cache.holds(blocked.parent, blocked.missed, request.keys)

    # -- after a step -------------------------------------------------------------------------------------------

    def update(self, plan: StepPlan, tokens: list[int]) -> None:
        """The step was computed: fork what has to fork, take the sampled tokens, end what has ended."""
        self.slots.settle()
        sampled = plan.decodes.copy()
        for prefill in plan.prefills:
            request = prefill.sequence.request
            if request.stage is Stage.prompt and prefill.samples:
                sampled += self.forks.samples(request)
            elif request.stage is Stage.prefix and prefill.sequence.computed == request.prefix_tokens:
                self.forks.again(request)
            elif prefill.samples:
                sampled.append(prefill.sequence)
        assert len(sampled) == len(tokens), f"{len(tokens)} tokens were sampled for {len(sampled)} sequences"
        if not sampled:
            return
        ended: dict[Request, list[Sequence]] = {}
        if plan.candidates:
            sampled, tokens = self._search(plan, sampled, tokens, ended)
        self.ledger.sampled([sequence.id for sequence in sampled], tokens, plan.logprobs)
        eos = self.eos_tokens
        for sequence, token in zip(sampled, tokens, strict=True):
            sequence.tokens.append(token)
            sequence.length = length = sequence.length + 1
            if length >= sequence.watched or token in eos:
                sequence.ending = ending(sequence, eos, self.vocabulary)
                if sequence.ending is not None:
                    ended.setdefault(sequence.request, []).append(sequence)
        # In the order of the running ones, as vLLM does: a resumed request may decode at once, before others' prefills.
        for request in sorted(ended, key=lambda request: request.place or 0.0):
            self._end(request, ended[request])

    def _search(
        self, plan: StepPlan, sampled: list[Sequence], tokens: list[int], ended: dict[Request, list[Sequence]]
    ) -> tuple[list[Sequence], list[int]]:
        """The sampled sequences and tokens with beams that go on in place of those that were computed.

        Beams stand behind the others; a request whose search is over goes to ``ended``, with no sequence.
        """
        others = [number for number, sequence in enumerate(sampled) if sequence.id not in plan.candidates]
        found = [sampled[number] for number in others]
        chosen = [tokens[number] for number in others]
        numbers = {number: place for place, number in enumerate(others)}
        plan.logprobs = [each._replace(number=numbers[each.number]) for each in plan.logprobs]
        searching = [sequence for sequence in sampled if sequence.id in plan.candidates]
        for request in dict.fromkeys(sequence.request for sequence in searching):
            step = self.forks.beams(request, plan.candidates)
            if step is None:
                ended[request] = []
            else:
                found += step[0]
                chosen += step[1]
        return found, chosen

    def _end(self, request: Request, sequences: list[Sequence]) -> None:
        """Sequences have ended: drop them, or finish their request with the last of them, and with those that ended as it.

        A beam search is over as a whole, and as its best answer.
        """
        if request.params.beam_width is not None:
            best = request.hypotheses[0] if request.hypotheses else None  # None: every token was barred
            self._finish(
                request, best.reason if best else "length", stop_reason=best.stop_reason if best else None
            )
            return
        last: Ending | None = sequences[-1].ending if len(sequences) == len(request.live) else None
        for sequence in sequences:
            if last is None or sequence.ending != last:
                self.roster.drop_sequence(sequence)
        if last is not None:
            self._finish(request, last.reason, stop_reason=last.stop_reason)

    def _finish(
        self, request: Request, reason: str, message: str | None = None, stop_reason: int | str | None = None
    ) -> None:
        self.slots.flush()
        self.roster.finish(request, reason, message, stop_reason)

    def fail(self, plan: StepPlan, message: str) -> None:
        """The forward failed: the labels of the step are taken back, and its requests end with an error."""
        self.slots.fail()
        requests = dict.fromkeys(sequence.request for sequence in plan.decodes)
        requests |= dict.fromkeys(prefill.sequence.request for prefill in plan.prefills)
        for request in requests:
            self._finish(request, "error", message)
