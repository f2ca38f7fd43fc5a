"""An engine with a mirror behind it: each record goes through the encoder's bytes into an exact fold, which must agree."""

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Any

from kvarium_engine.engine import Engine, EngineConfig
from kvarium_engine.memory.extra_keys import NO_KEYS, ExtraKeys
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.model.seeded_tokens import seeded_tokens
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.scheduling.request import Request
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.scheduling.step_plan import Runner
from kvarium_engine.vocabulary import Vocabulary
from kvarium_ledger import codec
from kvarium_ledger.decisions import AnyDecision, Preempted
from kvarium_ledger.encoder import Encoder
from kvarium_ledger.fold import Fold
from kvarium_ledger.ledger import Ledger, Sealed, SealedStep
from kvarium_ledger.records import AnyRecord, Step
from kvarium_ledger.violations import Violation


def tokens(seed: int, count: int) -> "array[int]":
    return seeded_tokens(seed, count)


class Mirrored:
    """``engine`` is the real one, ``fold`` its mirror, ``violations`` what the mirror found; ``last`` the last step sealed.

    ``reserve``: of a contiguous cache; None: memory is paged.
    """

    def __init__(
        self,
        num_blocks: int = 64,
        block_size: int = 16,
        budget: int = 2048,
        seqs: int = 32,
        length: int = 4096,
        policy: str = "fcfs",
        runner: Runner | None = None,
        audit_interval: int = 1,
        caching: bool = True,
        free_order: str = "lru",
        hash_seed: str = "0",
        seed: int = 0,
        eos_every: int = 0,
        reserve: str | None = None,
        record_text: str = "full",
        priority_aging: int = 0,
    ) -> None:
        self.sealed: list[Sealed] = []
        self.records: list[AnyRecord] = []
        self.violations: list[Violation] = []
        self.fold = Fold(num_blocks, block_size)
        computes = runner or NullRunner(seed, eos_every=eos_every)
        self._encoder = Encoder(num_blocks, record_text, computes.vocabulary)
        self._fresh: list[Sealed] = []
        config = EngineConfig(
            num_blocks=num_blocks,
            block_size=block_size,
            scheduler=SchedulerConfig(budget, seqs, length, policy, priority_aging),
            enable_prefix_caching=caching and reserve is None,
            free_order=free_order,
            hash_seed=hash_seed,
            tell_hashes=record_text != "full",
            audit_interval=audit_interval,
            memory_backend="paged" if reserve is None else "contiguous",
            reserve=reserve or "max",
        )
        self.engine = Engine(config, computes, Ledger(self._fresh.append))
        self.pool = self.engine.pool
        self.roster = self.engine.scheduler.roster
        self.mirror()

    def mirror(self) -> list[Violation]:
        """Let the fold follow what was sealed; what it finds is returned (and kept)."""
        found: list[Violation] = []
        for sealed in self._fresh:
            for _, frame in self._encoder.encode(sealed):
                record = codec.open_frame(frame)
                self.records.append(record)
                found += self.fold.apply(record)
        self.sealed += self._fresh
        self._fresh.clear()
        self.violations += found
        return found

    def submit(
        self,
        prompt: "int | array[int]",
        max_tokens: int | None = 16,
        n: int = 1,
        priority: int = 0,
        name: str = "",
        ignore_eos: bool = True,
        keys: ExtraKeys = NO_KEYS,
        **more: Any,
    ) -> Request:
        if isinstance(prompt, int):
            prompt = tokens(1000 + self.roster._next_request, prompt)
        params = SamplingParams(max_tokens=max_tokens, n=n, ignore_eos=ignore_eos, **more)
        return self.engine.scheduler.submit(prompt, params, name=name, priority=priority, keys=keys)

    def step(self, steps: int = 1) -> SealedStep:
        """Take steps; the mirror must agree with each."""
        for _ in range(steps):
            self.engine.step()
            assert self.mirror() == []
        return self.last

    def run(self, most: int = 5000) -> None:
        """Step until the engine is idle."""
        for _ in range(most):
            if self.engine.idle:
                return
            self.step()
        raise AssertionError(f"not idle after {most} steps: {self.roster.requests}")

    def step_until_preempted(self, most: int = 300) -> None:
        """Step until somebody is preempted."""
        for _ in range(most):
            self.step()
            if any(isinstance(decision, Preempted) for decision in self.last.decisions):
                return
        raise AssertionError(f"nobody was preempted in {most} steps")

    @property
    def last(self) -> SealedStep:
        return next(sealed for sealed in reversed(self.sealed) if isinstance(sealed, SealedStep))

    def decisions(self, kind: "type[Any]") -> list[Any]:
        """All decisions of a kind so far."""
        return [
            decision
            for sealed in self.sealed
            if isinstance(sealed, SealedStep)
            for decision in sealed.decisions
            if isinstance(decision, kind)
        ]

    def operations(self, sealed: SealedStep | None = None) -> "Counter[tuple[str, str]]":
        """(operation, cause) of one step, or of all, with how many."""
        steps = [sealed] if sealed else [s for s in self.sealed if isinstance(s, SealedStep)]
        counts: Counter[tuple[str, str]] = Counter()
        for step in steps:
            for part in step.slices:
                counts[part.kind.name, part.cause.name] += len(part.blocks)
        return counts

    def blocks(self, kind: str, sealed: SealedStep | None = None) -> list[int]:
        """The blocks of the operations of a kind in one step (the last), in order."""
        return [
            block for part in (sealed or self.last).slices if part.kind.name == kind for block in part.blocks
        ]

    def steps(self) -> list[Step]:
        return [record for record in self.records if isinstance(record, Step)]

    def undo_all(self) -> None:
        """Fold back to the first keyframe, and check that it is the state there was."""
        first = self.records[0]
        while self.fold.record > first.record:
            self.fold.undo(self.records[self.fold.record - first.record])
        fresh = Fold(self.pool.num_blocks, self.pool.block_size)
        fresh.apply(first)
        assert self.fold.lanes.digest() == fresh.lanes.digest()
        assert self.fold.usage() == fresh.usage()
        assert not self.fold.state.tables
        assert not self.fold.state.requests

    def assert_nothing_leaks(self) -> None:
        assert self.pool.num_free == self.pool.num_blocks
        assert not any(self.pool.state.count)
        assert not self.pool.pins
        assert not self.roster.requests
        assert not self.roster.running
        assert self.roster.width == 0
        assert len(self.roster.waiting) == 0
        assert self.roster.waiting.head() is None


class ScriptedRunner(NullRunner):
    """Gives the tokens of a script instead: ``script[(sequence index, position)]``; and fails when told to.

    ``vocabulary`` is what its tokens read as; None: as the null runner's.
    """

    def __init__(
        self, script: dict[tuple[int, int], int] | None = None, vocabulary: Vocabulary | None = None
    ) -> None:
        super().__init__()
        if vocabulary is not None:
            self.vocabulary = vocabulary
        self.script = script or {}
        self.fail_with: Exception | None = None
        self.copies: list[tuple[int, int]] = []

    def execute(self, plan: Any) -> list[int]:
        self.copies = plan.copies
        if self.fail_with is not None:
            error, self.fail_with = self.fail_with, None
            raise error
        sampled = super().execute(plan)
        places: list[tuple[int, int]] = [(s.index, s.length) for s in plan.decodes]
        for prefill in plan.prefills:
            first = prefill.sequence.index
            places += [(index, prefill.sequence.length) for index in range(first, first + prefill.samples)]
        return [self.script.get(place, token) for place, token in zip(places, sampled, strict=True)]


def table(request: Request, index: int = 0) -> Sequence[int]:
    return next(sequence.table for sequence in request.live if sequence.index == index)


def kinds(decisions: list[AnyDecision]) -> list[str]:
    return [str(type(decision).__struct_config__.tag) for decision in decisions]
