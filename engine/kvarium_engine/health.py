"""The engine's figures of the last second."""

import time
from typing import NamedTuple

import msgspec

from kvarium_engine.control import Control
from kvarium_engine.engine import Engine
from kvarium_ledger.ledger import Ledger
from kvarium_ledger.link import Link
from kvarium_ledger.messages import Health
from kvarium_ledger.operations import Cause

_EVERY_S = 1.0


def append_ns() -> float:
    """What one call of the ledger's hot path costs here (ns): measured, as timing every call would cost more than it."""
    ledger = Ledger(lambda sealed: None)
    blocks, before = [1, 2], [3, 4]
    begin = time.perf_counter_ns()
    for _ in range(2000):
        ledger.fill(blocks, Cause.decode, 1, before, before)
    return (time.perf_counter_ns() - begin) / 2000


class _Point(NamedTuple):
    at: float
    op: int
    steps: int
    bytes: int


class HealthMeter:
    """Tells the link once a second how the engine does."""

    def __init__(self, engine: Engine, link: Link) -> None:
        self.engine = engine
        self.link = link
        self._append_ns = append_ns()
        self._last = self._now()
        self._figures = Health(time=0)
        self._changes = 0
        self._step_ns = self._seal_ns = self._slices = 0

    def _now(self) -> _Point:
        return _Point(time.monotonic(), self.engine.ledger.op, self.engine.steps, self.link.bytes_sent)

    def stepped(self) -> None:
        """A step was sealed."""
        self._step_ns += self.engine.step_ns
        self._seal_ns += self.engine.seal_ns
        self._slices += self.engine.slices

    def tell(self, control: Control) -> None:
        """Send the figures, if a second has passed; what is told of ``control`` also at once, when it changed."""
        is_over = time.monotonic() - self._last.at >= _EVERY_S
        if is_over:
            self._figures = self._measured()
        elif control.changes == self._changes:
            return
        self._changes = control.changes
        pace = control.pace
        self.link.health(
            msgspec.structs.replace(
                self._figures,
                time=self.engine.ledger.now(),
                held=pace.held,
                run_to=pace.run_to,
                slow=pace.slow,
                stop=control.stop,
                breakpoints=control.breakpoints.told,
            )
        )

    def _measured(self) -> Health:
        """The figures since the last time."""
        last, now = self._last, self._now()
        hits = self.engine.scheduler.roster.hit_statistics
        seconds, steps = now.at - last.at, max(now.steps - last.steps, 1)
        found = Health(
            time=0,
            operations_per_s=(now.op - last.op) / seconds,
            steps_per_s=(now.steps - last.steps) / seconds,
            bytes_per_s=(now.bytes - last.bytes) / seconds,
            step_ns=self._step_ns // steps,
            ledger_ns=int(self._seal_ns + self._slices * self._append_ns) // steps,
            unacknowledged_bytes=self.link.unacknowledged_bytes,
            queue_records=self.link.pending_records,
            gaps=self.link.gaps,
            prefix_cache_queries=hits.queries,
            prefix_cache_hits=hits.hits,
            prefix_cache_preempted_queries=hits.preempted_queries,
            prefix_cache_preempted_hits=hits.preempted_hits,
        )
        self._last = now
        self._step_ns = self._seal_ns = self._slices = 0
        return found
