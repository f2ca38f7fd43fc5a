"""The engine as a process of its own: it connects out to a backend, is fed by a workload, and takes commands.

    python -m kvarium_engine.process --connect ws://127.0.0.1:8642/api/engine --trace FILE --speed 0

The engine never waits for the backend, unless it is lossless: records that are not acknowledged are kept and sent again after a
break, and past a bound they are a gap. It ends by itself with its trace, with --steps or --duration, or by SIGINT or
SIGTERM: then running requests are aborted, the last step is sealed, and the link says goodbye. The same signal
again ends it at once.
"""

import errno
import gc
import json
import logging
import os
import queue
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from types import FrameType

from kvarium_engine.engine import Engine
from kvarium_engine.errors import LinkFailedError, NotRecordedError, UsageError
from kvarium_engine.handshake import hello
from kvarium_engine.health import HealthMeter
from kvarium_engine.options import Options, Resolved, resolve
from kvarium_engine.runners import import_models, make_runner
from kvarium_engine.steering import Steering
from kvarium_engine.tally import Tally
from kvarium_engine.workload import NoWorkload, Workload
from kvarium_engine.workload.demo import Demo
from kvarium_engine.workload.mix import Mix
from kvarium_engine.workload.mooncake import Trace
from kvarium_ledger.ledger import Ledger, Sealed
from kvarium_ledger.link import Link

CONNECT_S = 20.0
"""How long the first connection is tried; ``kvarium engine --help`` tells it too."""

WAITING_S = 1.0
"""After so long without a backend, the engine says that it waits for one."""

DEBUG_VARIABLE = "KVARIUM_DEBUG"
COMMAND_VARIABLE = "KVARIUM_COMMAND"
"""Which command a person typed (``kvarium serve``), where that was not ``kvarium engine``: messages begin with it."""

READY = "\0"
"""What an engine that stands by says once its options are right."""

FAULT_STATUS = 70

DRAIN_S = 5.0
"""At the end, how long a backend may acknowledge nothing before the engine ends without it."""


class Process:
    """One run: an engine, its workload, and a link where there is a backend."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.resolved = resolve(options)
        self.tally = Tally()
        self.stop_reason: str | None = None
        self.made = 0
        """Steps that were scheduled; those that only record what was done between two are not among them."""
        self._signals: Counter[int] = Counter()
        self.link: Link | None = None
        self.meter: HealthMeter | None = None
        self.workload = _workload(options, self.resolved)
        runner, self.resolved = make_runner(options, self.resolved, _say)
        ledger = Ledger(self._sink)
        if options.connect is not None:
            if options.record_text is None and self.resolved.record_text != "full":
                _say(
                    f"--record-text {self.resolved.record_text}: the backend is on another machine, so no text is sent "
                    "to it (--record-text full sends it)"
                )
            greeting = hello(options, self.resolved, runner, ledger)
            self.link = Link(
                options.connect,
                options.token,
                greeting,
                self.resolved.lossless,
                pieces=runner.vocabulary,
            )
        self.engine = Engine(self.resolved.config, runner, ledger)
        self.steering = Steering(
            self.engine, self.resolved.allow_control, self.resolved.record_text == "full"
        )

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
            before = self.engine.steps
            self.engine.close(asked_by=self.stop_reason or "the engine's end")
            ending = self.engine.steps - before
            gc.unfreeze()
            drained = self.link is None or self._drain(self.link)
        self._check_link()
        self._report(seconds, drained, ending)
        if self.link is not None and self.link.acknowledged < 0:
            raise self._nothing_recorded(self.link)

    def _nothing_recorded(self, link: Link) -> NotRecordedError:
        why = f" ({link.trouble})" if link.trouble else ""
        return NotRecordedError(f"nothing was recorded at {self.options.connect}{why}")

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
        while link.failed is None and (link.pending_records or link.unacknowledged_bytes):
            now = link.pending_records, link.unacknowledged_bytes
            if now != left:
                left, deadline = now, time.monotonic() + DRAIN_S
            elif time.monotonic() > deadline or not link.connected.is_set():
                break
            time.sleep(0.02)
        return link.close(self.stop_reason or "", timeout=DRAIN_S)

    def _check_link(self) -> None:
        if self.link is None:
            return
        if self.link.rejected is not None:
            raise UsageError(f"{self.options.connect}: {self.link.rejected}")
        if self.link.failed is not None:
            raise LinkFailedError(self.link.failed)

    def _wait_for_backend(self, link: Link) -> None:
        began = time.monotonic()
        told = False
        while self.stop_reason is None:
            if link.connected.wait(0.1):
                return  # it may be broken again by now: then it comes back by itself, or has failed, which the loop sees
            waited = time.monotonic() - began
            if link.rejected is not None or link.failed is not None:
                link.close(timeout=0.0)
                self._check_link()
            if waited > CONNECT_S:
                link.close(timeout=0.0)
                why = f" ({link.trouble})" if link.trouble else ""
                raise UsageError(f"no backend at {self.options.connect}: tried for {CONNECT_S:.0f} s{why}")
            if waited > WAITING_S and not told:
                told = True
                _say(f"waiting for the backend at {self.options.connect}, {CONNECT_S:.0f} s at most")
        link.close(timeout=0.0)
        raise self._nothing_recorded(link)

    def _loop(self, began: float) -> None:
        engine, workload, control, link = self.engine, self.workload, self.steering.control, self.link
        meter = self.meter = HealthMeter(engine, link) if link is not None else None
        steps, duration = self.options.steps, self.options.duration
        while self.stop_reason is None:
            if link is not None:
                self._obey(link)
                control.breakpoints.look()
                if link.rejected is not None:
                    self.stop_reason = "the backend refused this engine"
                    return
                if link.failed is not None:
                    self.stop_reason = "the link failed"
                    return
            if meter is not None:
                meter.tell(control)
            if duration is not None and time.monotonic() - began >= duration:
                self.stop_reason = f"{duration:g} s have passed"
            elif steps is not None and self.made >= steps:
                self.stop_reason = f"{steps} steps were made"
            elif not control.pace.may_step:
                self._rest(0.05)
            elif control.pace.pause > 0:
                self._rest(min(control.pace.pause, 0.05))
            else:
                workload.feed(engine)
                if engine.idle and not engine.ledger.pending:
                    if workload.done:
                        self.stop_reason = "all requests have ended"
                    self._rest(min(workload.pause(engine), 0.05))
                    continue
                plan = engine.step()
                self.made += 1
                control.stepped()
                if plan.empty:
                    # The runner paces a step with work; one without takes as long, or refusals would follow each other
                    # as fast as they can be written.
                    self._rest(self.resolved.step_ms / 1000)
                if meter is not None:
                    meter.stepped()

    def _obey(self, link: Link) -> None:
        """Carry out what was asked since the last step; how the engine goes then is told before the answer."""
        while True:
            try:
                command = link.commands.get_nowait()
            except queue.Empty:
                break
            answer = self.steering.carry_out(command)
            if self.meter is not None:
                self.meter.tell(self.steering.control)
            link.answer(answer)
        if link.keyframe_wanted.is_set():
            link.keyframe_wanted.clear()
            self.engine.keyframe(forget=True)

    def _rest(self, seconds: float) -> None:
        if seconds > 0 and self.stop_reason is None:
            time.sleep(seconds)

    # -- the end ------------------------------------------------------------------------------------------------

    def _report(self, seconds: float, drained: bool, ending: int) -> None:
        engine, tally = self.engine, self.tally
        operations, hits = engine.ledger.op, engine.scheduler.roster.hit_statistics
        summary = {
            "reason": self.stop_reason,
            "steps": self.made,
            "steps_without_work": engine.steps - self.made,
            "operations": operations,
            "seconds": round(seconds, 3),
            "operations_per_s": round(operations / max(seconds, 1e-9)),
            "by_kind": tally.operations,
            "decisions": tally.decisions,
            "prefix_cache_queries": hits.queries,
            "prefix_cache_hits": hits.hits,
            "gaps": self.link.gaps if self.link is not None else 0,
            "acknowledged": drained if self.link is not None else None,
            "seed": self.options.seed,
        }
        if self.options.json:
            print(json.dumps(summary), flush=True)
            return
        print(
            f"{self.stop_reason}: {_steps(self.made, engine.steps - self.made - ending, ending)}, {operations:,} operations in {seconds:.1f} s"
        )
        if operations:
            print(tally.shares())
        if hits.queries:
            print(f"  prefix cache: {hits.hits:,} of {hits.queries:,} tokens were found ({hits.rate:.1%})")
        if tally.decisions:
            print("  " + ", ".join(f"{name} {count:,}" for name, count in sorted(tally.decisions.items())))
        if self.link is not None and not drained:
            print("  the backend did not acknowledge all of it in time")
        sys.stdout.flush()


def _steps(made: int, between: int, ending: int) -> str:
    """How many steps were made, and how many records of steps there are beside them."""
    text = f"{made:,} step" + ("" if made == 1 else "s")
    if between:
        text += f", {between:,} that only record what was asked between two"
    return text + (" and one that records the end" if ending else "")


def _workload(options: Options, resolved: Resolved) -> Workload:
    config = resolved.config
    if resolved.trace is not None:
        return Trace(resolved.trace, options.speed)
    if resolved.workload == "demo":
        return Demo(options.seed)
    if resolved.workload == "none":
        return NoWorkload()
    return Mix(config.num_blocks, config.block_size, config.scheduler.max_num_seqs, options.seed)


def _say(line: str) -> None:
    print(f"{os.environ.get(COMMAND_VARIABLE) or 'kvarium engine'}: {line}", file=sys.stderr, flush=True)


def stand_by(options: Options, terminal: int) -> int:
    """Be the engine of a server that gets ready beside it; returns the exit status.

    The options are checked, the trace too. Until they are, a server reads standard error, and then ``READY`` or why not;
    from then on it is the file ``terminal``. What a model needs is imported while the server starts; the first line
    of standard input then has, as JSON, the address and the token to connect with. Without one there is nothing to do.
    """
    logging.basicConfig(level=logging.WARNING, format=_LOG)
    return guarded(lambda: _stand_by(options, terminal))


def _stand_by(options: Options, terminal: int) -> None:
    if options.connect is not None:
        raise UsageError(
            "--connect is the server's own: its engine connects to it; "
            "`kvarium engine --connect URL` runs one that connects elsewhere"
        )
    resolved = resolve(options)
    print(READY, end="", file=sys.stderr, flush=True)
    os.dup2(terminal, 2)
    os.close(terminal)
    os.environ.pop(COMMAND_VARIABLE, None)
    if resolved.model is not None:
        import_models()
    line = sys.stdin.readline()
    if line:
        url, token = json.loads(line)
        Process(replace(options, connect=url, token=token)).run()


def run(options: Options) -> int:
    """Run an engine; returns the exit status. Whatever goes wrong is told in one line: 2 is a wrong option or backend."""
    logging.basicConfig(level=logging.WARNING, format=_LOG)
    return guarded(lambda: _run(options))


def _run(options: Options) -> None:
    if options.connect is None:
        for option, given in (
            ("--name", options.name != ""),
            ("--record-text", options.record_text is not None),
            ("--lossless/--no-lossless", options.lossless is not None),
            ("--allow-control/--no-allow-control", options.allow_control is not None),
        ):
            if given:
                raise UsageError(
                    f"{option} is of what a backend records and shows: give --connect with it, or leave it out"
                )
    engine = Process(options)
    if options.connect is None:
        _say("nothing is recorded without --connect; `kvarium serve` records an engine and shows it")
    engine.run()


_LOG = "engine: %(message)s"

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a disk or a file that is full says: no fault of the engine's."""


def guarded(body: Callable[[], None]) -> int:
    """Carry ``body`` out; the exit status. What goes wrong is told in one line: 2 is a wrong option or backend."""
    try:
        body()
    except UsageError as error:
        _say(str(error))
        return 2
    except NotRecordedError as error:
        _say(str(error))
        return 1
    except KeyboardInterrupt:
        _say("stopped at once")
        return 130
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            _say(os.strerror(error.errno))
            sys.stdout = None  # what is left for it has no place
            return os.EX_IOERR
        return _fault(error)
    return 0


def _fault(error: Exception) -> int:
    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exception(error)
    text = " ".join(str(error).split())
    if not isinstance(error, LinkFailedError):
        text = type(error).__name__ + (text and f": {text}")
    _say(f"a fault of the engine's own ({text}); {DEBUG_VARIABLE}=1 shows where")
    return FAULT_STATUS


def main() -> None:
    """The entry point of ``python -m kvarium_engine.process``, as which a server runs its engine."""
    import typer

    from kvarium_engine.commands import register

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    register(app)
    try:
        status = app(standalone_mode=False)
    except typer.Abort:
        status = 130
    except Exception as error:
        # A wrong option, as typer found it: told in one line as every other, without the usage around it.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        errors = getattr(error.__cause__, "errors", None)  # pydantic's: they hold what was given
        given = "" if errors is None else f", not {str(errors()[0]['input'])[:100]!r}"
        _say(" ".join(message().split()) + given)
        status = getattr(error, "exit_code", 2)
    sys.exit(status if isinstance(status, int) else 0)


if __name__ == "__main__":
    main()
