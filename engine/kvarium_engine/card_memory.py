"""How a card's memory is shared out, by vLLM's ``gpu_memory_utilization``: it bounds the whole engine, not the cache alone.

    total × utilization                                                         total
    ├─ weights ─┬─ the largest step ─┬─ CUDA graphs ─┬─ other ─┬─ keys and values ──────────────┤┄┄┄┄ left alone ┄┄┄┄┤
                └ measured by a profiling run ────────────────┘ └ what remains

*Other* is what the process takes beside its tensors: code of kernels, workspaces of libraries.

What became of it once the engine is ready is told in the handshake (:class:`MemoryShares`), for whoever draws it.
"""

from dataclasses import dataclass
from typing import Protocol

from kvarium_engine.capacity import GIB
from kvarium_engine.errors import UsageError

GPU_MEMORY_UTILIZATION = 0.9
"""What the engine takes of a card when nothing is said."""


class DeviceMemory(Protocol):
    """A card's memory, in bytes."""

    total: int
    device: str

    def free(self) -> int:
        """What is free, whoever has the rest."""
        ...

    def held(self) -> int:
        """What this process holds for its tensors, with the room between them."""
        ...

    def peak(self) -> int:
        """The most that it has held since :meth:`reset_peak`."""
        ...

    def reset_peak(self) -> None:
        """Give back what is held for no tensor, and begin anew to look for the peak."""
        ...


@dataclass(frozen=True, slots=True)
class CardUse:
    """What an engine takes of a card of ``total`` bytes besides keys and values.

    ``free``: what was free before it began; ``step``: what the largest step takes beside the weights, at its peak; ``graphs``: what
    all CUDA graphs are estimated to take, 0 where none are recorded.
    """

    total: int
    free: int
    weights: int
    step: int
    other: int = 0
    graphs: int = 0

    @property
    def needed(self) -> int:
        """Bytes that the engine takes without a cache."""
        return self.weights + self.step + self.graphs + self.other

    def told(self, utilization: float) -> str:
        """The shares, for a person."""
        return (
            f"{utilization:g} of {self.total / GIB:.2f} GiB are {self.total * utilization / GIB:.2f}: weights "
            f"{self.weights / GIB:.2f}, largest step {self.step / GIB:.2f}, "
            + (f"CUDA graphs {self.graphs / GIB:.2f}, " if self.graphs else "")
            + f"other {self.other / GIB:.2f}"
        )


@dataclass(frozen=True, slots=True)
class MemoryShares:
    """What a device's memory is taken by once the engine is ready, in bytes; None: not known.

    Of a card all of it together is ``total``, where ``activations`` are known: what the largest step takes at its peak, which is
    free between two steps and not counted as ``free``. ``other`` is what is in use besides, whoever has it.
    """

    weights: int
    kv_cache: int
    total: int | None = None
    activations: int | None = None
    graphs: int | None = None
    other: int | None = None
    free: int | None = None

    @classmethod
    def of_card(
        cls, total: int, free: int, weights: int, kv_cache: int, graphs: int, step: int | None
    ) -> "MemoryShares":
        """Of a card of ``total`` bytes of which ``free`` are: ``step`` of these the largest step takes, if that was measured."""
        other = max(0, total - free - weights - kv_cache - graphs)
        activations = None if step is None else min(step, free)
        return cls(weights, kv_cache, total, activations, graphs, other, free - (activations or 0))


def kv_cache_bytes(use: CardUse, utilization: float) -> int:
    """What remains for keys and values. Raises :class:`UsageError` with the numbers where nothing does, or where others have it."""
    limit = int(use.total * utilization)
    if use.free < limit:
        raise UsageError(
            f"--gpu-memory-utilization {utilization:g} of the card's {use.total / GIB:.2f} GiB are "
            f"{limit / GIB:.2f} GiB, and only {use.free / GIB:.2f} GiB were free at the start: give "
            f"{_rounded_down(use.free / use.total)} or less, or end what else runs on the card"
        )
    remains = limit - use.needed
    if remains <= 0:
        what = (
            "take a larger card, a smaller --dtype or another model"
            if use.weights >= use.total
            else "raise --gpu-memory-utilization, or lower --max-num-batched-tokens and --max-num-seqs"
            if use.step
            else "raise --gpu-memory-utilization"
        )
        raise UsageError(f"nothing remains for keys and values: {use.told(utilization)} GiB: {what}")
    return remains


def _rounded_down(share: float) -> str:
    return f"{int(share * 100) / 100:g}"
