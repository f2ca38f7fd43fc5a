"""A recorder without a card: what it records is run again, into the same memory, as a CUDA graph would."""

from collections.abc import Callable

import torch

from kvarium_engine.model.cuda_graphs import Recording


class Rerun:
    """``sizes``: the rows of the logits of what was recorded, in order; ``replays``: of what was launched again."""

    def __init__(self, device: torch.device | None = None) -> None:
        self.sizes: list[int] = []
        self.replays: list[int] = []

    def record(self, run: Callable[[], torch.Tensor]) -> Recording:
        with torch.inference_mode():
            logits = run().clone()
        self.sizes.append(len(logits))

        def replay() -> None:
            self.replays.append(len(logits))
            with torch.inference_mode():
                logits.copy_(run())

        return Recording(replay, logits)
