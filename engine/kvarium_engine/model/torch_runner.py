"""The torch runner: a decoder of transformers, unchanged, on a paged cache.

plan ──▶ copies (copy-on-write) ──▶ batch ──▶ forward ──▶ logits of the wanted rows ──▶ sampler ──▶ tokens
         before anything is written           each layer writes K and V to its slots, and attends through block tables
"""

from collections.abc import Sequence

import torch
from transformers import PreTrainedModel

from kvarium_engine.kernels.backend import Backend
from kvarium_engine.kernels.fp8 import Scales
from kvarium_engine.memory.block_norms import BlockNorms
from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.model.adjust import Adjustment
from kvarium_engine.model.attention import NAME
from kvarium_engine.model.batch import Batch, Sample, samples_of
from kvarium_engine.model.candidates import Beam, candidates
from kvarium_engine.model.cuda_graphs import CudaRecorder, DecodeGraphs, Recorder
from kvarium_engine.model.forward import forward
from kvarium_engine.model.geometry import Geometry, geometry_of
from kvarium_engine.model.kv_cache import KVCache
from kvarium_engine.model.logprobs import Asked, logprobs_of
from kvarium_engine.model.sampler import Draw, sample
from kvarium_engine.scheduling.beam import candidates_of
from kvarium_engine.scheduling.sequence import Sequence as DecodeSequence
from kvarium_engine.scheduling.step_plan import StepPlan
from kvarium_engine.scheduling.stopping import barred_tokens
from kvarium_engine.vocabulary import Vocabulary

_SEED_STRIDE = 0x9E3779B97F4A7C15


class TorchRunner:
    """Runs ``model`` where it lies, with a cache of ``num_blocks`` blocks.

    Its keys and values are of ``kv_dtype`` (None: of the model's), in FP8 with ``kv_scales``, a pair for each layer (None:
    all are 1). The kernels of ``backend`` write and read them.

    The model must have been loaded with the attention function of :mod:`kvarium_engine.model.attention`
    (:func:`kvarium_engine.model.loader.load_model` does that); raises :class:`ValueError` otherwise. ``seed`` is used for
    requests that give none.
    """

    name = "torch"
    has_logits = True

    def __init__(
        self,
        model: PreTrainedModel,
        vocabulary: Vocabulary | None,
        name: str,
        num_blocks: int,
        block_size: int = 16,
        seed: int = 0,
        kv_dtype: torch.dtype | None = None,
        kv_scales: Sequence[Scales] | None = None,
        backend: Backend = "torch",
    ) -> None:
        if model.config._attn_implementation != NAME:
            raise ValueError(f"the model attends by {model.config._attn_implementation!r}, not by {NAME!r}")
        self.model = name
        self.vocabulary: Vocabulary | None = vocabulary
        self.geometry: Geometry = geometry_of(model.config.get_text_config().to_dict())
        self.vocab_size = self.geometry.vocab_size
        self.eos_tokens = eos_tokens_of(model)
        self.device = device_name(model.device)
        self.dtype = str(model.dtype).removeprefix("torch.")
        self.cache = KVCache(
            self.geometry, num_blocks, block_size, kv_dtype or model.dtype, model.device, kv_scales, backend
        )
        self.kv_bytes_per_block = self.cache.bytes_per_block
        self._module: PreTrainedModel | None = model.eval().requires_grad_(False)
        self.graphs: DecodeGraphs | None = None
        """What decodes are launched by; None: one kernel after the other."""
        self._seed = seed

    def execute(self, plan: StepPlan) -> list[int]:
        """Run the step; see :class:`kvarium_engine.scheduling.step_plan.Runner`."""
        with torch.inference_mode():
            self.cache.copy(plan.copies)
            cache = self.cache
            logits = self.forward(Batch(plan, cache.block_size, cache.pool.device, cache.backend))
            samples = list(samples_of(plan))
            if not samples:
                return []
            tokens = sample(logits, [item.row for item in samples], [self._draw(item) for item in samples])
            asked = [
                Asked(number, item.row, tokens[number], count)
                for number, item in enumerate(samples)
                if (count := item.sequence.request.params.logprobs) is not None
            ]
            if asked:
                plan.logprobs = logprobs_of(logits, asked)
            searching = [item for item in samples if item.sequence.request.params.beam_width is not None]
            if searching:
                found = candidates(logits, [self._beam(item) for item in searching])
                plan.candidates = {
                    item.sequence.id: each for item, each in zip(searching, found, strict=True)
                }
            return tokens

    def forward(self, batch: Batch) -> torch.Tensor:
        """Compute a batch: keys and values go to their slots; the logits ``[rows, vocabulary]`` of its ``rows`` come back.

        They are good until the next batch.
        """
        if self.graphs is not None and (logits := self.graphs.replay(batch)) is not None:
            return logits
        return self._eager(batch)

    def capture(self, sizes: tuple[int, ...], max_model_len: int, recorder: Recorder | None = None) -> None:
        """See :meth:`kvarium_engine.model.profiling.CardRunner.capture`; ``recorder`` None: one of CUDA graphs."""
        self.graphs = None
        device = self.cache.pool.device
        blocks = blocks_for(max_model_len, self.cache.block_size)
        self.graphs = DecodeGraphs(self._eager, sizes, blocks, device, recorder or CudaRecorder(device))

    def _eager(self, batch: Batch) -> torch.Tensor:
        module = self._module
        assert module is not None, "the runner was closed"
        return forward(module, batch, self.cache)

    def _draw(self, item: Sample) -> Draw:
        request = item.sequence.request
        params = request.params
        if params.beam_width is not None:
            return Draw(0.0, 0, 1.0, 0, 0, 0)  # the token means nothing: its candidates do
        # Apart from each other, and from the seeds that requests give themselves.
        seed = params.seed if params.seed is not None else (self._seed + 1) * _SEED_STRIDE + request.id
        return Draw(
            params.temperature,
            params.top_k,
            params.top_p,
            seed,
            item.sequence_index,
            item.sequence.length,
            params.min_p,
            self._adjustment(item.sequence) if params.changes_logits else None,
        )

    def _beam(self, item: Sample) -> Beam:
        params = item.sequence.request.params
        adjustment = self._adjustment(item.sequence) if params.changes_logits else None
        return Beam(item.row, candidates_of(params, self.eos_tokens), adjustment)

    def _adjustment(self, sequence: DecodeSequence) -> Adjustment | None:
        request, params = sequence.request, sequence.request.params
        barred = barred_tokens(sequence, self.eos_tokens)
        if not (barred or params.logit_bias or params.penalizes):
            return None
        return Adjustment(
            sequence.tokens,
            request.prompt_tokens,
            barred,
            params.logit_bias,
            params.repetition_penalty,
            params.frequency_penalty,
            params.presence_penalty,
        )

    def norms(self, block: int, first: int, last: int) -> BlockNorms:
        """What a block holds on the device; see :class:`kvarium_engine.scheduling.step_plan.Runner`."""
        return self.cache.norms(block, first, last)

    def close(self) -> None:
        """Let go of the model and of its graphs; the process that ends gives the memory back."""
        self.graphs = None
        self._module = None


def eos_tokens_of(model: PreTrainedModel) -> frozenset[int]:
    """The tokens that end a sequence, as the model's generation config has them, else its config."""
    for config in (model.generation_config, model.config):
        found = getattr(config, "eos_token_id", None)
        if found is not None:
            return frozenset([found] if isinstance(found, int) else found)
    return frozenset()


def device_name(device: torch.device) -> str:
    """``cpu``, or ``cuda:`` with the card's name."""
    if device.type == "cuda":
        return f"cuda: {torch.cuda.get_device_name(device)}"
    return device.type
