"""A CUDA card's memory, as torch tells it."""

import torch

from kvarium_engine.card_memory import DeviceMemory


class CudaMemory:
    """See :class:`kvarium_engine.card_memory.DeviceMemory`.

    What torch's allocator *reserves* counts, not what tensors fill of it: that is what is gone from the card.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self.device = f"cuda: {torch.cuda.get_device_name(device)}"
        self.total: int = torch.cuda.mem_get_info(device)[1]

    def free(self) -> int:
        torch.cuda.synchronize(self._device)
        free: int = torch.cuda.mem_get_info(self._device)[0]
        return free

    def held(self) -> int:
        held: int = torch.cuda.memory_reserved(self._device)
        return held

    def peak(self) -> int:
        peak: int = torch.cuda.max_memory_reserved(self._device)
        return peak

    def reset_peak(self) -> None:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(self._device)


def memory_of(device: torch.device) -> DeviceMemory | None:
    """The memory of a card; None for a CPU, whose memory is not the engine's to share out."""
    return CudaMemory(device) if device.type == "cuda" else None
