"""One part of the check: what it is given, and the ways in which it ends.

passed    its facts, by name
failed    what is wrong, and the facts as far as they came
skipped   why it was not done here
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

Facts = dict[str, Any]
"""What a part has found, by name; goes into the JSON as it is."""


class FailedError(Exception):
    """Something is wrong; its text says what, with the values. ``facts``: what was found until then."""

    def __init__(self, message: str, facts: Facts) -> None:
        super().__init__(message)
        self.facts = facts


class SkippedError(Exception):
    """The part can't be done here; its text says why."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a part runs: ``device`` is cuda or cpu; ``deadline``: when it has to end, by :func:`time.monotonic`.

    ``tiny_model``: a file of llama2.c, or None.
    """

    device: str
    deadline: float
    tiny_model: Path | None = None

    @property
    def on_card(self) -> bool:
        """Is there a card? Else all is small."""
        return self.device == "cuda"

    @property
    def left(self) -> float:
        """Seconds until the part has to end."""
        return self.deadline - time.monotonic()

    def say(self, line: str) -> None:
        """Tell a person how far it is."""
        print(f"  {line}", file=sys.stderr, flush=True)


class Part(NamedTuple):
    """``seconds``: its budget, after which it is ended; ``module`` of this package has its ``run(setting)``, by the name ``function``.

    Where it measures something that is not ``ours``, that it does not run here says nothing of the engine.
    """

    name: str
    seconds: float
    module: str
    function: str
    ours: bool = True


PARTS = (
    Part("environment", 10, "environment", "environment"),
    Part("write_kv", 15, "pool_kernels", "check_write_kv"),
    Part("copy_blocks", 10, "pool_kernels", "check_copy_blocks"),
    Part("decode_attention", 40, "attention_kernels", "check_decode"),
    Part("prefill_attention", 40, "attention_kernels", "check_prefill"),
    Part("engine_tokens", 45, "engine_tokens", "check_tokens"),
    Part("tiny_model", 15, "tiny_model", "check_text"),
    Part("card_memory", 40, "card_share", "check_share"),
    Part("decode_bandwidth", 20, "bandwidth", "measure"),
    Part("step_time", 35, "step_time", "measure"),
    Part("ledger_cost", 30, "ledger_cost", "measure"),
    Part("throughput", 45, "throughput", "measure"),
    Part("continuous_batching", 45, "throughput", "measure_continuous_batching", ours=False),
)
"""In this order: what is wrong shows before what is slow. Their budgets together are more than the whole may take, as most need less."""

START_S = 150.0
"""How long a worker may take to import torch and transformers: from a cold or distant disk it is minutes, and the next one would not be faster."""
TOTAL_S = 285.0
"""The whole check; what is not begun by then is told as not run."""

Run = Callable[[Setting], Facts]
