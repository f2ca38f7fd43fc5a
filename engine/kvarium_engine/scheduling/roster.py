"""The roster: every request in the engine, where it stands, and the decisions that move it.

What changes a request's state or place is told to the ledger here, with both before and after.
"""

from array import array
from collections import deque
from typing import TypedDict

from kvarium_engine.memory.block_pool import BlockPool
from kvarium_engine.memory.extra_keys import NO_KEYS, ExtraKeys
from kvarium_engine.scheduling.config import SchedulerConfig
from kvarium_engine.scheduling.request import Request, Stage
from kvarium_engine.scheduling.sampling_params import SamplingParams
from kvarium_engine.scheduling.sequence import Sequence
from kvarium_engine.scheduling.waiting_queue import WaitingQueue
from kvarium_ledger.decisions import (
    Aborted,
    Admitted,
    Finished,
    Preempted,
    Refused,
    SequenceCreated,
    SequenceDropped,
    State,
    Submitted,
    Waiting,
)
from kvarium_ledger.hit_statistics import HitStatistics
from kvarium_ledger.ledger import Ledger
from kvarium_ledger.operations import Cause

REMEMBERED = 64
"""Of so many requests that have ended, the tokens are kept, so that a conversation can go on."""


class _Before(TypedDict):
    state_before: State | None
    place_before: float | None


class Roster:
    """The requests of an engine, in two queues: ``waiting`` and ``running``; ``requests`` has both, by id.

    ``width`` is the number of sequences of the running ones.
    """

    def __init__(self, config: SchedulerConfig, pool: BlockPool, ledger: Ledger) -> None:
        self.config = config
        self.pool = pool
        self.ledger = ledger
        self.requests: dict[int, Request] = {}
        self.waiting = WaitingQueue()
        self.running: list[Request] = []
        self.width = 0
        self.hit_statistics = HitStatistics()
        """Of the prefix cache; nothing is counted where there is none."""
        self.ended: deque[Request] = deque(maxlen=REMEMBERED)
        """Those that have begun to run and ended since, the last one at the right."""
        self._names: dict[str, Request] = {}
        self._running_place = 0.0
        self._next_request = 0
        self._next_sequence = 0
        self._arrived: list[Request] = []
        """Waiting requests for which no reason was logged yet."""
        self._head: Request | None = None
        """Whose turn it was when a reason was logged last."""

    # -- coming -------------------------------------------------------------------------------------------------

    def submit(
        self,
        prompt: "array[int]",
        params: SamplingParams,
        name: str = "",
        priority: int = 0,
        text: str | None = None,
        keys: ExtraKeys = NO_KEYS,
    ) -> Request:
        """A request comes in. One that can never fit is refused at once: its ``state`` is None then.

        Raises :class:`ValueError` for what is not a request: no prompt, more sequences than may run, a name in use or one
        that is a number, as requests are found by their numbers too.
        """
        if not prompt:
            raise ValueError("a prompt has at least one token")
        if params.width > self.config.max_num_seqs:
            name_of_width = "n" if params.beam_width is None else "beam_width"
            raise ValueError(
                f"{name_of_width} = {params.width} is more than max_num_seqs = {self.config.max_num_seqs}"
            )
        if name.isdecimal():
            raise ValueError(f"{name!r} is a request's number: a name has something else than digits in it")
        if name in self._names:
            raise ValueError(f"a request named {name!r} is in the engine already")
        room = max(self.config.max_model_len - len(prompt), 0)
        precedence = self.config.precedence(priority, self.ledger.step + 1)
        most = room if params.max_tokens is None else min(params.max_tokens, room)
        request = Request(self._next_request, name, prompt, params, priority, most, keys, precedence)
        request.name = name or f"request-{request.id}"
        while request.name in self._names:
            request.name += "+"  # somebody has taken it
        request.reserved_blocks = self.pool.reserved_blocks(request.prompt_tokens, most)
        self._next_request += 1
        request.state, request.waits_since = "waiting", self.ledger.now()
        request.place = self.waiting.append(request)
        self.requests[request.id] = request
        self._names[request.name] = request
        ledger = self.ledger
        ledger.prompt(request.id, prompt.tobytes(), text)
        ledger.decide(
            Submitted(
                op=ledger.op,
                request=request.id,
                state_after="waiting",
                place_after=request.place,
                name=request.name,
                prompt_tokens=request.prompt_tokens,
                max_tokens=most,
                n=params.n,
                priority=priority,
                beam_width=params.beam_width,
                precedence=precedence,
                lora_name=keys.lora_name,
                cache_salt=keys.cache_salt,
            )
        )
        refusal = self._refusal(request)
        if refusal is None:
            self._arrived.append(request)
        else:
            message, needs, has, unit = refusal
            ledger.decide(
                Refused(
                    op=ledger.op,
                    request=request.id,
                    **self._leave(request),
                    message=message,
                    needs=needs,
                    has=has,
                    unit="tokens" if unit == "tokens" else "blocks",
                )
            )
        return request

    def _refusal(self, request: Request) -> tuple[str, int, int, str] | None:
        """Why a request can never fit: (message, needs, has, unit)."""
        if request.max_tokens < 1:
            needs, has = request.prompt_tokens + 1, self.config.max_model_len
            return f"its prompt and one more token are {needs}; max_model_len is {has}", needs, has, "tokens"
        needs, has = request.worst_case_blocks(self.pool.block_size), self.pool.num_blocks
        if needs <= has:
            return None
        return f"{self._needs(request, needs)}; the pool has {has}", needs, has, "blocks"

    def _needs(self, request: Request, needs: int) -> str:
        """In words: the blocks that a request ``needs`` at most."""
        width = request.params.width
        what = f"its {width} {'sequences' if request.params.beam_width is None else 'beams'}"
        if request.reserved_blocks:
            who = f"each of {what}" if width > 1 else "it"
            together = f", together {needs}" if width > 1 else ""
            return f"{who} reserves {request.reserved_blocks} blocks in one run{together}"
        if request.params.max_tokens is None:
            return f"it needs {needs} blocks to begin"
        if width == 1:
            return f"it may need {needs} blocks"
        shared = request.prompt_tokens // self.pool.block_size
        each = (needs - shared) // width
        return f"{what} share {shared} blocks and may need {each} more each, together {needs}"

    def find(self, name_or_id: str | int) -> Request | None:
        """The request in the engine with this name, or with this id."""
        if isinstance(name_or_id, str):
            found = self._names.get(name_or_id)
            if found is not None or not name_or_id.isdecimal():
                return found
        return self.requests.get(int(name_or_id))

    def find_ended(self, name_or_id: str | int) -> Request | None:
        """The last request of this name that has ended, or the one with this id, while it is remembered."""
        latest = list(reversed(self.ended))
        named = [request for request in latest if request.name == name_or_id]
        if not named and str(name_or_id).isdecimal():
            named = [request for request in latest if request.id == int(name_or_id)]
        return named[0] if named else None

    # -- running ------------------------------------------------------------------------------------------------

    def admit(self, request: Request, tokens: int, hit: int, cap_applied: bool, missed: bytes | None) -> None:
        """A waiting request begins to run: its first sequence is made unless it had run before."""
        before: _Before = {"state_before": request.state, "place_before": request.place}
        self.waiting.leave()
        request.state, request.place, request.reason = "running", self._running_place, None
        self._running_place += 1.0
        admitted = Admitted(
            op=self.ledger.op,
            request=request.id,
            **before,
            state_after="running",
            place_after=request.place,
            tokens=tokens,
            hit=hit,
            cap_applied=cap_applied,
            missed=missed,
        )
        self.ledger.decide(admitted)
        if self.pool.cache is not None:
            self.hit_statistics.count(admitted)
        if not request.live:
            request.first = self.create_sequence(request, None)
            request.live.append(request.first)
        self.running.append(request)
        self.width += request.width

    def create_sequence(self, request: Request, parent: Sequence | None) -> Sequence:
        """A sequence of a request begins, with all tokens of ``parent``, or with the prompt."""
        tokens = (parent.tokens if parent else request.prompt)[:]
        index = request.created
        sequence = Sequence(self._next_sequence, request, index, tokens, parent.id if parent else None)
        request.created += 1
        self._next_sequence += 1
        self.ledger.decide(
            SequenceCreated(
                op=self.ledger.op,
                request=request.id,
                sequence=sequence.id,
                index=index,
                parent=sequence.parent,
            )
        )
        return sequence

    def drop_sequence(self, sequence: Sequence) -> None:
        """A sequence ends before its request does."""
        request = sequence.request
        width = request.width
        request.live.remove(sequence)
        self.width += request.width - width
        ending = sequence.ending
        self.ledger.decide(
            SequenceDropped(
                op=self.ledger.op,
                request=request.id,
                sequence=sequence.id,
                reason=ending.reason if ending else None,
                stop_reason=ending.stop_reason if ending else None,
            )
        )
        self.pool.let_go(sequence.held, Cause.dropped, sequence.id)

    # -- stopping -----------------------------------------------------------------------------------------------

    def preempt(self, victim: Request, needed_by: Request, lost: int) -> None:
        """Take all blocks from a running request, which waits at the head of the queue; ``lost`` tokens were computed."""
        assert not victim.reserved_blocks, (
            f"{victim} has all its blocks reserved: nobody can need more of them"
        )
        self._stop_running(victim)
        before = victim.place
        victim.state, victim.waits_since = "preempted", self.ledger.now()
        victim.preemptions += 1
        victim.place = self.waiting.prepend(victim)
        self.ledger.decide(
            Preempted(
                op=self.ledger.op,
                request=victim.id,
                state_before="running",
                place_before=before,
                state_after="preempted",
                place_after=victim.place,
                victim_of=needed_by.id,
                blocks=sum(len(sequence.table) for sequence in victim.live),
                tokens=lost,
            )
        )
        self._free(victim, Cause.preempted)
        for sequence in victim.live:
            sequence.forget()
        if victim.started:
            victim.stage = Stage.prefix if len(victim.live) > 1 else Stage.own
            victim.prefix_tokens = victim.common_prefix()

    def finish(
        self,
        request: Request,
        reason: str,
        message: str | None = None,
        stop_reason: int | str | None = None,
    ) -> None:
        """A running request ends by itself: ``stop`` (at ``stop_reason``), ``length``, ``capacity`` or ``error``."""
        self._stop_running(request)
        self.ledger.decide(
            Finished(
                op=self.ledger.op,
                request=request.id,
                **self._leave(request),
                reason=reason,  # type: ignore[arg-type]
                message=message,
                stop_reason=stop_reason,
            )
        )
        self._free(request, Cause.finished)

    def abort(self, request: Request, asked_by: str = "") -> None:
        """End a request from outside, whatever it does. Asserts that it is in the engine."""
        assert request.state is not None, f"request {request.id} is not in the engine"
        if request.state == "running":
            self._stop_running(request)
        self.ledger.decide(
            Aborted(op=self.ledger.op, request=request.id, **self._leave(request), asked_by=asked_by)
        )
        self._free(request, Cause.aborted)

    def _leave(self, request: Request) -> _Before:
        """The request is no longer in the engine: what it was, as the decision that says so tells it."""
        before: _Before = {"state_before": request.state, "place_before": request.place}
        if request.state != "running":
            self.waiting.leave()
        request.state = request.place = None
        if request.first is not None:
            self.ended.append(request)
        del self.requests[request.id]
        del self._names[request.name]
        return before

    def _stop_running(self, request: Request) -> None:
        self.running.remove(request)
        self.width -= request.width

    def _free(self, request: Request, cause: Cause) -> None:
        for sequence in request.live:
            held = sequence.held
            if held:
                self.pool.let_go(held, cause, sequence.id)
                sequence.table, sequence.ahead = [], range(0)

    # -- why it waits -------------------------------------------------------------------------------------------

    def wait(
        self,
        request: Request,
        reason: str,
        needs: int | None = None,
        free: int | None = None,
        behind: int | None = None,
        largest: int | None = None,
    ) -> None:
        """Log why a request waits, when the reason is another one than before."""
        if request.reason != reason:
            request.reason = reason
            self.ledger.decide(
                Waiting(
                    op=self.ledger.op,
                    request=request.id,
                    reason=reason,  # type: ignore[arg-type]
                    needs=needs,
                    free=free,
                    largest=largest,
                    behind=behind,
                )
            )

    def explain_waiting(self) -> None:
        """Those that have arrived, or were overtaken by a preempted one, wait behind the head of the queue."""
        head = self.waiting.head()
        if self._head is not None and self._head is not head:
            self._arrived.append(self._head)
        self._head = head
        if self._arrived:
            for request in self._arrived:
                if head is not None and request is not head and request.state in ("waiting", "preempted"):
                    self.wait(request, "behind", behind=head.id)
            self._arrived = []
