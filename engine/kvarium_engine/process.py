"""The engine as a process of its own: it connects out to a backend, is fed by a workload, and takes commands.

    python -m kvarium_engine.process --connect ws://127.0.0.1:8642/api/engine --trace FILE --speed 0

The engine never waits for the backend, unless it is lossless: records that are not acknowledged are kept and sent again after a
break, and past a bound they are a gap. It ends by itself with its trace, with --steps or --duration, or by SIGINT or
SIGTERM: then running requests are aborted, the last step is sealed, and the link says goodbye. The same signal
again ends it at once.
"""

import gc
import json
import logging
import queue
import signal
import sys
import time
from collections import Counter
from types import FrameType

from kvarium_engine.engine import Engine
from kvarium_engine.errors import UsageError
from kvarium_engine.health import HealthMeter
from kvarium_engine.model.null_runner import NullRunner
from kvarium_engine.options import Options, Resolved, hello, resolve
from kvarium_engine.steering import Steering
from kvarium_engine.tally import Tally
from kvarium_engine.workload import NoWorkload, Workload
from kvarium_engine.workload.mix import Mix
from kvarium_engine.workload.mooncake import Trace
from kvarium_ledger.ledger import Ledger, Sealed
from kvarium_ledger.link import Link

CONNECT_S = 20.0
"""How long the first connection is tried."""

DRAIN_S = 5.0
"""At the end, how long a backend may acknowledge nothing before the engine ends without it."""

_EOS_EVERY = 40
"""In the mix, one sampled token in so many ends its sequence."""


class Process:
    """One run: an engine, its workload, and a link where there is a backend."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.resolved = resolve(options)
        self.tally = Tally()
        self.stop_reason: str | None = None
        self._signals: Counter[int] = Counter()
        self.link: Link | None = None
        self.workload = _workload(options, self.resolved)
        runner = NullRunner(
            options.seed, self.resolved.step_ms, _EOS_EVERY if isinstance(self.workload, Mix) else 0
        )
        ledger = Ledger(self._sink)
        if options.connect is not None:
            greeting = hello(options, self.resolved, runner, ledger)
            self.link = Link(options.connect, options.token, greeting, self.resolved.lossless)
        self.engine = Engine(self.resolved.config, runner, ledger)
        self.steering = Steering(self.engine, self.resolved.allow_control)

    def _sink(self, sealed: Sealed) -> None:
        self.tally.count(sealed)
        if self.link is not None:
            self.link.put(sealed)

    # -- the run ------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run until something ends it. Raises :class:`UsageError` where there is no backend or it refuses."""
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, self._on_signal)
        if self.link is not None:
            self.link.start()
            self._wait_for_backend(self.link)
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        began = time.monotonic()
        try:
            self._loop(began)
        finally:
            seconds = time.monotonic() - began
            self.engine.close(asked_by=self.stop_reason or "the engine's end")
            drained = self.link is None or self._drain(self.link)
        self._check_rejected()
        self._report(seconds, drained)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._signals[number] += 1
        if self._signals[number] > 1:
            raise KeyboardInterrupt
        if self.stop_reason is None:
            self.stop_reason = f"the engine was stopped ({signal.Signals(number).name})"
        if self.link is not None and not self.link.connected.is_set():
            self.link.hurry()

    def _drain(self, link: Link) -> bool:
        """Wait for the backend as long as it gets on, then close the link; says whether all was acknowledged."""
        left: tuple[int, int] | None = None
        deadline = 0.0
        while link.pending_records or link.unacknowledged_bytes:
            now = link.pending_records, link.unacknowledged_bytes
            if now != left:
                left, deadline = now, time.monotonic() + DRAIN_S
            elif time.monotonic() > deadline or not link.connected.is_set():
                break
            time.sleep(0.02)
        return link.close(self.stop_reason or "", timeout=DRAIN_S)

    def _check_rejected(self) -> None:
        if self.link is not None and self.link.rejected is not None:
            raise UsageError(f"{self.options.connect}: {self.link.rejected}")

    def _wait_for_backend(self, link: Link) -> None:
        deadline = time.monotonic() + CONNECT_S
        while not link.connected.wait(0.1) and self.stop_reason is None:
            if link.rejected is not None:
                link.close(timeout=0.0)
                self._check_rejected()
            if time.monotonic() > deadline:
                link.close(timeout=0.0)
                raise UsageError(f"no backend at {self.options.connect}: tried for {CONNECT_S:.0f} s")

    def _loop(self, began: float) -> None:
        engine, workload, steering, link = self.engine, self.workload, self.steering, self.link
        meter = HealthMeter(engine, link) if link is not None else None
        steps, duration = self.options.steps, self.options.duration
        while self.stop_reason is None:
            if link is not None:
                self._obey(link)
                if link.rejected is not None:
                    self.stop_reason = "the backend refused this engine"
                    return
            if meter is not None:
                meter.tell(steering.held)
            if duration is not None and time.monotonic() - began >= duration:
                self.stop_reason = f"{duration:g} s have passed"
            elif steps is not None and engine.steps >= steps:
                self.stop_reason = f"{steps} steps were made"
            elif not steering.may_step:
                self._rest(0.05)
            else:
                workload.feed(engine)
                if engine.idle and not engine.ledger.pending:
                    if workload.done:
                        self.stop_reason = "all requests have ended"
                    self._rest(min(workload.pause(engine), 0.05))
                    continue
                engine.step()
                steering.stepped()
                if meter is not None:
                    meter.stepped()

    def _obey(self, link: Link) -> None:
        """Carry out what was asked since the last step."""
        while True:
            try:
                command = link.commands.get_nowait()
            except queue.Empty:
                break
            link.answer(self.steering.carry_out(command))
        if link.keyframe_wanted.is_set():
            link.keyframe_wanted.clear()
            self.engine.keyframe(forget=True)

    def _rest(self, seconds: float) -> None:
        if seconds > 0 and self.stop_reason is None:
            time.sleep(seconds)

    # -- the end ------------------------------------------------------------------------------------------------

    def _report(self, seconds: float, drained: bool) -> None:
        engine, tally = self.engine, self.tally
        operations = engine.ledger.op
        summary = {
            "reason": self.stop_reason,
            "steps": engine.steps,
            "operations": operations,
            "seconds": round(seconds, 3),
            "operations_per_s": round(operations / max(seconds, 1e-9)),
            "by_kind": tally.operations,
            "decisions": tally.decisions,
            "gaps": self.link.gaps if self.link is not None else 0,
            "acknowledged": drained if self.link is not None else None,
            "seed": self.options.seed,
        }
        if self.options.json:
            print(json.dumps(summary), flush=True)
            return
        print(f"{self.stop_reason}: {engine.steps:,} steps, {operations:,} operations in {seconds:.1f} s")
        if operations:
            print(tally.shares())
        if tally.decisions:
            print("  " + ", ".join(f"{name} {count:,}" for name, count in sorted(tally.decisions.items())))
        if self.link is not None and not drained:
            print("  the backend did not acknowledge all of it in time")
        sys.stdout.flush()


def _workload(options: Options, resolved: Resolved) -> Workload:
    config = resolved.config
    if resolved.trace is not None:
        return Trace(resolved.trace, options.speed)
    if not options.mix:
        return NoWorkload()
    return Mix(config.num_blocks, config.block_size, config.scheduler.max_num_seqs, options.seed)


def run(options: Options) -> int:
    """Run an engine; returns the exit status, 2 after a wrong option, which is told in one line."""
    logging.basicConfig(level=logging.WARNING, format="engine: %(message)s")
    try:
        Process(options).run()
    except UsageError as error:
        print(f"kvarium engine: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("kvarium engine: stopped at once", file=sys.stderr)
        return 130
    return 0


def main() -> None:
    """The entry point of ``python -m kvarium_engine.process``."""
    import typer

    from kvarium_engine.commands import register

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    register(app)
    app()


if __name__ == "__main__":
    main()
