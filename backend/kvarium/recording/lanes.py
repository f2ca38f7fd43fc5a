"""What each request did in a part of a session: the lanes of a timeline, from the decisions in the records.

    steps      100   101   102   103   104   105   106
    r17        waiting ·   admitted    ·     preempted              changes: a state, and from which step on
                           ▪ 512 ▪ 512                              chunks: tokens of its prefill in a step
    r12        running ·   ·     ·     finished                     as it was before the first step: ``start``

A *stretch* is a run of steps of which all is known, with the states of all requests before it: from a keyframe and the
decisions after that, so that nothing is guessed. Behind a gap a keyframe begins the next one. Operations are not read.
"""

import time
from typing import Any, Final

import msgspec

from kvarium.errors import DamagedRecordingError, OutOfRangeError
from kvarium.heads import stored_head
from kvarium.recording.index_rows import Row
from kvarium.recording.reader import Reader
from kvarium.recording.seek import Seeker
from kvarium_ledger.decisions import AnyDecision, Change, Scheduled, Submitted
from kvarium_ledger.records import RequestState

MAX_STEPS: Final = 4096
"""So many steps an answer, at most."""


class _Step(msgspec.Struct):
    """What is read of a step; the rest of its bytes is passed over."""

    step: int
    decisions: list[AnyDecision] = []


class _Keyframe(msgspec.Struct):
    requests: list[RequestState] = []


_steps = msgspec.msgpack.Decoder(_Step)
_keyframes = msgspec.msgpack.Decoder(_Keyframe)


class _Walk:
    """Follows records, and notes those of the steps ``first`` to ``last``."""

    def __init__(self, first: int, last: int) -> None:
        self.first = first
        self.last = last
        self.states: dict[int, str] | None = None
        """Of the requests in the engine; None: a keyframe is to come."""
        self.names: dict[int, str] = {}
        self.stretches: list[Row] = []
        self._open: Row | None = None
        self.through = first - 1
        """The last step of the part that was looked at."""

    def keyframe(self, requests: list[RequestState]) -> None:
        if self.states is not None:
            return
        self.states = {each.request: each.state for each in requests}
        self.names |= {each.request: each.name for each in requests}

    def gap(self) -> None:
        self.states = None
        self._open = None

    def step(self, step: int, decisions: list[AnyDecision]) -> None:
        if step >= self.first:
            self.through = step
        if self.states is None:
            return
        noted = self._stretch(step) if step >= self.first else None
        for decision in decisions:
            if isinstance(decision, Submitted):
                self.names[decision.request] = decision.name
            if isinstance(decision, Change):
                self._change(decision, step, noted)
            elif noted is not None and isinstance(decision, Scheduled):
                noted["chunks"]["step"].append(step)
                noted["chunks"]["request"].append(decision.request)
                noted["chunks"]["tokens"].append(decision.tokens)

    def _change(self, decision: Change, step: int, noted: Row | None) -> None:
        assert self.states is not None
        state = decision.state_after
        if state is None:
            self.states.pop(decision.request, None)
        else:
            self.states[decision.request] = state
        if noted is not None:
            noted["changes"]["step"].append(step)
            noted["changes"]["request"].append(decision.request)
            # Of one that leaves the engine: how.
            noted["changes"]["state"].append(state or str(decision.__struct_config__.tag))

    def _stretch(self, step: int) -> Row:
        assert self.states is not None
        if self._open is None:
            self._open = {
                "first": step,
                "last": step,
                "start": {"request": list(self.states), "state": list(self.states.values())},
                "changes": {"step": [], "request": [], "state": []},
                "chunks": {"step": [], "request": [], "tokens": []},
            }
            self.stretches.append(self._open)
        self._open["last"] = step
        return self._open

    def frame(self, type: str, step: int | None, frame: bytes) -> bool:
        """Follow a frame; False: it is of a later step. Raises :class:`DamagedRecordingError`."""
        if type == "step" and step is not None and step > self.last:
            self.through = self.last
            return False
        body = memoryview(frame)[:-4]
        try:
            if type == "step":
                read = _steps.decode(body)
                self.step(read.step, read.decisions)
            elif type == "keyframe":
                self.keyframe(_keyframes.decode(body).requests)
            elif type == "gap":
                self.gap()
        except msgspec.MsgspecError as error:
            raise DamagedRecordingError(f"the {type} of step {step}: {error}") from None
        return True

    def told(self) -> dict[str, Any]:
        living = {request for each in self.stretches for request in each["start"]["request"]}
        living.update(request for each in self.stretches for request in each["changes"]["request"])
        return {
            "through": self.through,
            "stretches": self.stretches,
            "names": {
                str(request): self.names[request] for request in sorted(living) if request in self.names
            },
        }


def read_lanes(
    reader: Reader, seeker: Seeker, session: int, first: int, last: int, seconds: float
) -> dict[str, Any]:
    """The stretches of the steps ``first`` to ``last`` (both included), as many as were read in about ``seconds``.

    ``through`` is the last step that was looked at: less than ``last`` where the time was up. What no stretch holds of the steps
    up to it is lost. Raises :class:`OutOfRangeError` where the recording has no such step, and :class:`DamagedRecordingError`.
    """
    begin = reader.first_record_of_steps(session, first)
    if begin is None:
        held = reader.session(session)["last_step"]
        what = "holds no step yet" if held is None else f"holds steps up to {held}"
        raise OutOfRangeError(f"step {first} is not in the recording, which {what}")
    walk = _Walk(first, last)
    after = begin - 1
    try:
        found = seeker.sought(session, begin, begin, 0, with_contents=False)
    except OutOfRangeError:
        # Nothing is known of what was before it: a keyframe among the records may tell.
        pass
    else:
        walk.frame("keyframe", None, b"".join(found.keyframe))
        for frame in found.frames:
            head = stored_head(frame)
            if not walk.frame(head.type, head.step, frame):
                return walk.told()
            assert head.record is not None
            after = head.record
    until = time.monotonic() + seconds
    for stored in reader.frames(session, after, with_text=False):
        if not walk.frame(stored.head.type, stored.head.step, stored.bytes):
            return walk.told()
        if time.monotonic() > until and walk.through >= first:
            return walk.told()
    return walk.told()
