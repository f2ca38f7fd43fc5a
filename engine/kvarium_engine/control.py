"""Control of the engine itself, where it is allowed: its pace, and where it stops by itself.

    hold, release             {}
    step     {steps}          so many more, and hold
    run_to   {step}           up to a step that has not been made, and hold
    slow     {rate}           at most so many steps a second; null: as many as can be
    break    {when, hits, mark}                 the predicate, and the how-manieth time that counts; mark: does not stop.
                                                One that is set already is told, and looked at again, but not set twice
    unbreak, enable, disable  {breakpoint}      its id

A breakpoint that stops holds the engine as the command ``hold`` does, and is recorded as one, behind the note that tells where.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from kvarium_engine.arguments import Args, CommandError, flag, integer, number, only, text
from kvarium_engine.breakpoints.breakpoints import MOST_HITS, Breakpoints
from kvarium_engine.engine import Engine
from kvarium_engine.pace import Pace
from kvarium_ledger.filtering.explaining import explain
from kvarium_ledger.filtering.predicates import CONDITIONS, Predicate, read_predicate
from kvarium_ledger.filtering.reading import UnreadableFilterError
from kvarium_ledger.messages import Result
from kvarium_ledger.records import Hit

MOST_STEPS: Final = 1_000_000
MOST_STEP: Final = 1 << 53
SLOWEST: Final = 0.01
"""Steps a second."""


class Control:
    """Holds ``engine``, lets it go, and stops it where a breakpoint is met; ``stop`` is the one that holds it.

    ``allowed``: may commands do so? ``tells_text``: is text recorded in full, so that a text or a hash may be asked for?
    ``changes`` grows with all that is to be told at once.
    """

    def __init__(self, engine: Engine, allowed: bool, tells_text: bool) -> None:
        self.engine = engine
        self.allowed = allowed
        self.tells_text = tells_text
        self.pace = Pace()
        self.breakpoints = Breakpoints(engine, self._stopped)
        self.stop: Hit | None = None
        self.changes = 0
        self._commands: dict[str, Callable[[Args], dict[str, Result]]] = {
            "hold": self._hold,
            "release": self._release,
            "step": self._step,
            "run_to": self._run_to,
            "slow": self._slow,
            "break": self._break,
            "unbreak": self._unbreak,
            "enable": lambda args: self._enable(args, True),
            "disable": lambda args: self._enable(args, False),
        }
        self.handlers = {name: partial(self._carry_out, name) for name in self._commands}
        """The commands by their names: each takes its arguments and who asked.

        Each raises :class:`CommandError` or :class:`ValueError` where it can't be carried out.
        """

    def _carry_out(self, name: str, args: Args, asked_by: str) -> dict[str, Result]:
        if not self.allowed:
            raise CommandError("this engine does not allow control: start it with --allow-control")
        found = self._commands[name](args)
        self.changes += 1
        return found

    def stepped(self) -> None:
        """The engine took a step."""
        held_to = self.pace.run_to
        self.pace.stepped(self.engine.ledger.step)
        if held_to != self.pace.run_to:
            self.changes += 1
        self.breakpoints.look()

    def _stopped(self, hit: Hit) -> None:
        """A breakpoint was met that stops."""
        self.pace.hold()
        self.stop = hit
        self.changes += 1
        args = {"breakpoint": hit.breakpoint, "step": hit.step}
        self.engine.ledger.control("", "hold", dict(args), f"breakpoint {hit.breakpoint}", None)

    @property
    def _now(self) -> int:
        """The last step; -1: none was made."""
        return self.engine.steps - 1

    # -- the pace ---------------------------------------------------------------------------------------------------

    def _hold(self, args: Args) -> dict[str, Result]:
        only(args)
        self.pace.hold()
        return {"held": True, "step": self._now}

    def _release(self, args: Args) -> dict[str, Result]:
        only(args)
        self.pace.release()
        self.stop = None
        return {"held": False, "step": self._now}

    def _step(self, args: Args) -> dict[str, Result]:
        only(args, "steps")
        steps = integer(args, "steps", 1, 1, MOST_STEPS)
        self.pace.step(steps)
        self.stop = None
        return {"held": True, "steps": steps, "step": self._now}

    def _run_to(self, args: Args) -> dict[str, Result]:
        only(args, "step")
        if "step" not in args:
            raise CommandError("run_to needs step")
        step = integer(args, "step", 0, 0, MOST_STEP)
        if step <= self._now:
            raise CommandError(f"step {step} has passed: the engine is at step {self._now}")
        self.pace.go_to(step)
        self.stop = None
        return {"held": True, "run_to": step, "step": self._now}

    def _slow(self, args: Args) -> dict[str, Result]:
        only(args, "rate")
        rate = None
        if args.get("rate") is not None:
            rate = number(args, "rate", 0)
            if not SLOWEST <= rate <= MOST_STEPS:
                raise CommandError(
                    f"rate must be from {SLOWEST} to {MOST_STEPS} steps a second, or null, not {args['rate']!r}"
                )
        self.pace.limit(rate)
        return {"rate": rate, "step": self._now}

    # -- breakpoints ------------------------------------------------------------------------------------------------

    def _break(self, args: Args) -> dict[str, Result]:
        only(args, "when", "hits", "mark")
        predicate = self._predicate(text(args, "when"))
        hits, mark = integer(args, "hits", 1, 1, MOST_HITS), flag(args, "mark")
        same = self.breakpoints.same(predicate, hits, mark)
        if same is not None:
            # Who had no answer asks again.
            self.breakpoints.enable(same.id, True)
            return {"breakpoint": same.id, "already": True, "step": self._now}
        found = self.breakpoints.add(predicate, hits, mark)
        return {"breakpoint": found.id, "step": self._now}

    def _predicate(self, when: str) -> Predicate:
        try:
            found = read_predicate(when)
        except UnreadableFilterError as error:
            raise CommandError(explain(error.fault, "predicate", CONDITIONS)) from None
        asks = {condition.field for each in found.alternatives for condition in each} & {"hash", "text"}
        if asks and not self.tells_text:
            # Whoever may guess a text would learn whether it is there.
            raise CommandError(
                f"{sorted(asks)[0]}: would tell text, and this engine tells none: start it with --record-text full"
            )
        return found

    def _id(self, args: Args) -> int:
        only(args, "breakpoint")
        if "breakpoint" not in args:
            raise CommandError("breakpoint must be the id of a breakpoint")
        return integer(args, "breakpoint", 0, 0, MOST_STEP)

    def _unbreak(self, args: Args) -> dict[str, Result]:
        found = self.breakpoints.remove(self._id(args))
        return {"breakpoint": found.id, "step": self._now}

    def _enable(self, args: Args, enabled: bool) -> dict[str, Result]:
        found = self.breakpoints.enable(self._id(args), enabled)
        return {"breakpoint": found.id, "enabled": enabled, "step": self._now}
