"""What an adapter must remember of a vLLM's request."""

from __future__ import annotations

from vllm.v1.request import Request

from kvarium_ledger.decisions import State
from kvarium_ledger.operations import Cause


class Known:
    """What the ledger has told of a request: its numbers, where it stands, its block table and the contents in it."""

    def __init__(self, number: int, request: Request, place: float, precedence: int) -> None:
        self.number = number
        self.request = request
        self.state: State = "waiting"
        self.place = place
        self.precedence = precedence
        self.table: list[int] = []
        self.contents: list[int] = []
        self.waits_for_blocks = False


class Serving:
    """One call of ``allocate_slots``: the slots ``start`` … ``end - 1`` of a request."""

    def __init__(self, known: Known, start: int, end: int) -> None:
        self.known = known
        self.start = start
        self.end = end
        self.filled = False
        decode = end - start == 1 and end == known.request.num_tokens and known.request.num_output_tokens > 0
        self.cause = Cause.decode if decode else Cause.prefill
