"""The model of a bench: loaded once, with a runner, and so a cache, for each thing that is measured."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvarium_engine.kernels.backend import choose_backend
from kvarium_engine.model.choice import ModelChoice
from kvarium_engine.scheduling.step_plan import Runner
from kvarium_engine.vocabulary import Vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A ``module`` for paged attention; ``name`` and ``device`` as an engine tells them. Without a tokenizer, no ``vocabulary``."""

    name: str
    device: str
    module: "PreTrainedModel"
    vocabulary: Vocabulary | None

    def runner(self, num_blocks: int, block_size: int) -> Runner:
        """A runner with a cache of so many blocks of so many tokens, on the same weights."""
        from kvarium_engine.model.torch_runner import TorchRunner

        backend = choose_backend("auto", self.module.device.type, block_size)
        return TorchRunner(self.module, self.vocabulary, self.name, num_blocks, block_size, backend=backend)


def load_for_bench(choice: ModelChoice) -> LoadedModel:
    """The model that was chosen, fetched if the hub has it, on the device and with the threads that an engine takes.

    Raises :class:`~kvarium_engine.errors.UsageError` in one line where it can't be had.
    """
    from kvarium_engine.model.loader import choose_device, fetch_chosen, load_chosen, use_threads
    from kvarium_engine.model.tokenizer import load_tokenizer
    from kvarium_engine.model.torch_runner import device_name

    use_threads()
    device = choose_device()
    fetch_chosen(choice)
    module = load_chosen(choice, device)
    return LoadedModel(choice.name, device_name(device), module, load_tokenizer(choice.folder))
