"""A whole paged engine around a model, without a process: prompts in, tokens out, and a mirror that checks each step."""

from array import array
from collections.abc import Iterable, Sequence

import torch
from transformers import PreTrainedModel

from kvarium_engine.model.torch_runner import TorchRunner
from kvarium_engine.scheduling.request import Request
from kvarium_engine.scheduling.sampling_params import SamplingParams
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
    ) -> None:
        self.runner = TorchRunner(model, vocabulary, "test", num_blocks, block_size, seed)
        super().__init__(
            num_blocks,
            block_size,
            budget,
            seqs=min(32, budget),
            runner=self.runner,
            audit_interval=8,
            caching=caching,
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


def generate(model: PreTrainedModel, prompt: Sequence[int], max_tokens: int = 100) -> list[int]:
    """What transformers' own ``generate`` makes of a prompt, greedily, with its own cache and attention."""
    model.generation_config.eos_token_id = None
    with torch.inference_mode():
        ids = torch.tensor([list(prompt)])
        out = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=max_tokens,
            pad_token_id=0,
        )
    return out[0, len(prompt) :].tolist()
