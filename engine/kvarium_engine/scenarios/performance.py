"""A scenario on its engines: each act is a run of the engine's own process, with the script as what feeds it.

What goes by here is a run like any other: it can be held and stepped, it is recorded where a backend is given, and it says
goodbye. Only who submits is another, and at the end the numbers are told in place of a summary.
"""

import time
from collections.abc import Generator
from dataclasses import replace
from typing import Any

from kvarium_engine.engine import Engine
from kvarium_engine.errors import UsageError
from kvarium_engine.options import Options
from kvarium_engine.process import Process
from kvarium_engine.scenarios.captions import title
from kvarium_engine.scenarios.scenario import Act, Scenario
from kvarium_engine.scenarios.stage import ASKED_BY, AstrayError, Caption, Number, Stage
from kvarium_engine.scenarios.witness import Witness
from kvarium_ledger.ledger import Sealed

_HARMLESS = frozenset(
    {
        "hold",
        "release",
        "step",
        "run_to",
        "slow",
        "break",
        "unbreak",
        "enable",
        "disable",
        "keyframe",
        "read_block",
    }
)
"""Commands that change no number."""
_SLICE_S = 0.05


class Performance(Process):
    """One act: ``numbers`` and ``captions`` are what came of it, ``trouble`` why it could not go on, if it could not.

    ``pause_s``: so long the engine rests behind each caption. It is what feeds its own engine.
    """

    def __init__(self, scenario: Scenario, act: Act, options: Options, pause_s: float) -> None:
        self.seen = Witness(act.num_blocks, act.block_size)
        self.trouble: str | None = None
        self.done = False
        self._pause_s = pause_s
        super().__init__(options)
        longest = self.resolved.config.scheduler.max_model_len
        if longest < act.longest:
            raise UsageError(
                f"scenario {scenario.name} has sequences of {act.longest:,} tokens; "
                f"{options.model} takes {longest:,}"
            )
        self.stage = Stage(scenario.name, self.engine, self.steering, self.seen, self._pause)
        self._script: Generator[None] = act.script(self.stage)
        self.workload = self

    def _sink(self, sealed: Sealed) -> None:
        self.seen.see(sealed)
        super()._sink(sealed)

    @property
    def stopped(self) -> bool:
        """Did a signal end it?"""
        return bool(self._signals)

    # -- the workload --------------------------------------------------------------------------------------------

    def feed(self, engine: Engine) -> None:
        """Let the script do what it does before the next step."""
        if self.done:
            return
        try:
            next(self._script)
        except StopIteration:
            self.done = True
        except AstrayError as error:
            self._astray(str(error))
        except (IndexError, KeyError, ValueError) as error:
            # What a script counts on was not there: somebody else's request may have changed what happened.
            self._astray(f"what it looked for is not in the records ({type(error).__name__}: {error})")
        if self.done:
            engine.abort_all(ASKED_BY)

    def pause(self, engine: Engine) -> float:
        """A script is always due."""
        return 0.0

    def _astray(self, why: str) -> None:
        self.trouble, self.done = f"at step {self.seen.step}: {why}", True

    def _pause(self) -> None:
        """Rest behind a caption, and obey meanwhile."""
        until = time.monotonic() + self._pause_s
        while self.stop_reason is None and time.monotonic() < until:
            if self.link is not None:
                self._obey(self.link)
            self._rest(_SLICE_S)

    # -- the end -------------------------------------------------------------------------------------------------

    def _report(self, seconds: float, drained: bool, ending: int) -> None:
        """The numbers are told when all acts are over."""
        if self.stop_reason is not None and not self.done:
            self.trouble = self.stop_reason
        fold = self.seen.fold
        self.stage.expect(
            "faults that the mirror of the ledger found", None, fold.violation and fold.violation.message
        )
        others = [
            each.name
            for each in self.seen.controls
            if each.name not in _HARMLESS and each.asked_by.split(" ")[0] != ASKED_BY and each.error is None
        ]
        self.stage.expect("commands of others that changed it", [], others)


class Outcome:
    """What came of a scenario: its ``numbers``, ``captions``, ``sessions`` (where it was recorded) and ``troubles``."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.numbers: list[Number] = []
        self.captions: list[Caption] = []
        self.sessions: list[str] = []
        self.troubles: list[str] = []
        self.seconds = 0.0
        self.stopped = False
        """Somebody ended it before its end."""

    @property
    def ok(self) -> bool:
        """Was every number as stated, to the end?"""
        return not self.troubles and all(each.ok for each in self.numbers)

    def facts(self) -> dict[str, Any]:
        """All of it by name, for scripts."""
        return {
            "name": self.scenario.name,
            "ok": self.ok,
            "seconds": round(self.seconds, 3),
            "numbers": [{**each._asdict(), "ok": each.ok} for each in self.numbers],
            "captions": [each._asdict() for each in self.captions],
            "sessions": self.sessions,
            "troubles": self.troubles,
        }


def perform(scenario: Scenario, options: Options, pause_s: float = 0.0) -> Outcome:
    """Run a scenario: each act on an engine of its own. ``options`` are what all have in common: model, backend, pace.

    Raises :class:`UsageError` where an engine can't be had, and what else a process raises.
    """
    outcome = Outcome(scenario)
    began = time.monotonic()
    for act in scenario.acts:
        run = Performance(scenario, act, _options(scenario, act, options), pause_s)
        run.run()
        outcome.numbers += run.stage.numbers
        outcome.captions += run.stage.captions
        if run.link is not None:
            outcome.sessions.append(run.link.hello.session)
        outcome.stopped = run.stopped
        if run.trouble is not None:
            outcome.troubles.append(f"{act.name}: {run.trouble}" if act.name else run.trouble)
            break
    outcome.seconds = time.monotonic() - began
    return outcome


def _options(scenario: Scenario, act: Act, options: Options) -> Options:
    name = f"{title(scenario.name)}: {act.name}" if act.name else title(scenario.name)
    return replace(
        options,
        mix=False if options.model is None else None,
        num_blocks=act.num_blocks,
        block_size=act.block_size,
        name=name,
        audit_interval=1,
        **act.options,
    )
