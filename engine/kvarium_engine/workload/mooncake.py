"""Recorded traces in Mooncake's format: one JSON object a line, a request each, in the order of arrival.

    {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, …, 2366]}

``timestamp`` is in ms. ``hash_ids`` name the contents of the prompt's blocks of 512 tokens, the last one partly filled: equal ids
are equal tokens, so requests share prefixes as the real ones did. Tokens are seeded by the hash id, so that they are
equal at every block size of ours too.
"""

import math
import time
from array import array
from dataclasses import dataclass
from pathlib import Path

import msgspec

from kvarium_engine.engine import Engine
from kvarium_engine.errors import UsageError
from kvarium_engine.memory.block_table import blocks_for
from kvarium_engine.model.seeded_tokens import seeded_tokens
from kvarium_engine.scheduling.sampling_params import MOST_TOKENS, SamplingParams

HASH_BLOCK = 512
"""Tokens in a block of the trace."""


class TraceRequest(msgspec.Struct, frozen=True):
    """One line of a trace: when (ms), how many tokens in and out, and the ids of the prompt's 512-token blocks."""

    timestamp: float
    input_length: int
    output_length: int
    hash_ids: list[int]

    def prompt(self) -> "array[int]":
        """The prompt's token ids (u32)."""
        tokens = array("I")
        for hash_id in self.hash_ids:
            tokens.extend(seeded_tokens(hash_id, HASH_BLOCK))
        del tokens[self.input_length :]
        return tokens


_decoder = msgspec.json.Decoder(TraceRequest)


def _check(request: TraceRequest) -> str | None:
    """What is wrong with a line, or None."""
    for name in ("input_length", "output_length"):
        if getattr(request, name) < 1:
            return f"{name} is {getattr(request, name)}, it must be at least 1"
        if getattr(request, name) > MOST_TOKENS // 2:
            return f"{name} is {getattr(request, name)}, it must be at most {MOST_TOKENS // 2}"
    if not request.timestamp >= 0:
        return f"timestamp is {request.timestamp}, it must not be negative"
    wanted = blocks_for(request.input_length, HASH_BLOCK)
    if len(request.hash_ids) != wanted:
        return (
            f"hash_ids has {len(request.hash_ids)} ids, but input_length {request.input_length} fills {wanted} "
            f"blocks of {HASH_BLOCK} tokens"
        )
    return None


def read_trace(path: Path) -> list[TraceRequest]:
    """Read and check a trace. Raises :class:`UsageError` with the line's number and the value that is wrong."""
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"the trace {path} is not a regular file: a server reads it more than once")
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"the trace {path} can't be read: {error.strerror or error}") from None
    requests: list[TraceRequest] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            request = _decoder.decode(line)
        except msgspec.ValidationError as error:
            raise UsageError(f"{path}, line {number}: {error}: {_shown(line)}") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{path}, line {number}: not JSON ({error}): {_shown(line)}") from None
        fault = _check(request)
        if fault is None and requests and request.timestamp < requests[-1].timestamp:
            fault = f"timestamp {request.timestamp} is before the one above it, {requests[-1].timestamp}"
        if fault is not None:
            raise UsageError(f"{path}, line {number}: {fault}")
        requests.append(request)
    if not requests:
        raise UsageError(f"the trace {path} holds no request")
    return requests


def _shown(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    return text if len(text) <= 120 else text[:117] + "…"


@dataclass(frozen=True, slots=True)
class TraceSize:
    """The longest request of a trace: ``tokens`` of prompt and output, and the ``blocks`` that it needs."""

    tokens: int
    blocks: int


def size_of(requests: list[TraceRequest], block_size: int) -> TraceSize:
    """How large an engine has to be to serve every request of a trace."""
    tokens = max(request.input_length + request.output_length for request in requests)
    return TraceSize(tokens, blocks_for(tokens - 1, block_size))


class Trace:
    """Submits a trace: at its time stamps ÷ ``speed``, or, at speed 0, as fast as the engine takes it.

    At speed 0 no more than ``backlog`` requests wait at once: more would only make the queue longer, as their order
    stays the same.
    """

    def __init__(self, requests: list[TraceRequest], speed: float = 1.0, backlog: int = 16) -> None:
        if not 0 <= speed < math.inf:
            raise UsageError(f"--speed must be a number from 0 on, not {speed}")
        self.requests = requests
        self.speed = speed
        self.backlog = backlog
        self._next = 0
        self._began: float | None = None
        self._first = requests[0].timestamp

    @property
    def done(self) -> bool:
        """All requests were submitted."""
        return self._next >= len(self.requests)

    def _due(self) -> float:
        """Seconds until the next request is due."""
        if self._began is None:
            self._began = time.monotonic()
        wait = (self.requests[self._next].timestamp - self._first) / 1000 / self.speed
        return self._began + wait - time.monotonic()

    def feed(self, engine: Engine) -> None:
        """Submit what is due."""
        waiting = engine.scheduler.roster.waiting
        while not self.done:
            if len(waiting) >= self.backlog if self.speed == 0 else self._due() > 0:
                return
            request = self.requests[self._next]
            params = SamplingParams(max_tokens=request.output_length, ignore_eos=True)
            engine.scheduler.submit(request.prompt(), params, name=f"trace-{self._next}")
            self._next += 1

    def pause(self, engine: Engine) -> float:
        """Seconds until the next request is due."""
        return 0.0 if self.speed == 0 or self.done else max(0.0, self._due())
