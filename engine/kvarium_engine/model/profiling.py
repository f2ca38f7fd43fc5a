"""The profiling run: the largest step is computed once, before there is a pool, to see what it takes of a card.

    long chunks   [ one prompt, as long as it may be ………………… ][ the next ………… ]     the most attention at once
    many prompts  [ a ][ b ][ c ][ d ] … one for each of max_num_seqs                the most logits and draws at once
                  └──────────── max_num_batched_tokens tokens each ────────────┘

All sequences lie in the same few scratch blocks, so that what a pool would take is not measured; what is drawn means nothing.

CUDA graphs hold the addresses of the pool, so they can't be recorded before it is there; what they will take is estimated here from
the two largest, recorded on the scratch blocks: the first, and for each other one as much as the second takes beside it.
"""

from array import array
from collections.abc import Callable
from typing import Protocol

from kvarium_engine.card_memory import CardUse, DeviceMemory
from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.model.capture_sizes import CaptureError
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.scheduling.request import Request
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.scheduling.sequence import Sequence
from kvarium_engine.scheduling.step_plan import Prefill, Runner, StepPlan

_PARAMS = SamplingParams(max_tokens=1, temperature=1.0, top_k=50, top_p=0.9, seed=0)
"""All of the sampler's filters, as each takes memory."""


class CardRunner(Runner, Protocol):
    """A runner on a card."""

    def capture(self, sizes: tuple[int, ...], max_model_len: int) -> None:
        """Record the decodes of so many sequences each (ascending), of at most so many tokens, as CUDA graphs, in the place of
        those that there are. Raises :class:`CaptureError`.
        """
        ...


def largest_steps(config: SchedulerConfig, block_size: int) -> list[StepPlan]:
    """The steps that take the most memory, in scratch blocks from 0 on."""
    budget, longest, seqs = config.max_num_batched_tokens, config.max_model_len, config.max_num_seqs
    chunks = [min(longest, budget - start) for start in range(0, min(budget, longest * seqs), longest)]
    each, more = divmod(budget, seqs)
    prompts = [min(longest, each + (number < more)) for number in range(seqs)]
    return [_plan(lengths, block_size) for lengths in (chunks, prompts)]


def scratch_blocks(plans: list[StepPlan]) -> int:
    """How many blocks those steps write to."""
    return max(len(prefill.sequence.table) for plan in plans for prefill in plan.prefills)


def measure(
    make: Callable[[int], CardRunner],
    config: SchedulerConfig,
    block_size: int,
    memory: DeviceMemory,
    free: int,
    weights: int,
    capture_sizes: tuple[int, ...] = (),
) -> CardUse:
    """What the engine takes of a card besides its pool.

    ``make`` makes a runner with so many blocks around the model that is loaded; ``free``: what was free before it was;
    ``weights``: its bytes; ``capture_sizes``: of which decodes CUDA graphs will be recorded, if any.
    """
    plans = largest_steps(config, block_size)
    blocks = scratch_blocks(plans)
    runner = make(blocks)
    memory.reset_peak()
    for plan in plans:
        runner.execute(plan)
    peak, held = memory.peak(), memory.held()
    other = free - memory.free() - held
    scratch = blocks * runner.kv_bytes_per_block
    graphs = graph_bytes(runner, capture_sizes, config.max_model_len, memory) if capture_sizes else 0
    runner.close()
    del runner
    memory.reset_peak()
    return CardUse(memory.total, free, weights, max(0, peak - scratch - weights), max(0, other), graphs)


def graph_bytes(runner: CardRunner, sizes: tuple[int, ...], max_model_len: int, memory: DeviceMemory) -> int:
    """What graphs of decodes of ``sizes`` will take of a card; 0 where the forward can't be recorded."""

    def took(few: tuple[int, ...]) -> int:
        memory.reset_peak()
        before = memory.free()
        runner.capture(few, max_model_len)
        memory.reset_peak()  # what they do not hold is given back
        return max(0, before - memory.free())

    try:
        first = took(sizes[-1:])
        # The first is let go for these two, so that this is what the second takes.
        each = took(sizes[-2:]) if len(sizes) > 1 else 0
    except CaptureError:
        return 0
    return first + each * (len(sizes) - 1)


def _plan(lengths: list[int], block_size: int) -> StepPlan:
    prefills: list[Prefill] = []
    for number, tokens in enumerate(lengths):
        prompt = array("I", bytes(4 * tokens))
        request = Request(number, f"profiling-{number}", prompt, _PARAMS, 0, 1)
        sequence = Sequence(number, request, 0, prompt)
        sequence.computed = tokens
        sequence.table = list(range(blocks_for(tokens, block_size)))
        prefills.append(Prefill(sequence, 0, tokens, 1))
    return StepPlan(step=0, prefills=prefills, tokens=sum(lengths))
