"""A trace in Chrome's format, as Perfetto's page opens it: a lane a request, counters of usage, instants.

    kvarium   steps      ▐step 7▌▐step 8▌ …            process 1; counters: blocks, tokens, requests
              landmarks   evict ↓  copy ↓  gap ↓
    requests  r0 mix-1   ▐waiting▌▐prefill▌▐decode … ▌  process 2: a thread a request
              r1 mix-2   ▐waiting     ▌▐prefill▌▐preempted▌▐prefill▌▐decode▌

Slices are pairs of B and E; events are in the order of their time, so that it can be written as it is read. Times are µs
since the session's start.
"""

from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from kvarium.exchange.records import all_records
from kvarium.recording.reader import Reader
from kvarium.recording.row_types import damage_told
from kvarium.sql.loading import Progress
from kvarium_ledger.columns import OperationColumns, u32
from kvarium_ledger.decisions import (
    Aborted,
    Admitted,
    AnyDecision,
    Finished,
    Preempted,
    Refused,
    SequenceCreated,
    Submitted,
)
from kvarium_ledger.operations import Operation
from kvarium_ledger.records import Gap, Keyframe, Note, Step

Event = dict[str, Any]

_ENGINE, _REQUESTS = 1, 2
_STEPS, _LANDMARKS = 1, 2
_MARKED: Final = (Operation.evict, Operation.copy)
_EVENTS: Final = 1024
_LISTED: Final = 64
"""An instant lists at most so many blocks."""

_encoder = msgspec.json.Encoder()


def export_trace(reader: Reader, session: int, path: Path, progress: Progress) -> None:
    """Write a session as a trace."""
    row = reader.session(session)
    usage = reader.steps(session)
    told = {
        name: row[name]
        for name in ("id", "name", "engine", "model", "runner", "device", "num_blocks", "block_size")
    }
    with path.open("wb") as file:
        file.write(b'{"displayTimeUnit":"ms","otherData":' + _encoder.encode(told) + b',"traceEvents":[\n')
        writer = _Writer(file)
        trace = _Trace(f"kvarium {row['name'] or row['id'][:8]}", usage)
        for event in trace.names():
            writer.add(event)
        for record in all_records(reader, session, progress):
            if isinstance(record, Step):
                events = trace.step(record)
            elif isinstance(record, Keyframe):
                events = trace.keyframe(record)
            elif isinstance(record, (Gap, Note)):
                events = trace.remark(record)
            else:
                continue
            with damage_told(f"record {record.record}"):
                for event in events:
                    writer.add(event)
        for event in trace.end():
            writer.add(event)
        writer.flush()
        file.write(b"\n]}\n")


class _Writer:
    """Events one behind the other, many at a time, with commas between them."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._events: list[bytes] = []
        self._is_first = True

    def add(self, event: Event) -> None:
        self._events.append(_encoder.encode(event))
        if len(self._events) >= _EVENTS:
            self.flush()

    def flush(self) -> None:
        if self._events:
            self._file.write((b"" if self._is_first else b",\n") + b",\n".join(self._events))
            self._is_first = False
            self._events.clear()


class _Trace:
    """Makes the events. A lane is in one phase at a time: ``waiting``, ``prefill``, ``decode`` or ``preempted``."""

    def __init__(self, name: str, usage: dict[str, list[Any]]) -> None:
        self._name = name
        self._usage = usage
        self._phases: dict[int, str] = {}
        self._request_of: dict[int, int] = {}
        self._of_request: dict[int, list[int]] = {}
        self._time = 0

    def names(self) -> Iterator[Event]:
        """What the processes and the engine's lanes are called."""
        yield _named("process_name", _ENGINE, 0, self._name)
        yield _named("process_name", _REQUESTS, 0, "requests")
        yield _named("thread_name", _ENGINE, _STEPS, "steps")
        yield _named("thread_name", _ENGINE, _LANDMARKS, "landmarks")

    def keyframe(self, keyframe: Keyframe) -> Iterator[Event]:
        """After a gap: lanes of requests that are not there any more end; those that came begin."""
        time = self._at(keyframe.time)
        there = {row.request: row for row in keyframe.requests}
        for request in [request for request in self._phases if request not in there]:
            yield from self._turn(request, None, time)
        for request, row in there.items():
            if request not in self._phases:
                yield _named("thread_name", _REQUESTS, request + 1, f"r{request} {row.name}")
                phase = "decode" if row.state == "running" else row.state
                yield from self._turn(request, phase, time)
        for sequence in keyframe.sequences:
            self._request_of[sequence.sequence] = sequence.request

    def remark(self, record: Gap | Note) -> Iterator[Event]:
        """A gap or a note, as an instant."""
        if isinstance(record, Gap):
            told: Event = {"first": record.first, "last": record.last, "reason": record.reason}
            yield self._instant("gap", self._at(record.time), told)
        else:
            yield self._instant("note", self._at(record.time), {"text": record.text, "by": record.by})

    def step(self, step: Step) -> Iterator[Event]:
        """A step: what it decided at its beginning, what came of it at its end."""
        time = self._at(step.time)
        yield {"ph": "B", "pid": _ENGINE, "tid": _STEPS, "ts": time, "name": "step", "args": _facts(step)}
        for decision in step.decisions:
            if isinstance(decision, SequenceCreated):
                self._request_of[decision.sequence] = decision.request
                self._of_request.setdefault(decision.request, []).append(decision.sequence)
            elif isinstance(decision, (Submitted, Admitted, Preempted)):
                yield from self._begin(decision, time)
        time = self._at(step.sealed)
        for request in dict.fromkeys(self._request_of.get(number) for number in u32(step.sampled).tolist()):
            if request is not None and self._phases.get(request) == "prefill":
                yield from self._turn(request, "decode", time)
        for decision in step.decisions:
            if isinstance(decision, (Finished, Aborted, Refused)):
                yield from self._turn(decision.request, None, time, _ending(decision))
                for number in self._of_request.pop(decision.request, ()):
                    self._request_of.pop(number, None)
        yield from self._marks(step, time)
        yield from self._counters(step, time)
        yield {"ph": "E", "pid": _ENGINE, "tid": _STEPS, "ts": time}

    def end(self) -> Iterator[Event]:
        """What still goes on ends with the recording."""
        for request in list(self._phases):
            yield from self._turn(request, None, self._time / 1000, {"ending": "the recording ends"})

    def _at(self, nanoseconds: int) -> float:
        """µs; time never goes backwards in a trace."""
        self._time = max(self._time, nanoseconds)
        return self._time / 1000

    def _begin(self, decision: Submitted | Admitted | Preempted, time: float) -> Iterator[Event]:
        request = decision.request
        if isinstance(decision, Submitted):
            yield _named("thread_name", _REQUESTS, request + 1, f"r{request} {decision.name}")
            told = {
                "prompt_tokens": decision.prompt_tokens,
                "max_tokens": decision.max_tokens,
                "n": decision.n,
            }
            yield from self._turn(request, "waiting", time, begins=told)
        elif isinstance(decision, Admitted):
            told = {"tokens": decision.tokens, "hit": decision.hit}
            yield from self._turn(request, "prefill", time, begins=told)
        else:
            told = {"victim_of": decision.victim_of, "blocks": decision.blocks, "tokens": decision.tokens}
            yield from self._turn(request, "preempted", time, begins=told)
            yield {
                "ph": "i",
                "s": "t",
                "pid": _REQUESTS,
                "tid": request + 1,
                "ts": time,
                "name": "preempted",
                "args": told,
            }

    def _turn(
        self,
        request: int,
        phase: str | None,
        time: float,
        ends: Event | None = None,
        begins: Event | None = None,
    ) -> Iterator[Event]:
        """The lane of a request goes over to another phase, or (None) ends."""
        lane = {"pid": _REQUESTS, "tid": request + 1, "ts": time}
        if self._phases.pop(request, None) is not None:
            yield {"ph": "E"} | lane | ({"args": ends} if ends else {})
        if phase is not None:
            self._phases[request] = phase
            yield {"ph": "B"} | lane | {"name": phase, "args": {"request": request} | (begins or {})}

    def _marks(self, step: Step, time: float) -> Iterator[Event]:
        operations = OperationColumns.decode(step.operations)
        for kind in _MARKED:
            blocks = operations.block[operations.mask(kind)].tolist()
            if blocks:
                told = {"count": len(blocks), "blocks": blocks[:_LISTED], "step": step.step}
                yield self._instant(kind.name, time, told)
        preempted = [made.request for made in step.decisions if isinstance(made, Preempted)]
        if preempted:
            told = {"count": len(preempted), "requests": preempted[:_LISTED], "step": step.step}
            yield self._instant("preempted", time, told)

    def _instant(self, name: str, time: float, told: Event) -> Event:
        lane = {"pid": _ENGINE, "tid": _LANDMARKS, "ts": time}
        return {"ph": "i", "s": "p"} | lane | {"name": name, "args": told}

    def _counters(self, step: Step, time: float) -> Iterator[Event]:
        """Usage, as far as the index knows it."""
        known = self._usage["step"]
        place = bisect_left(known, step.step)
        if place == len(known) or known[place] != step.step:
            return
        for name, series in (
            ("blocks", ("active", "shared", "cached")),
            ("tokens", ("prefill_tokens", "decode_tokens")),
            ("requests", ("running", "waiting")),
        ):
            values = {one.removesuffix("_tokens"): self._usage[one][place] for one in series}
            yield {"ph": "C", "pid": _ENGINE, "tid": 0, "ts": time, "name": name, "args": values}


def _named(what: str, pid: int, tid: int, name: str) -> Event:
    return {"ph": "M", "pid": pid, "tid": tid, "ts": 0, "name": what, "args": {"name": name}}


def _facts(step: Step) -> Event:
    return {
        "step": step.step,
        "record": step.record,
        "op": step.op,
        "tokens": step.tokens,
        "budget": step.budget,
    }


def _ending(decision: AnyDecision) -> Event:
    told = {"ending": decision.__struct_config__.tag}
    for name in ("reason", "message", "asked_by"):
        value = getattr(decision, name, None)
        if value:
            told[name] = value
    return told
