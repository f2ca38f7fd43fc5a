"""Forks: sequences that go on from what another one has computed, and beams that end.

    samples   the prompt is computed                       one sequence becomes n
    again     a resumed request's common beginning is      the same sequences as before, on one table again
    beams     at each step of a beam search                drop beams without children, then fork, then copy at first write

A fork shares the parent's table, block by block; only when a shared, partly filled block is about to be written is it
copied (:mod:`kvarium_engine.scheduling.slot_writer`).
"""

from collections.abc import Mapping

from kvarium_engine.memory.block_pool import BlockPool
from kvarium_engine.scheduling.beam import BeamSearch, Candidates, KeptHypothesis
from kvarium_engine.scheduling.request import Request, Stage
from kvarium_engine.scheduling.roster import Roster
from kvarium_engine.scheduling.sequence import Sequence
from kvarium_ledger.decisions import Hypothesis


class Forks:
    """Forks the sequences of ``roster``'s requests on ``pool``, and tells its ledger. Each of ``eos_tokens`` ends a sequence."""

    def __init__(self, pool: BlockPool, roster: Roster, eos_tokens: frozenset[int]) -> None:
        self.pool = pool
        self.roster = roster
        self.eos_tokens = eos_tokens

    def samples(self, request: Request) -> list[Sequence]:
        """The prompt is computed: ``n`` sequences share it from here on. A beam search still is one sequence."""
        request.started = True
        request.stage = Stage.own
        if request.params.beam_width is None:
            for _ in range(1, request.params.n):
                request.live.append(self._fork(request.live[0]))
        return request.live

    def again(self, request: Request) -> None:
        """A resumed request: its other sequences share the prefix again, and each hits what is cached of its own tokens.

        The first one keeps the block that it has just computed the end of the prefix in.
        """
        parent = request.live[0]
        request.stage = Stage.own
        whole = request.prefix_tokens // self.pool.block_size
        for child in request.live[1:]:
            hits, contents = self._cached(child)
            if len(hits) > whole:
                if whole:
                    self.pool.fork(parent.table[:whole], child.id)
                self._enter_hits(child, parent.table[:whole], hits, contents)
            else:
                self._share(parent, child)
        if parent.computed == whole * self.pool.block_size:
            hits, contents = self._cached(parent)
            if len(hits) > whole:
                self._enter_hits(parent, parent.table, hits, contents)

    def beams(
        self, request: Request, candidates: Mapping[int, Candidates]
    ) -> tuple[list[Sequence], list[int]] | None:
        """A step of a beam search was computed: its beams that go on, each with its next token; None: it is over.

        ``candidates`` are those of each live sequence, by its id.
        """
        search, live = request.search, request.live
        if search is None:
            search = request.search = BeamSearch(request.params, self.eos_tokens, request.max_tokens)
        step = search.step([candidates[sequence.id] for sequence in live])
        for parent, token, score, reason in step.found:
            self._keep(
                request,
                live[parent],
                KeptHypothesis(score, live[parent].tokens[request.prompt_tokens :], reason),
                token,
            )
        if step.over:
            return None
        parents = [live[beam.parent] for beam in step.beams]
        for sequence in live.copy():
            if sequence not in parents:
                self.roster.drop_sequence(sequence)
        children: list[Sequence] = []
        for parent_of in parents:
            children.append(self._fork(parent_of) if parent_of in children else parent_of)
        request.live = children
        return children.copy(), [beam.token for beam in step.beams]

    def _keep(self, request: Request, sequence: Sequence, found: KeptHypothesis, token: int) -> None:
        """``sequence`` with one more ``token`` is a hypothesis."""
        found.tokens.append(token)
        if found.reason == "stop" and token in request.params.stop_token_ids:
            is_own = request.params.ignore_eos or token not in self.eos_tokens
            found = found._replace(stop_reason=token if is_own else None)
        request.add_hypothesis(found)
        ledger = self.roster.ledger
        ledger.decide(
            Hypothesis(
                op=ledger.op,
                request=request.id,
                sequence=sequence.id,
                tokens=sequence.length - request.prompt_tokens,
                token=token,
                score=found.score,
                reason=found.reason,
            )
        )

    # -- tables -------------------------------------------------------------------------------------------------

    def _fork(self, parent: Sequence) -> Sequence:
        child = self.roster.create_sequence(parent.request, parent)
        self._share(parent, child)
        return child

    def _share(self, parent: Sequence, child: Sequence) -> None:
        self.pool.fork(parent.table, child.id)
        child.table = parent.table.copy()
        child.computed = parent.computed
        child.labelled = parent.labelled
        child.content = parent.content

    def _cached(self, sequence: Sequence) -> tuple[list[int], list[int]]:
        """The blocks and contents of the longest cached prefix of a sequence; one token is left to compute."""
        cache = self.pool.cache
        if cache is None:
            return [], []
        most = (sequence.length - 1) // self.pool.block_size
        return cache.lookup(sequence.tokens.tobytes(), most, sequence.request.keys)

    def _enter_hits(self, sequence: Sequence, table: list[int], hits: list[int], contents: list[int]) -> None:
        """The hits behind ``table`` become entries of a sequence's table."""
        self.pool.hit(hits[len(table) :], sequence.id, len(table))
        sequence.table = table + hits[len(table) :]
        sequence.computed = len(hits) * self.pool.block_size
        sequence.labelled = len(hits)
        sequence.content = contents[-1]
