"""Log probabilities of sampled tokens: natural logs of the softmax of the model's own logits.

As vLLM's ``raw_logprobs``: before penalties, temperature, top-k, top-p and min-p, so they tell what the model said and
not how its words were chosen.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from kvarium_ledger.step_text import TokenLogprobs


class Asked(NamedTuple):
    """Of the ``number``-th sampled ``token``, which came of ``row`` of the logits, with ``top`` of the likeliest ones."""

    number: int
    row: int
    token: int
    top: int


def logprobs_of(logits: torch.Tensor, asked: Sequence[Asked]) -> list[TokenLogprobs]:
    """The log probabilities that are ``asked``, of ``logits`` ``[rows, vocabulary]``."""
    rows = logits[[item.row for item in asked]].log_softmax(dim=-1, dtype=torch.float32)
    tokens = torch.tensor([item.token for item in asked], device=logits.device)[:, None]
    own = rows.gather(-1, tokens)
    ranks = (rows >= own).sum(dim=-1).tolist()
    top = rows.topk(min(max(item.top for item in asked), rows.shape[1]), dim=-1)
    top_tokens, top_values = top.indices.tolist(), top.values.tolist()
    return [
        TokenLogprobs(
            item.number,
            logprob,
            ranks[place],
            top_tokens[place][: item.top],
            top_values[place][: item.top],
        )
        for place, (item, logprob) in enumerate(zip(asked, own[:, 0].tolist(), strict=True))
    ]
