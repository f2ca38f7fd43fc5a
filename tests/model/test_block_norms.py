"""The norms of what a block holds are those of the keys and values that the model computes."""

import pytest
import torch

from kvarium_engine.kernels.fp8 import FP8
from kvarium_engine.memory.block_norms import BlockNorms
from tests.model.paged import Paged, random_prompt
from tests.model.tiny import made, small_llama


def expected(prompt: list[int], first: int, last: int) -> BlockNorms:
    """Of the prompt's places from ``first`` to before ``last``: rotary positions turn a key and leave its norm."""
    plain = made(small_llama(), attention="sdpa")
    made_of: dict[str, list[float]] = {"k_proj": [], "v_proj": []}

    def keep(name: str, numbers: torch.Tensor) -> None:
        heads = numbers[0, first:last].unflatten(-1, (2, -1))
        made_of[name] += heads.norm(dim=-1).mean(dim=0).tolist()

    for layer in plain.model.layers:
        for name in made_of:
            getattr(layer.self_attn, name).register_forward_hook(
                lambda _module, _asked, numbers, name=name: keep(name, numbers)
            )
    with torch.inference_mode():
        plain(input_ids=torch.tensor([prompt]))
    return BlockNorms(2, 2, made_of["k_proj"], made_of["v_proj"])


@pytest.mark.parametrize(
    ("kv_dtype", "scale", "error"), [(None, 1.0, 1e-5), (FP8, 1.0, 0.1), (FP8, 0.25, 0.1)]
)
def test_the_norms_of_a_block_are_those_of_its_places(
    kv_dtype: torch.dtype | None, scale: float, error: float
) -> None:
    prompt = random_prompt(7, 40)
    engine = Paged(made(small_llama()), kv_dtype=kv_dtype)
    engine.runner.cache.scales[:] = [(scale, scale)] * 2
    # One after another, so that the blocks that are looked at are not the first of the pool.
    engine.greedy([random_prompt(8, 30)], 20)
    request = engine.ask(prompt)
    engine.step()
    [sequence] = request.live
    assert sequence.table != [0, 1, 2]
    for place, (first, last) in ((0, (0, 16)), (1, (3, 4)), (2, (0, 8))):
        found = engine.runner.norms(sequence.table[place], first, last)
        wanted = expected(prompt, place * 16 + first, place * 16 + last)
        assert (found.layers, found.kv_heads) == (wanted.layers, wanted.kv_heads) == (2, 2)
        assert found.key == pytest.approx(wanted.key, rel=error)
        assert found.value == pytest.approx(wanted.value, rel=error)
