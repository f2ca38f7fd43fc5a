"""The demo's engine: a small model on a small pool, so that all that a paged engine does happens before one's eyes.

torch    is there?  ──no──▶  what to install, and how to see an engine without a model
model    is there?  ──no──▶  it is fetched, in a process of the engine's own
"""

import importlib.util
import signal
import subprocess
import sys
from collections.abc import Sequence

from kvarium.errors import KvariumError
from kvarium.launch import EngineStandby, die_with_parent, option_of

MODEL = "smollm2-135m"
_NEEDED = ("torch", "transformers", "safetensors")
_SIZED_BY = ("--num-gpu-blocks-override", "--kv-cache-memory-bytes", "--gpu-memory-utilization")
_BLOCKS = "96"
_SEATS = "16"
_CHUNK = "128"
"""Tokens a step: a long prompt is read in several, between which others go on, and one sees it come."""


class ExtraMissingError(KvariumError):
    """The engine's runner for models is not installed here."""

    exit_code = 2


def _check_packages() -> None:
    for package in _NEEDED:
        if importlib.util.find_spec(package) is None:
            raise ExtraMissingError(
                f"{package} is not installed here, and a model needs it: pip install 'kvarium[engine]'; "
                "without a model: kvarium demo --runner null"
            )


def engine_options(given: Sequence[str], runner: str, model: str) -> list[str]:
    """The options of the demo's engine: those that are ``given`` prevail.

    With a model it runs the demo's conversations; with another ``runner`` what that runs by itself. Raises
    :class:`ExtraMissingError` where no model can be run.
    """
    if runner != "torch":
        return ["--runner", runner, *given]
    _check_packages()

    def gives(*names: str) -> bool:
        return any(option.partition("=")[0] in names for option in given)

    options = ["--runner", "torch", "--model", model, "--demo"]
    if not gives(*_SIZED_BY):
        options += ["--num-gpu-blocks-override", _BLOCKS]
    if not gives("--max-num-seqs"):
        options += ["--max-num-seqs", _SEATS]
        if not gives("--max-num-batched-tokens"):
            options += ["--max-num-batched-tokens", _CHUNK]
    return [*options, *given]


def fetch_if_missing(options: Sequence[str], standby: EngineStandby) -> bool:
    """Fetch the model if that is what the engine's check of its ``options`` lacks; says whether it was fetched.

    The engine names the command that fetches it. Ends with the fetch's exit status where it fails.
    """
    status, told = standby.wait()
    model = option_of(options, "--model")
    if status != 2 or model is None or f"kvarium models fetch {model}" not in told:
        return False
    print(f"the model {model} is not here yet: it is fetched once", flush=True)
    status = _fetch(model)
    if status:
        raise SystemExit(status)
    return True


def _fetch(model: str) -> int:
    """Fetch a model, with its progress on this terminal; the exit status. Ctrl-C ends it cleanly."""
    # A session of its own: Ctrl-C reaches this process alone, which passes it on once.
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "kvarium.cli", "models", "fetch", model],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=die_with_parent(),
    )
    while True:
        try:
            status = process.wait()
            return status if status >= 0 else 128 - status
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
