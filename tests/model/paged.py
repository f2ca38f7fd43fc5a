"""A whole paged engine around a model, without a process: prompts in, tokens out, and a mirror that checks each step.

Then the checks of a cache that is right. They are functions, so that tests can plant a fault and see that it is caught.
"""

import random
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import PreTrainedModel

from kvarium_engine.kernels.backend import Backend
from kvarium_engine.model import attention
from kvarium_engine.model.batch import Batch
from kvarium_engine.model.torch_runner import TorchRunner
from kvarium_engine.scheduling.request import Request
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.scheduling.sequence import Sequence as DecodeSequence
from kvarium_engine.scheduling.step_plan import Prefill, StepPlan
from kvarium_engine.vocabulary import Vocabulary
from tests.engine.mirrored import Mirrored


class Paged(Mirrored):
    """:class:`Mirrored` with a model; requests are greedy and run to their length unless they say otherwise."""

    def __init__(
        self,
        model: PreTrainedModel,
        num_blocks: int = 256,
        block_size: int = 16,
        budget: int = 2048,
        caching: bool = True,
        seed: int = 0,
        vocabulary: Vocabulary | None = None,
        kv_dtype: torch.dtype | None = None,
        length: int = 4096,
        reserve: str | None = None,
        policy: str = "fcfs",
        free_order: str = "lru",
        backend: Backend = "torch",
    ) -> None:
        self.runner = TorchRunner(
            model, vocabulary, "test", num_blocks, block_size, seed, kv_dtype, backend=backend
        )
        super().__init__(
            num_blocks,
            block_size,
            budget,
            seqs=min(32, budget),
            runner=self.runner,
            audit_interval=8,
            caching=caching,
            length=length,
            reserve=reserve,
            policy=policy,
            free_order=free_order,
        )

    def ask(
        self,
        prompt: Sequence[int],
        max_tokens: int = 100,
        n: int = 1,
        temperature: float = 0.0,
        **more: object,
    ) -> Request:
        """Submit a request."""
        params = {"ignore_eos": True, **more}
        asked = SamplingParams(max_tokens=max_tokens, n=n, temperature=temperature, **params)  # type: ignore[arg-type]
        return self.engine.scheduler.submit(array("I", prompt), asked)

    def answers(self, *requests: Request) -> list[list[list[int]]]:
        """Step until all is done; the sampled tokens of each request's sequences, by their index."""
        found: list[dict[int, array[int]]] = [{} for _ in requests]
        while not self.engine.idle:
            self.step()
            for request, sequences in zip(requests, found, strict=True):
                sequences |= {sequence.index: sequence.tokens for sequence in request.live}
        return [
            [tokens[request.prompt_tokens :].tolist() for _, tokens in sorted(sequences.items())]
            for request, sequences in zip(requests, found, strict=True)
        ]

    def greedy(self, prompts: Iterable[Sequence[int]], max_tokens: int = 100) -> list[list[int]]:
        """The tokens of prompts that are submitted together."""
        return [answer[0] for answer in self.answers(*[self.ask(prompt, max_tokens) for prompt in prompts])]


def generate(
    model: PreTrainedModel, prompt: Sequence[int], max_tokens: int = 100, cached: bool = True
) -> list[int]:
    """What transformers' own ``generate`` makes of a prompt, greedily, with its own attention; with its own cache or without any."""
    model.generation_config.eos_token_id = None
    with torch.inference_mode():
        ids = torch.tensor([list(prompt)])
        out = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=max_tokens,
            pad_token_id=0,
            use_cache=cached,
        )
    return out[0, len(prompt) :].tolist()


# -- what a cache that is right does ------------------------------------------------------------------------------


def random_prompt(seed: int, count: int, vocabulary: int = 97) -> list[int]:
    return [random.Random(seed + i * 1009).randrange(2, vocabulary) for i in range(count)]


def check_tokens(paged: PreTrainedModel, plain: PreTrainedModel, max_tokens: int = 100) -> None:
    """Greedy tokens on the paged cache are those of a model that computes everything anew for each token."""
    prompts = [random_prompt(seed, count) for seed, count in ((0, 1), (3, 17), (5, 40))]
    expected = [generate(plain, asked, max_tokens, cached=False) for asked in prompts]
    for asked, tokens in zip(prompts, expected, strict=True):
        assert Paged(paged).greedy([asked], max_tokens) == [tokens], "alone"
    assert Paged(paged).greedy(prompts, max_tokens) == expected, "side by side"


def check_logits(paged: PreTrainedModel, plain: PreTrainedModel) -> None:
    """The logits of two chunks and a decode are close to those of one forward, whatever a slot that is not filled holds."""
    asked = random_prompt(110, 43)
    with torch.inference_mode():
        expected = plain(input_ids=torch.tensor([asked])).logits[0, [12, 41, 42]]
    for left in (0.0, torch.nan):  # as in a new cache; and what shows wherever it is read
        runner = TorchRunner(paged, None, "test", num_blocks=20, block_size=8)
        runner.cache.pool.fill_(left)
        request = Request(0, "r", array("I", asked), SamplingParams(temperature=0), 0, 8)
        sequence = DecodeSequence(0, request, 0, array("I", asked))
        sequence.table = [7, 3, 11, 0, 5, 19]
        found = []
        for start, end in ((0, 13), (13, 42)):
            sequence.computed = end
            found.append(logits_of(runner, StepPlan(0, prefills=[Prefill(sequence, start, end - start, 1)])))
        sequence.computed = 43
        found.append(logits_of(runner, StepPlan(0, decodes=[sequence])))
        torch.testing.assert_close(torch.cat(found), expected, atol=2e-5, rtol=1e-4)


def logits_of(runner: TorchRunner, plan: StepPlan) -> torch.Tensor:
    return runner.forward(Batch(plan, runner.cache.block_size, torch.device("cpu")))


def all_logits(runner: TorchRunner, tokens: Sequence[int]) -> torch.Tensor:
    """The logits ``[tokens, vocabulary]`` of a prompt that is computed at once, in the first blocks."""
    request = Request(0, "r", array("I", tokens), SamplingParams(), 0, runner.cache.block_size)
    sequence = DecodeSequence(0, request, 0, array("I", tokens))
    sequence.computed = len(tokens)
    sequence.table = list(range(-(-len(tokens) // runner.cache.block_size)))
    plan = StepPlan(0, prefills=[Prefill(sequence, 0, len(tokens), 1)])
    batch = Batch(plan, runner.cache.block_size, torch.device("cpu"))
    batch.rows = torch.arange(len(tokens))
    return runner.forward(batch).float()


def check_second_owner(paged: PreTrainedModel, plain: PreTrainedModel, max_tokens: int = 30) -> None:
    """Whoever gets blocks that another request has filled reads nothing of it."""
    engine = Paged(paged, num_blocks=8, caching=False)
    for number, (seed, count) in enumerate(((200, 60), (201, 5), (202, 33), (203, 18))):
        asked = random_prompt(seed, count)
        assert engine.greedy([asked], max_tokens) == [generate(plain, asked, max_tokens)], f"owner {number}"
    assert max(engine.pool.state.generation) > 1, "no block had a second owner"


class NewTensors(TorchDispatchMode):
    """Within this context, ``largest`` is the bytes of the largest tensor that any operation made, and did not just view."""

    largest = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        given = {storage_of(tensor) for tensor in tree_leaves((args, kwargs)) if torch.is_tensor(tensor)}
        for tensor in tree_leaves(out):
            if torch.is_tensor(tensor) and storage_of(tensor) not in given:
                self.largest = max(self.largest, tensor.untyped_storage().nbytes())
        return out


def storage_of(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def check_broadcast() -> None:
    """Attention of 8 heads over 2 KV heads makes no tensor that is larger than the keys of the context, once a KV head."""
    generator = torch.Generator().manual_seed(1)
    keys, values = torch.randn(2, 20, 8, 2, 16, generator=generator)
    slots, longest = torch.randperm(160, generator=generator)[:150].view(3, 50), 50
    rows = torch.randn(3, 8, 16, generator=generator)
    once = longest * 2 * 16 * 4
    seen = torch.ones(3, longest, dtype=torch.bool)
    for softcap in (None, 5.0):
        # Not in inference mode, which hides what an operation is made of.
        with torch.no_grad(), NewTensors() as decoded:
            attention.decode_attention(rows, keys, values, slots, seen, 0.25, softcap)
        assert decoded.largest == 3 * once, "a decode copies KV heads"
        with torch.no_grad(), NewTensors() as prefilled:
            attention.prefill_attention(rows, keys, values, slots[0], seen, 0.25, softcap)
        assert prefilled.largest == once, "a prefill copies KV heads"
