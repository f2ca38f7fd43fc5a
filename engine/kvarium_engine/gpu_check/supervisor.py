"""The supervisor: lets a worker run the parts, ends what takes too long, and begins anew after what has broken the worker.

    worker 1   write_kv ✓   decode_attention ✗ (illegal memory access: the card is lost to this process)
    worker 2                                     prefill_attention ✓   step_time … 40 s are over: ended
    worker 3                                                                                             throughput ✓

It imports no torch, so that nothing that torch does can stop it.
"""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import kvarium_engine
from kvarium_engine.gpu_check.part import START_S, TOTAL_S, Part
from kvarium_engine.gpu_check.worker import BROKEN_CARD

Told = dict[str, Any]
"""How a part ended: name, state, seconds, facts; and why, where it did not pass."""


WORKER = (sys.executable, "-m", "kvarium_engine.gpu_check.worker")


class Worker:
    """A process, started by ``command``, that runs ``parts``; :meth:`line` gives what it says."""

    def __init__(self, command: Sequence[str], parts: Sequence[Part], tiny_model: Path | None) -> None:
        options = [] if tiny_model is None else ["--tiny-model", str(tiny_model)]
        folder = str(Path(kvarium_engine.__file__).resolve().parent.parent)
        path = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [*command, *options, *(part.name for part in parts)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put(None)

    def line(self, seconds: float) -> Told | None:
        """The next thing that it says; None: it has ended. Raises :class:`TimeoutError` after so many seconds."""
        try:
            line = self._lines.get(timeout=max(0.0, seconds))
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            return None
        told: Told = json.loads(line)
        return told

    def status(self) -> int:
        """Its exit status, once it has nothing more to say."""
        try:
            return self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            return self.end()

    def end(self) -> int:
        """End it, if it has not ended; its exit status."""
        if self._process.poll() is None:
            self._process.kill()
        self._reader.join(timeout=5)
        return self._process.wait()


def run_parts(
    parts: Sequence[Part],
    tiny_model: Path | None = None,
    total: float = TOTAL_S,
    command: Sequence[str] = WORKER,
) -> list[Told]:
    """Run ``parts``, each within its budget and all within ``total`` seconds; how each ended. ``command`` starts a worker."""
    left = list(parts)
    deadline = time.monotonic() + total
    ended: list[Told] = []

    def end(told: Told) -> None:
        ended.append(told)
        why = f": {told['why']}" if "why" in told else ""
        say(f"{told['name']} {told['state']}, {told['seconds']:.1f} s{why}")

    while left and time.monotonic() < deadline:
        worker = Worker(command, left, tiny_model)
        try:
            began = time.monotonic()
            say("importing torch and transformers")
            why = _ready(worker, min(START_S, deadline - began))
            while left and why is None:
                part, began = left[0], time.monotonic()
                say(f"{part.name} …")
                budget = min(part.seconds + 1, deadline - began)
                try:
                    told = worker.line(budget)
                except TimeoutError:
                    why = f"it was ended after {budget:.0f} s, which is all that it may take"
                    break
                if told is None:
                    status = worker.status()
                    if status != BROKEN_CARD:
                        why = f"the process died (status {status})"
                    break
                left.pop(0)
                end(told)
            if why is not None:
                end(_unfinished(left.pop(0), why, time.monotonic() - began))
        finally:
            worker.end()
    for part in left:
        end(_unfinished(part, f"it was not begun: the {total:.0f} s of the whole check were over"))
    return ended


def _ready(worker: Worker, seconds: float) -> str | None:
    """Wait until a worker can begin; why it can't, or None."""
    try:
        if worker.line(seconds) is not None:
            return None
    except TimeoutError:
        return f"torch and transformers were not imported within {seconds:.0f} s"
    return f"torch and transformers can't be imported (status {worker.status()})"


def _unfinished(part: Part, why: str, seconds: float = 0.0) -> Told:
    return {
        "name": part.name,
        "state": "failed" if part.ours else "skipped",
        "why": why,
        "seconds": round(seconds, 2),
        "facts": {},
    }


def say(line: str) -> None:
    """Tell a person how far it is."""
    print(f"gpu-check: {line}", file=sys.stderr, flush=True)
