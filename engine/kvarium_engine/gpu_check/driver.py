"""The engine as the check drives it: prompts in, steps one by one, greedy tokens out; no backend, nothing is recorded."""

import random
from array import array
from collections.abc import Sequence

from transformers import PreTrainedModel

from kvarium_engine.engine import Engine, EngineConfig
from kvarium_engine.kernels.backend import choose_backend
from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.model.capture_sizes import default_sizes
from kvarium_engine.model.geometry import geometry_of
from kvarium_engine.model.torch_runner import TorchRunner
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.scheduling.request import Request
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_ledger.ledger import Ledger

BLOCK_SIZE = 16


def random_prompts(count: int, tokens: int, vocabulary: int, seed: int = 0) -> list[list[int]]:
    """Prompts of so many tokens, all different, the same each time."""
    generator = random.Random(seed)
    return [[generator.randrange(2, vocabulary) for _ in range(tokens)] for _ in range(count)]


def runner_of(module: PreTrainedModel, num_blocks: int) -> TorchRunner:
    """A runner with so many blocks, and the kernels that an engine takes by itself."""
    heads = geometry_of(module.config.to_dict())
    backend = choose_backend("auto", module.device.type, BLOCK_SIZE, heads.head_dim)
    return TorchRunner(module, None, "gpu-check", num_blocks, BLOCK_SIZE, backend=backend)


class Driver:
    """An engine around ``module`` with room for ``sequences`` of ``max_model_len`` tokens each.

    ``budget``: tokens a step. The kernels are those that an engine takes by itself. On a card, decodes of ``capture_sizes`` are CUDA
    graphs; None: of the sizes that an engine takes by itself.
    """

    def __init__(
        self,
        module: PreTrainedModel,
        sequences: int,
        max_model_len: int,
        budget: int = 2048,
        capture_sizes: tuple[int, ...] | None = None,
    ) -> None:
        num_blocks = sequences * blocks_for(max_model_len, BLOCK_SIZE) + 1
        self.runner = runner_of(module, num_blocks)
        if self.runner.cache.backend == "triton" and module.device.type == "cuda":
            self.runner.capture(capture_sizes or default_sizes(sequences), max_model_len)
        config = EngineConfig(
            num_blocks, BLOCK_SIZE, SchedulerConfig(max(budget, sequences), sequences, max_model_len)
        )
        self.engine = Engine(config, self.runner, Ledger(lambda sealed: None))

    def ask(self, prompt: Sequence[int], max_tokens: int, n: int = 1) -> Request:
        """Submit a greedy request, of ``n`` sequences, that runs to its length."""
        params = SamplingParams(max_tokens=max_tokens, n=n, temperature=0.0, ignore_eos=True)
        return self.engine.scheduler.submit(array("I", prompt), params)

    def greedy(self, prompts: Sequence[Sequence[int]], max_tokens: int, n: int = 1) -> list[list[int]]:
        """The tokens of prompts that are submitted together, ``n`` times each: those of the first, then those of the next."""
        requests = [self.ask(prompt, max_tokens, n) for prompt in prompts]
        tokens: dict[tuple[int, int], array[int]] = {}
        while not self.engine.idle:
            self.engine.step()
            tokens |= {(each.id, one.index): one.tokens for each in requests for one in each.live}
        return [
            tokens[request.id, index][len(prompt) :].tolist()
            for request, prompt in zip(requests, prompts, strict=True)
            for index in range(n)
        ]

    def decode_until_steady(self) -> None:
        """Step until all that was asked decodes."""
        while True:
            plan = self.engine.step()
            if not plan.prefills and not self.engine.scheduler.roster.waiting:
                return

    def close(self) -> None:
        """End all requests, and let go of the cache."""
        self.engine.close()
