"""The worker: runs parts one after the other on the card, and writes a line of JSON for each.

    python -m kvarium_engine.gpu_check.worker [--tiny-model FILE] PART …
    {"ready": "cuda"}
    {"name": "write_kv", "state": "passed", "seconds": 2.1, "facts": {…}}

After an error that leaves the card unusable for this process it ends, so that the next part gets a fresh one. Without a card, Triton's
kernels are interpreted: that is decided by the environment before Triton is imported, so here.
"""

import argparse
import importlib
import json
import os
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

from kvarium_engine.gpu_check.part import PARTS, FailedError, Part, Run, Setting, SkippedError

BROKEN_CARD = 3
"""The exit status after an error that leaves the card unusable."""


def main() -> int:
    """Run the parts that are named; the exit status says whether all were run, not how they ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tiny-model", type=Path)
    parser.add_argument("parts", nargs="+")
    asked = parser.parse_args()
    # What anything prints goes to standard error: the lines of JSON have standard output for themselves.
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def tell(told: dict[str, Any]) -> None:
        print(json.dumps(told), file=lines, flush=True)

    device = prepare()
    tell({"ready": device})
    for part in PARTS:
        if part.name not in asked.parts:
            continue
        tell(outcome(part, Setting(device, time.monotonic() + part.seconds, asked.tiny_model)))
        if device == "cuda" and not card_works():
            return BROKEN_CARD
    return 0


def prepare() -> str:
    """Import what is large, and say on which type of device all is done."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    os.environ["TRITON_INTERPRET"] = "0" if device == "cuda" else "1"
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    warnings.simplefilter("ignore")
    return device


def outcome(part: Part, setting: Setting) -> dict[str, Any]:
    """Run one part, whatever comes of it."""
    began = time.monotonic()
    told: dict[str, Any] = {"name": part.name, "state": "passed", "facts": {}}
    try:
        module = importlib.import_module(f"kvarium_engine.gpu_check.{part.module}")
        run: Run = getattr(module, part.function)
        told["facts"] = run(setting)
    except SkippedError as skipped:
        told |= {"state": "skipped", "why": str(skipped)}
    except FailedError as failed:
        told |= {"state": "failed", "why": str(failed), "facts": failed.facts}
    except Exception as error:  # what it is worth is told by the report: the other parts go on
        traceback.print_exc()
        lines = str(error).strip().splitlines() or [""]
        told |= {"state": "failed", "why": f"{type(error).__name__}: {lines[0]}".rstrip(": ")}
    return {**told, "seconds": round(time.monotonic() - began, 2)}


def card_works() -> bool:
    """Does the card still answer this process? What the last part held is given back."""
    import gc

    import torch

    gc.collect()
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        return bool((torch.ones(8, device="cuda").sum() == 8).item())
    except RuntimeError:
        return False


if __name__ == "__main__":
    sys.exit(main())
