"""One forward of a decoder of transformers over a batch: tokens in, keys and values to their slots, logits out."""

import inspect

import torch
from transformers import PreTrainedModel

from kvarium_engine.model.attention import attending
from kvarium_engine.model.batch import Batch
from kvarium_engine.model.kv_cache import KVCache


def forward(model: PreTrainedModel, batch: Batch, cache: KVCache) -> torch.Tensor:
    """The logits ``[rows, vocabulary]`` of a batch's ``rows``; ``cache`` then has the keys and values of its tokens.

    A model that can't be told which tokens' logits are wanted makes those of all.
    """
    told = "logits_to_keep" in inspect.signature(model.forward).parameters
    with torch.inference_mode(), attending(batch, cache):
        logits: torch.Tensor = model(
            input_ids=batch.input_ids[None],
            position_ids=batch.positions[None],
            use_cache=False,
            **({"logits_to_keep": batch.rows} if told else {}),
        ).logits[0]
    return logits if told else logits[batch.rows]
